// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// Names of the platform, as the operator is configured with them.
const (
	// DefaultNamespace is the namespace, and the name, of the default tenant.
	DefaultNamespace = "models-as-a-service"
	// DefaultGateway is the default tenant's Gateway.
	DefaultGateway = "openshift-ingress/maas-default-gateway"
	// TenantsNamespace holds the AITenants.
	TenantsNamespace = "ai-tenants"
)

// Kinds that have no Go type here.
var (
	authPolicyKind  = schema.GroupVersionKind{Group: "kuadrant.io", Version: "v1", Kind: "AuthPolicy"}
	limitPolicyKind = schema.GroupVersionKind{Group: "kuadrant.io", Version: "v1alpha1", Kind: "TokenRateLimitPolicy"}
	serviceKind     = schema.GroupVersionKind{Group: "serving.kserve.io", Version: "v1alpha2", Kind: "LLMInferenceService"}
)

// Scope is a corner of the cluster.
type Scope struct {
	// Namespaces are those in which the corner has objects.
	Namespaces []string
	// Suffix ends the names of all its objects.
	Suffix string
}

// Facts are the objects of a corner.
type Facts struct {
	Models        []v1alpha1.MaaSModelRef
	Subscriptions []v1alpha1.MaaSSubscription
	AuthPolicies  []v1alpha1.MaaSAuthPolicy
	Routes        []gwapiv1.HTTPRoute
	// Services are LLMInferenceServices.
	Services []unstructured.Unstructured
	// Policies are the AuthPolicies and TokenRateLimitPolicies of Kuadrant.
	Policies []unstructured.Unstructured
	// Namespaces, Configs (by namespace) and Tenants are not only the corner's.
	Namespaces map[string]corev1.Namespace
	Configs    map[string]v1alpha1.MaasTenantConfig
	Tenants    map[string]v1alpha1.AITenant
}

// Read reads the objects of a corner.
func Read(ctx context.Context, from client.Reader, scope Scope) (*Facts, error) {
	f := &Facts{Namespaces: map[string]corev1.Namespace{}, Configs: map[string]v1alpha1.MaasTenantConfig{}, Tenants: map[string]v1alpha1.AITenant{}}
	for _, namespace := range scope.Namespaces {
		if err := f.readNamespace(ctx, from, namespace); err != nil {
			return nil, err
		}
	}
	f.keep(scope.Suffix)
	var tenants v1alpha1.AITenantList
	if err := from.List(ctx, &tenants, client.InNamespace(TenantsNamespace)); err != nil {
		return nil, fmt.Errorf("list AITenants: %w", err)
	}
	for i := range tenants.Items {
		f.Tenants[tenants.Items[i].Name] = tenants.Items[i]
	}
	return f, nil
}

func (f *Facts) readNamespace(ctx context.Context, from client.Reader, name string) error {
	var object corev1.Namespace
	if err := from.Get(ctx, client.ObjectKey{Name: name}, &object); err != nil {
		return fmt.Errorf("read Namespace %s: %w", name, err)
	}
	f.Namespaces[name] = object

	var models v1alpha1.MaaSModelRefList
	var subscriptions v1alpha1.MaaSSubscriptionList
	var authPolicies v1alpha1.MaaSAuthPolicyList
	var routes gwapiv1.HTTPRouteList
	var configs v1alpha1.MaasTenantConfigList
	services, auth, limits := listOf(serviceKind), listOf(authPolicyKind), listOf(limitPolicyKind)
	for _, list := range []client.ObjectList{&models, &subscriptions, &authPolicies, &routes, &configs, services, auth, limits} {
		if err := from.List(ctx, list, client.InNamespace(name)); err != nil {
			return fmt.Errorf("list %T in namespace %s: %w", list, name, err)
		}
	}
	f.Models = append(f.Models, models.Items...)
	f.Subscriptions = append(f.Subscriptions, subscriptions.Items...)
	f.AuthPolicies = append(f.AuthPolicies, authPolicies.Items...)
	f.Routes = append(f.Routes, routes.Items...)
	f.Services = append(f.Services, services.Items...)
	f.Policies = append(append(f.Policies, auth.Items...), limits.Items...)
	for i := range configs.Items {
		if configs.Items[i].Name == "default-tenant" {
			f.Configs[name] = configs.Items[i]
		}
	}
	return nil
}

func listOf(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

// keep drops the objects of other corners.
func (f *Facts) keep(suffix string) {
	f.Models = ending(f.Models, suffix, func(o *v1alpha1.MaaSModelRef) string { return o.Name })
	f.Subscriptions = ending(f.Subscriptions, suffix, func(o *v1alpha1.MaaSSubscription) string { return o.Name })
	f.AuthPolicies = ending(f.AuthPolicies, suffix, func(o *v1alpha1.MaaSAuthPolicy) string { return o.Name })
	f.Routes = ending(f.Routes, suffix, func(o *gwapiv1.HTTPRoute) string { return o.Name })
	f.Services = ending(f.Services, suffix, func(o *unstructured.Unstructured) string { return o.GetName() })
	f.Policies = ending(f.Policies, suffix, func(o *unstructured.Unstructured) string { return o.GetName() })
}

func ending[T any](objects []T, suffix string, name func(*T) string) []T {
	var out []T
	for i := range objects {
		if strings.HasSuffix(name(&objects[i]), suffix) {
			out = append(out, objects[i])
		}
	}
	return out
}
