// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

const (
	defaultNamespace = "models-as-a-service"
	redNamespace     = "ai-tenant-red"
	aitenants        = "ai-tenants"
)

var errDown = errors.New("connection refused")

// tenants looks among the given objects; reads go through the given function first.
func tenants(t *testing.T, reads func(client.Object) error, objects ...client.Object) lookup.Tenants {
	t.Helper()
	c := fakecluster.Holding(parts.Scheme(t), objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			if err := reads(object); err != nil {
				return err
			}
			return c.Get(ctx, key, object, opts...)
		},
	}).Build()
	return lookup.Tenants{Reader: c, Settings: tenancy.Settings{
		Gateway:          types.NamespacedName{Namespace: "ingress", Name: "maas"},
		DefaultNamespace: defaultNamespace, AITenantNamespace: aitenants, Discovery: true,
	}}
}

func fine(client.Object) error { return nil }

// red is a tenant with a gateway, its namespace and its settings.
func red() []client.Object {
	tenant := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: aitenants, Name: "red"}}
	tenant.Status.GatewayRef = &v1alpha1.TenantGatewayRef{Namespace: "ingress", Name: "red"}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: redNamespace, Labels: map[string]string{v1alpha1.LabelManagedByAITenant: "true"}}}
	config := &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{
		Namespace: redNamespace, Name: v1alpha1.DefaultTenantConfigName,
		Labels:      map[string]string{v1alpha1.LabelManagedByAITenant: "true", v1alpha1.LabelTenantName: "red"},
		Annotations: map[string]string{v1alpha1.AnnotationAITenantName: "red", v1alpha1.AnnotationAITenantNamespace: aitenants},
	}}
	return []client.Object{tenant, namespace, config}
}

func model(namespace, tenantRef string) *v1alpha1.MaaSModelRef {
	m := &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "granite"}}
	m.Spec.TenantRef = tenantRef
	return m
}

func TestTheTenantOfAModel(t *testing.T) {
	t.Parallel()
	legacy := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: "old", Name: v1alpha1.DefaultTenantConfigName}}
	legacy.Spec.GatewayRef = &v1alpha1.TenantGatewayRef{Namespace: "ingress", Name: "old"}
	l := tenants(t, fine, append(red(), legacy)...)
	for name, tc := range map[string]struct {
		model       *v1alpha1.MaaSModelRef
		wantGateway string
	}{
		"is the default one in a plain namespace":          {model("llm", ""), "maas"},
		"is that of its namespace":                         {model(redNamespace, ""), "red"},
		"is the one it names":                              {model("llm", "red"), "red"},
		"ignores settings of an earlier release elsewhere": {model("old", ""), "maas"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tenant, err := l.ForModel(t.Context(), tc.model)
			if err != nil || tenant.Gateway.Name != tc.wantGateway {
				t.Errorf("tenant %+v, err = %v", tenant, err)
			}
		})
	}
}

func TestTheDefaultTenantsProviderIsForItsModelsEverywhere(t *testing.T) {
	t.Parallel()
	legacy := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: defaultNamespace, Name: v1alpha1.DefaultTenantConfigName}}
	legacy.Spec.ExternalOIDC = &v1alpha1.TenantExternalOIDCConfig{IssuerURL: "https://idp.example.com", ClientID: "maas"}
	l := tenants(t, fine, append(red(), legacy)...)
	for namespace, want := range map[string]bool{"llm": true, defaultNamespace: true, redNamespace: false} {
		tenant, err := l.ForModel(t.Context(), model(namespace, ""))
		if err != nil || (tenant.OIDC != nil) != want || tenant.OIDCProblem != nil {
			t.Errorf("%s: tenant %+v, err = %v, want a provider: %t", namespace, tenant, err, want)
		}
	}
}

func TestSettingsOfBothKindsAreAProblem(t *testing.T) {
	t.Parallel()
	legacy := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: defaultNamespace, Name: v1alpha1.DefaultTenantConfigName}}
	legacy.Spec.ExternalOIDC = &v1alpha1.TenantExternalOIDCConfig{IssuerURL: "https://idp.example.com", ClientID: "maas"}
	config := &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{Namespace: defaultNamespace, Name: v1alpha1.DefaultTenantConfigName}}
	tenant, err := tenants(t, fine, legacy, config).ForModel(t.Context(), model("llm", ""))
	if err != nil || tenant.OIDC != nil || tenant.OIDCProblem == nil {
		t.Errorf("tenant %+v, err = %v", tenant, err)
	}
}

func TestATenantThatDoesNotExistIsForTheUserToResolve(t *testing.T) {
	t.Parallel()
	_, err := tenants(t, fine).ForModel(t.Context(), model("llm", "blue"))
	if user, ok := apperr.AsUser(err); !ok || user.Reason != string(v1alpha1.ReasonTenantNotFound) {
		t.Errorf("err = %v", err)
	}
}

func TestMembersAreLookedUpOncePerNamespace(t *testing.T) {
	t.Parallel()
	reads := map[string]int{}
	l := tenants(t, func(object client.Object) error {
		if _, ok := object.(*corev1.Namespace); ok {
			reads["namespaces"]++
		}
		return nil
	}, red()...)
	member := l.Members()
	for range 3 {
		for namespace, want := range map[string]string{redNamespace: "red", defaultNamespace: tenancy.DefaultName, "llm": ""} {
			if got, err := member(t.Context(), namespace); err != nil || got != want {
				t.Errorf("%s: tenant %q, err = %v, want %q", namespace, got, err, want)
			}
		}
	}
	if reads["namespaces"] != 3 {
		t.Errorf("%d reads for three namespaces", reads["namespaces"])
	}
}

func TestWhatCouldNotBeReadIsNotRemembered(t *testing.T) {
	t.Parallel()
	broken := true
	member := tenants(t, func(client.Object) error {
		if broken {
			return errDown
		}
		return nil
	}, red()...).Members()
	if _, err := member(t.Context(), redNamespace); !errors.Is(err, errDown) {
		t.Fatalf("err = %v", err)
	}
	broken = false
	if got, err := member(t.Context(), redNamespace); err != nil || got != "red" {
		t.Errorf("tenant %q, err = %v", got, err)
	}
}

func TestAnyReadThatFailsIsAnErrorOfOurs(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func(client.Object) bool{
		"the namespace":                  is[*corev1.Namespace],
		"its settings":                   is[*v1alpha1.MaasTenantConfig],
		"the AITenant":                   is[*v1alpha1.AITenant],
		"settings of an earlier release": is[*v1alpha1.Tenant],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := tenants(t, func(object client.Object) error {
				if fails(object) {
					return errDown
				}
				return nil
			}, red()...)
			_, named := l.ForModel(t.Context(), model("llm", "red"))
			_, found := l.ForModel(t.Context(), model(redNamespace, ""))
			_, plain := l.ForModel(t.Context(), model("llm", ""))
			err := errors.Join(named, found, plain)
			if _, user := apperr.AsUser(err); user || !errors.Is(err, errDown) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func is[T client.Object](object client.Object) bool {
	_, ok := object.(T)
	return ok
}
