// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

func TestShortIDOfModelScopedKey(t *testing.T) {
	t.Parallel()
	model := types.NamespacedName{Namespace: "llm", Name: "my-model"}
	for want, subscription := range map[string]types.NamespacedName{
		"790b74af224deb46": {Namespace: "models-as-a-service", Name: "gold"},
		"347e29af6f94d1cd": {Namespace: "models-as-a-service", Name: "silver"},
		"c2528b04af5c569b": {Namespace: "ai-tenant-red-team", Name: "gold"},
		"e58e32b1f7d0f274": {Namespace: "models-as-a-service", Name: "my-model-premium-subscription"},
	} {
		key := entitlement.ModelScopedKey(subscription, model)
		if got := entitlement.ShortID(key); got != want {
			t.Errorf("ShortID(%q) = %q, want %q", key, got, want)
		}
	}
}

func TestModelScopedKeyTellsNamespaceAndNameApart(t *testing.T) {
	t.Parallel()
	model := types.NamespacedName{Namespace: "llm", Name: "m"}
	first := entitlement.ModelScopedKey(types.NamespacedName{Namespace: "a-b", Name: "c"}, model)
	second := entitlement.ModelScopedKey(types.NamespacedName{Namespace: "a", Name: "b-c"}, model)
	if first == second {
		t.Errorf("both subscriptions have the key %q", first)
	}
}
