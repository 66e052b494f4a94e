// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestTenantsInTroubleSayWhy(t *testing.T) {
	t.Parallel()
	condition := func(kind v1alpha1.ConditionType, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: string(kind), Status: status, Reason: reason, Message: message}
	}
	ready := condition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready", "")
	fine := condition(v1alpha1.ConditionDegraded, metav1.ConditionFalse, "NoWarnings", "")
	w := &world{}
	add := func(name string, phase v1alpha1.AITenantPhase, settings v1alpha1.TenantPhase, tenant, conditions []metav1.Condition) {
		w.tenants = append(w.tenants, v1alpha1.AITenant{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.AITenantStatus{Phase: phase, TenantNamespace: name, Conditions: tenant},
		})
		w.settings = append(w.settings, v1alpha1.MaasTenantConfig{
			ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "default-tenant"}, Status: v1alpha1.MaasTenantConfigStatus{Phase: settings, Conditions: conditions},
		})
	}
	add("well", "Active", "Active", []metav1.Condition{ready}, []metav1.Condition{ready, fine})
	add("warned", "Active", "Degraded", []metav1.Condition{ready}, []metav1.Condition{ready, condition(v1alpha1.ConditionDegraded, metav1.ConditionTrue, "AuthorinoTLSOff", "Turn TLS on.")})
	add("failing", "Pending", "Failed", []metav1.Condition{condition(v1alpha1.ConditionReady, metav1.ConditionFalse, "TenantConfigNotReady", "See it.")},
		[]metav1.Condition{condition(v1alpha1.ConditionReady, metav1.ConditionFalse, "PrerequisitesNotMet", "Create the Secret."), fine})
	add("odd", "Active", "Active", []metav1.Condition{ready, condition(v1alpha1.ConditionDegraded, metav1.ConditionTrue, "LabelRefused", "Label it.")}, []metav1.Condition{ready, fine})
	var got bytes.Buffer
	if err := renderTenants(&got, w.tenantReports()); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(got.String(), "\n")
	want := `MaasTenantConfig warned/default-tenant is Degraded: AuthorinoTLSOff Turn TLS on.
AITenant failing is Pending: TenantConfigNotReady See it.
MaasTenantConfig failing/default-tenant is Failed: PrerequisitesNotMet Create the Secret.
AITenant odd is Active: LabelRefused Label it.
`
	if diff := cmp.Diff(want, strings.Join(lines[1+len(w.tenants):], "")); diff != "" {
		t.Errorf("below the table (-want +got):\n%s", diff)
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	tests := map[string]report{
		"no-models": {},
		"ungoverned": {Models: []modelReport{
			{Name: "llm/granite"},
		}},
		"tenants": {
			Configs: []configReport{{Name: "default", Ready: "True, PlatformReady", Objects: 8}},
			Tenants: []tenantReport{
				{Name: "models-as-a-service", Phase: "Active", Namespace: "models-as-a-service", Settings: "Active", Gateway: "ingress/default", Service: "infra/maas-api 1 of 1"},
				{Name: "red"},
			},
		},
		"governed": {Models: []modelReport{
			{
				Name: "llm/granite", Phase: "Ready", Endpoint: "https://maas.example.com/llm/granite", BaseURL: "https://maas.example.com",
				Policies: []policyReport{
					{Kind: "AuthPolicy", Name: "llm/maas-auth-granite", State: "Enforced"},
					{Kind: "TokenRateLimitPolicy", Name: "llm/maas-trlp-granite", State: "not enforced: Overridden"},
				},
				Callers: []callerReport{
					{Policy: "tenant/data-science", Phase: "Active", Groups: []string{"data-science"}},
					{Policy: "tenant/platform", Phase: "Active", Groups: []string{"platform", "sre"}, Users: []string{"system:serviceaccount:chat:assistant"}},
				},
				Limits: []limitReport{
					{Name: "tokens-100-per-1m", Rates: []string{"100 per 1m"}, Members: []memberReport{
						{Subscription: "tenant/bronze", Phase: "Active", Groups: []string{"data-science"}},
						{Subscription: "tenant/silver", Phase: "Pending", Users: []string{"alice"}},
					}},
					{Name: "tokens-5-per-1h", Rates: []string{"5 per 1h"}},
					{Name: "tokens-unlimited", Members: []memberReport{
						{Subscription: "tenant/gold", Phase: "Active", Groups: []string{"sre"}},
					}},
				},
			},
			{Name: "llm/other", Phase: "Pending"},
		}},
	}
	for name, r := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			if err := render(&got, r); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
		})
	}
}
