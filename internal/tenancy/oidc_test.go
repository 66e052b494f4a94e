// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

const secretIssuer = "https://idp.example.com/realms/hidden"

func provider(issuer, client string, ttl int32) *v1alpha1.TenantExternalOIDCConfig {
	return &v1alpha1.TenantExternalOIDCConfig{IssuerURL: issuer, ClientID: client, TTL: ttl}
}

func legacyTenant(oidc *v1alpha1.TenantExternalOIDCConfig) *v1alpha1.Tenant {
	return &v1alpha1.Tenant{
		ObjectMeta: metav1.ObjectMeta{Namespace: defaultNamespace, Name: v1alpha1.DefaultTenantConfigName},
		Spec:       v1alpha1.TenantSpec{ExternalOIDC: oidc},
	}
}

func TestAnUnusableProviderIsAProblemAndNotNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config *v1alpha1.TenantExternalOIDCConfig
		want   string // The field in the message; empty when the provider is good.
	}{
		"none at all":               {},
		"a good one":                {config: provider(secretIssuer, "maas", 30)},
		"no issuer":                 {config: provider("", "maas", 0), want: ".issuerUrl"},
		"an issuer without TLS":     {config: provider("http://idp.example.com", "maas", 0), want: ".issuerUrl"},
		"an issuer without a host":  {config: provider("https:///realms", "maas", 0), want: ".issuerUrl"},
		"an issuer that is no URL":  {config: provider("https://idp.example.com:x", "maas", 0), want: ".issuerUrl"},
		"an issuer with white text": {config: provider("https://idp.example.com/ realm", "maas", 0), want: ".issuerUrl"},
		"an issuer with a password": {config: provider("https://a:b@idp.example.com", "maas", 0), want: ".issuerUrl"},
		"no client":                 {config: provider(secretIssuer, "", 0), want: ".clientId"},
		"a client with white space": {config: provider(secretIssuer, "ma as", 0), want: ".clientId"},
		"a time that is too short":  {config: provider(secretIssuer, "maas", 29), want: ".ttl"},
		"a time that is negative":   {config: provider(secretIssuer, "maas", -1), want: ".ttl"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			current := aiTenant("red", "red-gateway")
			current.Spec.OIDC = test.config
			ofCurrent, err := settings().OfTenant(current)
			if err != nil {
				t.Fatalf("OfTenant() error = %v", err)
			}
			ofLegacy, err := settings().OfNamespace(tenancy.Namespace{Name: defaultNamespace, Legacy: legacyTenant(test.config)})
			if err != nil {
				t.Fatalf("OfNamespace() error = %v", err)
			}
			for field, got := range map[string]tenancy.Context{"AITenant ai-tenants/red: spec.oidc": ofCurrent, "Tenant models-as-a-service/default-tenant: spec.externalOIDC": ofLegacy} {
				problem, reported := apperr.AsUser(got.OIDCProblem)
				if reported != (test.want != "") || (got.OIDC == nil) != (test.config == nil || reported) {
					t.Fatalf("OIDC = %+v, problem %v", got.OIDC, got.OIDCProblem)
				}
				if reported && (problem.Reason != string(v1alpha1.ReasonInvalidOIDC) || !strings.HasPrefix(problem.Message, field+test.want) || strings.Contains(problem.Message, "hidden")) {
					t.Errorf("problem = %v", problem)
				}
			}
		})
	}
}

func TestWhoseProviderCounts(t *testing.T) {
	t.Parallel()
	stale := legacyTenant(provider("https://stale.example.com", "stale", 0))
	owner := func(name string) *v1alpha1.AITenant {
		t := aiTenant(name, "")
		t.Spec.OIDC = provider(secretIssuer, "maas", 0)
		return t
	}
	good := &tenancy.OIDC{IssuerURL: secretIssuer, ClientID: "maas", TTLSeconds: 300}
	for name, test := range map[string]struct {
		namespace  tenancy.Namespace
		want       *tenancy.OIDC
		wantReason v1alpha1.ConditionReason
	}{
		"nobody's": {namespace: tenancy.Namespace{Name: defaultNamespace, Config: unmanaged(defaultNamespace)}},
		"the AITenant's, even without a gateway, and not that of an earlier release": {
			namespace: tenancy.Namespace{Name: defaultNamespace, Config: managed(defaultNamespace, tenancy.DefaultName), Owner: owner(tenancy.DefaultName), Legacy: stale}, want: good,
		},
		"another tenant's own":                     {namespace: tenancy.Namespace{Name: redNamespace, Config: managed(redNamespace, "red"), Owner: owner("red")}, want: good},
		"nobody's while the AITenant is missing":   {namespace: tenancy.Namespace{Name: redNamespace, Config: managed(redNamespace, "red")}, wantReason: v1alpha1.ReasonTenantNotReady},
		"nobody's beside an unmanaged config":      {namespace: tenancy.Namespace{Name: defaultNamespace, Config: unmanaged(defaultNamespace), Legacy: stale}, wantReason: v1alpha1.ReasonInvalidOIDC},
		"that of an earlier release alone":         {namespace: tenancy.Namespace{Name: defaultNamespace, Legacy: legacyTenant(provider(secretIssuer, "maas", 0))}, want: good},
		"not that of an earlier release elsewhere": {namespace: tenancy.Namespace{Name: "llm", Legacy: stale}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := settings().OIDC(test.namespace)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("OIDC() (-want +got):\n%s", diff)
			}
			reason := ""
			if user, ok := apperr.AsUser(err); ok {
				reason = user.Reason
			}
			if reason != string(test.wantReason) {
				t.Errorf("OIDC() error = %v, want reason %q", err, test.wantReason)
			}
		})
	}
}
