// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// E-53 to E-57.
func TestPlace(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		namespace, name          string
		infra, defaults, tenants string
		wantReason               v1alpha1.ConditionReason
		wantText                 string
	}{
		"a tenant":                                    {},
		"the longest name":                            {name: strings.Repeat("a", 41)},
		"the default tenant":                          {name: "models-as-a-service"},
		"the default tenant, namespace by flag":       {name: "models-as-a-service", defaults: "custom-maas"},
		"the default tenant, all in one namespace":    {name: "models-as-a-service", infra: "opendatahub"},
		"no namespace":                                {namespace: "none", wantReason: v1alpha1.ReasonInvalidPlacement, wantText: "ai-tenants"},
		"where maas-api runs":                         {namespace: "infra", wantReason: v1alpha1.ReasonInvalidPlacement, wantText: "ai-tenants"},
		"in the default tenant's namespace":           {namespace: "models-as-a-service", wantReason: v1alpha1.ReasonInvalidPlacement, wantText: "ai-tenants"},
		"anywhere else":                               {namespace: "default", wantReason: v1alpha1.ReasonInvalidPlacement, wantText: "ai-tenants"},
		"its namespace is that of AITenants":          {name: "s", tenants: "ai-tenant-s", namespace: "ai-tenant-s", wantReason: v1alpha1.ReasonInvalidPlacement, wantText: "another name"},
		"its namespace is that of maas-api":           {name: "infra", infra: "ai-tenant-infra", wantReason: v1alpha1.ReasonInvalidPlacement, wantText: "another name"},
		"the default tenant where maas-api runs":      {name: "models-as-a-service", infra: "models-as-a-service", wantReason: v1alpha1.ReasonInvalidPlacement, wantText: "another name"},
		"a name stored before its length was checked": {name: strings.Repeat("a", 54), wantReason: v1alpha1.ReasonInvalidPlacement, wantText: "shorter"},
		"a name with a dot":                           {name: "a.b", wantReason: v1alpha1.ReasonInvalidPlacement, wantText: "letters"},
		"the name of a shared object":                 {name: "cleanup", wantReason: v1alpha1.ReasonReservedName, wantText: "another name"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			or := func(value, fallback string) string {
				if value == "" {
					return fallback
				}
				return strings.TrimPrefix(value, "none")
			}
			settings := tenancy.Settings{AITenantNamespace: or(tt.tenants, "ai-tenants"), DefaultNamespace: or(tt.defaults, "models-as-a-service")}
			err := aitenant.Place(types.NamespacedName{Namespace: or(tt.namespace, "ai-tenants"), Name: or(tt.name, "red")}, settings, or(tt.infra, "infra"))
			if tt.wantReason == "" {
				if err != nil {
					t.Fatalf("Place() = %v, want none", err)
				}
				return
			}
			user, ok := apperr.AsUser(err)
			if !ok || user.Reason != string(tt.wantReason) || !strings.Contains(user.Message, tt.wantText) {
				t.Errorf("Place() = %v, want %s with %q", err, tt.wantReason, tt.wantText)
			}
		})
	}
}
