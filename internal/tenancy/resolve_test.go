// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

const (
	defaultNamespace = "models-as-a-service"
	redNamespace     = "ai-tenant-red"
)

var defaultGateway = types.NamespacedName{Namespace: "openshift-ingress", Name: "maas-default-gateway"}

func settings() tenancy.Settings {
	return tenancy.Settings{Gateway: defaultGateway, DefaultNamespace: defaultNamespace, AITenantNamespace: "ai-tenants", Discovery: true}
}

func aiTenant(name, gateway string) *v1alpha1.AITenant {
	t := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: "ai-tenants", Name: name}}
	if gateway != "" {
		t.Status.GatewayRef = &v1alpha1.TenantGatewayRef{Namespace: "openshift-ingress", Name: gateway}
	}
	return t
}

// managed is a config as its AITenant stamps it.
func managed(namespace, tenant string) *v1alpha1.MaasTenantConfig {
	return &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: v1alpha1.DefaultTenantConfigName,
		Labels: map[string]string{
			v1alpha1.LabelManagedByAITenant: "true", v1alpha1.LabelTenantName: tenant, v1alpha1.LabelTenantNamespace: namespace,
		},
		Annotations: map[string]string{v1alpha1.AnnotationAITenantName: tenant, v1alpha1.AnnotationAITenantNamespace: "ai-tenants"},
	}}
}

func unmanaged(namespace string) *v1alpha1.MaasTenantConfig {
	return &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.DefaultTenantConfigName}}
}

func elsewhere(t *v1alpha1.AITenant) *v1alpha1.AITenant {
	t.Namespace = "evil"
	return t
}

var (
	tenantLabel = map[string]string{v1alpha1.LabelTenant: "red"}
	byDefault   = tenancy.Context{Name: tenancy.DefaultName, Gateway: defaultGateway}
	ofRed       = tenancy.Context{Name: "red", ID: "red", Gateway: types.NamespacedName{Namespace: "openshift-ingress", Name: "red-gateway"}}
)

// Rows 9.6.108, 9.6.111 and 9.6.112 of policies.md, and W-38.
func TestTenantOfANamespace(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		namespace tenancy.Namespace
		want      tenancy.Context
		wantError bool
		wantName  string
	}{
		"the default namespace is the default tenant's, even without objects": {
			namespace: tenancy.Namespace{Name: defaultNamespace}, want: byDefault, wantName: tenancy.DefaultName,
		},
		"a plain model namespace uses the default gateway and has no say": {
			namespace: tenancy.Namespace{Name: "llm"}, want: byDefault,
		},
		"a labelled namespace without a config fails closed": {
			namespace: tenancy.Namespace{Name: redNamespace, Labels: tenantLabel}, wantError: true,
		},
		"a managed config names its AITenant": {
			namespace: tenancy.Namespace{Name: redNamespace, Labels: tenantLabel, Config: managed(redNamespace, "red"), Owner: aiTenant("red", "red-gateway")},
			want:      ofRed, wantName: "red",
		},
		"a tenant that is not ready keeps its members": {
			namespace: tenancy.Namespace{Name: redNamespace, Labels: tenantLabel, Config: managed(redNamespace, "red"), Owner: aiTenant("red", "")},
			wantError: true, wantName: "red",
		},
		"a config whose AITenant is gone is nobody's to serve": {
			namespace: tenancy.Namespace{Name: redNamespace, Labels: tenantLabel, Config: managed(redNamespace, "red")},
			wantError: true, wantName: "red",
		},
		"a config cannot claim another tenant": {
			namespace: tenancy.Namespace{Name: "ai-tenant-blue", Labels: tenantLabel, Config: managed("ai-tenant-blue", "red"), Owner: aiTenant("red", "red-gateway")},
			wantError: true,
		},
		"a config cannot claim the default tenant": {
			namespace: tenancy.Namespace{Name: redNamespace, Labels: tenantLabel, Config: managed(redNamespace, tenancy.DefaultName), Owner: aiTenant(tenancy.DefaultName, "maas-default-gateway")},
			wantError: true,
		},
		"a managed config without a tenant name is an error": {
			namespace: tenancy.Namespace{Name: redNamespace, Labels: tenantLabel, Config: managed(redNamespace, "")},
			wantError: true,
		},
		"the default tenant's managed config has no suffix": {
			namespace: tenancy.Namespace{Name: defaultNamespace, Config: managed(defaultNamespace, tenancy.DefaultName), Owner: aiTenant(tenancy.DefaultName, "maas-default-gateway")},
			want:      byDefault, wantName: tenancy.DefaultName,
		},
		"an AITenant of any other namespace is no owner": {
			namespace: tenancy.Namespace{Name: redNamespace, Labels: tenantLabel, Config: managed(redNamespace, "red"), Owner: elsewhere(aiTenant("red", "red-gateway"))},
			wantError: true, wantName: "red",
		},
		"a tenant's namespace cannot leave for the default tenant": {
			namespace: tenancy.Namespace{Name: redNamespace, Labels: tenantLabel, Config: unmanaged(redNamespace)}, wantError: true,
		},
		"a legacy Tenant counts in the default namespace only": {
			namespace: tenancy.Namespace{Name: "llm", Legacy: &v1alpha1.Tenant{Spec: v1alpha1.TenantSpec{GatewayRef: &v1alpha1.TenantGatewayRef{Name: "mine", Namespace: "llm"}}}}, want: byDefault,
		},
		"an unmanaged config means the default gateway": {
			namespace: tenancy.Namespace{Name: defaultNamespace, Config: unmanaged(defaultNamespace)}, want: byDefault, wantName: tenancy.DefaultName,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := settings().OfNamespace(test.namespace)
			if _, user := apperr.AsUser(err); user != test.wantError {
				t.Fatalf("OfNamespace() error = %v, want one: %t", err, test.wantError)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("OfNamespace() (-want +got):\n%s", diff)
			}
			if got := settings().NameOf(test.namespace); got != test.wantName {
				t.Errorf("NameOf() = %q, want %q", got, test.wantName)
			}
		})
	}
}

// Rows 9.6.108 and 9.6.111 of policies.md.
func TestDiscoveryOffLeavesOnlyTheDefaultNamespace(t *testing.T) {
	t.Parallel()
	s := settings()
	s.Discovery = false
	for namespace, want := range map[string]bool{defaultNamespace: true, redNamespace: false} {
		if got := s.Member(namespace, tenantLabel); got != want {
			t.Errorf("Member(%s) = %t, want %t", namespace, got, want)
		}
	}
}

// Row 9.6.111 of policies.md: full, empty and partial references.
func TestLegacyTenant(t *testing.T) {
	t.Parallel()
	legacy := func(name, namespace string) *v1alpha1.Tenant {
		tenant := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: defaultNamespace, Name: v1alpha1.DefaultTenantConfigName}}
		tenant.Spec.GatewayRef = &v1alpha1.TenantGatewayRef{Name: name, Namespace: namespace}
		return tenant
	}
	tests := map[string]struct {
		tenant    *v1alpha1.Tenant
		want      types.NamespacedName
		wantError bool
	}{
		"both parts name the gateway":   {tenant: legacy("mine", "gateways"), want: types.NamespacedName{Namespace: "gateways", Name: "mine"}},
		"neither means the default":     {tenant: legacy("", ""), want: defaultGateway},
		"a name alone is an error":      {tenant: legacy("mine", ""), wantError: true},
		"a namespace alone is an error": {tenant: legacy("", "gateways"), wantError: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := settings().OfNamespace(tenancy.Namespace{Name: defaultNamespace, Legacy: test.tenant})
			if (err != nil) != test.wantError {
				t.Fatalf("OfNamespace() error = %v, want one: %t", err, test.wantError)
			}
			if got.Gateway != test.want {
				t.Errorf("gateway = %s, want %s", got.Gateway, test.want)
			}
		})
	}
}

func TestOIDCOfATenant(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[int32]int64{0: 300, 30: 30, 600: 600} {
		tenant := aiTenant("red", "red-gateway")
		tenant.Spec.OIDC = &v1alpha1.TenantExternalOIDCConfig{IssuerURL: "https://idp.example.com", ClientID: "maas", TTL: ttl}
		got, err := settings().OfTenant(tenant)
		if err != nil {
			t.Fatalf("OfTenant() error = %v", err)
		}
		if diff := cmp.Diff(&tenancy.OIDC{IssuerURL: "https://idp.example.com", ClientID: "maas", TTLSeconds: want}, got.OIDC); diff != "" {
			t.Errorf("OIDC (-want +got):\n%s", diff)
		}
	}
}

func TestMaaSAPIAddress(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"":    "https://maas-api.infra.svc.cluster.local:8443",
		"red": "https://maas-api-red.infra.svc.cluster.local:8443",
	} {
		if got := (tenancy.Context{ID: id}).MaaSAPIURL("infra"); got != want {
			t.Errorf("MaaSAPIURL() = %s, want %s", got, want)
		}
	}
}

func TestWhyANamespaceIsNotEnabled(t *testing.T) {
	t.Parallel()
	closed := settings()
	closed.Discovery = false
	tests := map[string]struct {
		settings  tenancy.Settings
		namespace tenancy.Namespace
		want      []string
	}{
		"without the label": {
			settings(),
			tenancy.Namespace{Name: "llm"},
			[]string{"Namespace llm lacks the label ai-gateway.opendatahub.io/tenant", defaultNamespace, "AITenant", "MaasTenantConfig default-tenant"},
		},
		"with a config only": {
			settings(),
			tenancy.Namespace{Name: redNamespace, Config: managed(redNamespace, "red")},
			[]string{"lacks the label ai-gateway.opendatahub.io/tenant"},
		},
		"with the label only": {
			settings(),
			tenancy.Namespace{Name: redNamespace, Labels: tenantLabel},
			[]string{"holds no MaasTenantConfig default-tenant", "wait for its AITenant"},
		},
		"with a legacy Tenant only": {
			settings(),
			tenancy.Namespace{Name: redNamespace, Labels: tenantLabel, Legacy: &v1alpha1.Tenant{}},
			[]string{"holds no MaasTenantConfig default-tenant"},
		},
		"with a config that claims another tenant": {
			settings(),
			tenancy.Namespace{Name: "blue", Labels: tenantLabel, Config: managed("blue", "red")},
			[]string{"claims tenant red", "use that namespace"},
		},
		"with a config that names no tenant": {
			settings(),
			tenancy.Namespace{Name: redNamespace, Labels: tenantLabel, Config: managed(redNamespace, "")},
			[]string{"lacks the label maas.opendatahub.io/tenant-name"},
		},
		"with discovery off": {
			closed,
			tenancy.Namespace{Name: redNamespace, Labels: tenantLabel, Config: managed(redNamespace, "red")},
			[]string{"serves the namespace models-as-a-service only", "--enable-tenant-namespace-discovery"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tenant, err := test.settings.Enabled(test.namespace)
			user, ok := apperr.AsUser(err)
			if !ok || tenant != "" {
				t.Fatalf("Enabled() = %q, %v", tenant, err)
			}
			for _, want := range test.want {
				if !strings.Contains(user.Message, want) {
					t.Errorf("message %q does not say %q", user.Message, want)
				}
			}
		})
	}
}

func TestNamesOfEarlierPoliciesOfAGateway(t *testing.T) {
	t.Parallel()
	s := settings()
	for gateway, want := range map[types.NamespacedName][]string{
		{Namespace: "openshift-ingress", Name: "red"}: {"openshift-ingress/red-maas-auth"},
		s.Gateway: {"openshift-ingress/maas-default-gateway-maas-auth", "openshift-ingress/maas-gateway-auth"},
		{Namespace: "elsewhere", Name: "maas-default-gateway"}: {"elsewhere/maas-default-gateway-maas-auth"},
	} {
		var got []string
		for _, key := range s.FormerGatewayAuth(gateway) {
			got = append(got, key.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("FormerGatewayAuth(%s) (-want +got):\n%s", gateway, diff)
		}
	}
}

func TestNobodyCanChooseANameThatAnotherOneWasShortenedTo(t *testing.T) {
	t.Parallel()
	long := tenancy.Context{ID: strings.Repeat("a", 41)}
	shortened := long.KeyCleanup()
	chosen := tenancy.Context{ID: strings.TrimPrefix(shortened, "maas-api-key-cleanup-")}
	if len(shortened) > 52 || len(chosen.KeyCleanup()) > 52 || chosen.KeyCleanup() == shortened {
		t.Errorf("CronJobs %q and %q", shortened, chosen.KeyCleanup())
	}
	if job := tenancy.KeyRevocation(long.ID); tenancy.KeyRevocation(strings.TrimPrefix(job, "maas-api-revoke-keys-")) == job {
		t.Errorf("two tenants share Job %s", job)
	}
	if got := (tenancy.Context{ID: "red"}).KeyCleanup(); got != "maas-api-key-cleanup-red" {
		t.Errorf("KeyCleanup() = %s", got)
	}
}
