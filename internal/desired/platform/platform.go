// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"fmt"
	"maps"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// Platforms that objects differ on.
const (
	OpenShift  = "openshift"
	Kubernetes = "kubernetes"
)

// Ids of the templates of the shared objects.
const (
	ClusterRoleTemplate           render.ID = "platform/clusterrole-maas-api"
	CleanupServiceAccountTemplate render.ID = "platform/serviceaccount-maas-api-cleanup"
	AllowGatewayTemplate          render.ID = "platform/networkpolicy-maas-api-allow-gateway"
	AllowAuthorinoTemplate        render.ID = "platform/networkpolicy-maas-authorino-allow"
	AllowControllerTemplate       render.ID = "platform/networkpolicy-maas-api-allow-deployment-ns"
	AllowMonitoringTemplate       render.ID = "platform/networkpolicy-maas-api-allow-monitoring"
	AllowCleanupTemplate          render.ID = "platform/networkpolicy-maas-api-allow-cleanup"
	RestrictCleanupTemplate       render.ID = "platform/networkpolicy-maas-api-cleanup-restrict"
	RestrictEgressTemplate        render.ID = "platform/networkpolicy-maas-api-egress-restrict"
)

// warningRulesWithoutPolicy is for a Config that was stored before admission refused
// the two together.
const warningRulesWithoutPolicy = "spec.networkPolicyEgressRules and spec.networkPolicyAdditionalEgressRules of the Config have no effect while " +
	"spec.maasApiEgressNetworkPolicy is Disabled: remove them, or set it to Managed."

// Input is everything the shared objects depend on.
type Input struct {
	// Config holds the settings; nil means the defaults.
	Config *v1alpha1.Config
	// Platform is [OpenShift] or [Kubernetes].
	Platform string
	// ControllerNamespace is where the operator runs, InfraNamespace where maas-api
	// does, GatewayNamespace where the Gateways are.
	ControllerNamespace, InfraNamespace, GatewayNamespace string
	// MonitoringNamespace is where metrics are read from; empty means nowhere.
	MonitoringNamespace string
	// AuthorinoNamespaces are those Authorino may run in; empty means
	// [DefaultAuthorinoNamespaces].
	AuthorinoNamespaces []string
}

// Output are the objects that are wanted.
type Output struct {
	// Requests are to be rendered and applied.
	Requests []render.Request
	// Warnings are sentences about settings that were left out. Each is constant.
	Warnings []string
}

// DefaultAuthorinoNamespaces are the namespaces Kuadrant and Red Hat Connectivity
// Link install Authorino into.
func DefaultAuthorinoNamespaces() []string {
	return []string{"kuadrant-system", "openshift-operators", "rh-connectivity-link"}
}

// Build returns the shared objects of the installation. An error means that the
// input is broken, which no user can cause.
func Build(in Input) (Output, error) {
	if in.Platform != OpenShift && in.Platform != Kubernetes {
		return Output{}, fmt.Errorf("choose shared objects: platform is %q, want %q or %q", in.Platform, OpenShift, Kubernetes)
	}
	requests := append(access(in), ingress(in)...)
	requests = append(requests, cleanup(in)...)
	policy, warnings, err := egress(in)
	if err != nil {
		return Output{}, err
	}
	return Output{Requests: append(requests, policy...), Warnings: warnings}, nil
}

func access(in Input) []render.Request {
	role := meta("maas-api", "", v1alpha1.ComponentAPI)
	account := meta(tenancy.CleanupServiceAccount, in.InfraNamespace, tenancy.ComponentKeyCleanup)
	return []render.Request{
		request(ClusterRoleTemplate, role, values.MaaSAPIClusterRole{Meta: role, ReadsTLSProfile: in.Platform == OpenShift}),
		request(CleanupServiceAccountTemplate, account, values.KeyCleanupServiceAccount{Meta: account}),
	}
}

func request(id render.ID, m values.Meta, v any) render.Request {
	return render.Request{ID: id, Namespace: m.Namespace, Name: m.Name, Values: v}
}

// meta returns the metadata of a shared object.
func meta(name, namespace, component string) values.Meta {
	labels := map[string]string{
		v1alpha1.LabelManagedBy:        v1alpha1.ManagedByValue,
		v1alpha1.LabelPartOf:           v1alpha1.PartOfMaaS,
		v1alpha1.LabelName:             v1alpha1.NameMaaSAPI,
		v1alpha1.LabelComponent:        component,
		v1alpha1.LabelModelsAsAService: "true",
	}
	maps.Copy(labels, tenancy.SharedTracking())
	return values.Meta{Name: name, Namespace: namespace, Labels: labels}
}
