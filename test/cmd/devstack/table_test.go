// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

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
