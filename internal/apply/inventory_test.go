// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestNewInventorySortsAndDeduplicates(t *testing.T) {
	t.Parallel()
	a := Ref{Kind: "ConfigMap", Namespace: "n", Name: "a"}
	b := Ref{Kind: "ConfigMap", Namespace: "n", Name: "b"}
	c := Ref{Group: "apps", Kind: "Deployment", Namespace: "a", Name: "a"}
	if diff := cmp.Diff(Inventory{a, b, c}, NewInventory(c, b, a, b)); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
}

func TestInventoryWithout(t *testing.T) {
	t.Parallel()
	a, b := Ref{Kind: "ConfigMap", Name: "a"}, Ref{Kind: "ConfigMap", Name: "b"}
	tests := map[string]struct {
		previous, current, want Inventory
	}{
		"nothing left":              {Inventory{a, b}, Inventory{b, a}, nil},
		"one left":                  {Inventory{b, a}, Inventory{a}, Inventory{b}},
		"another namespace differs": {Inventory{a}, Inventory{{Kind: "ConfigMap", Namespace: "n", Name: "a"}}, Inventory{a}},
		"first inventory":           {nil, Inventory{a}, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, tc.previous.Without(tc.current)); diff != "" {
				t.Errorf("rest (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInventoryOf(t *testing.T) {
	t.Parallel()
	role := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": map[string]any{"name": "r", "namespace": "n"},
	}}
	node := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "x"}}}
	got, err := json.Marshal(InventoryOf(role, node))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"kind":"Node","name":"x"},{"group":"rbac.authorization.k8s.io","kind":"Role","namespace":"n","name":"r"}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

func TestInventoryUnion(t *testing.T) {
	t.Parallel()
	a, b := Ref{Kind: "ConfigMap", Name: "a"}, Ref{Kind: "ConfigMap", Name: "b"}
	if diff := cmp.Diff(Inventory{a, b}, Inventory{b, a}.Union(Inventory{a})); diff != "" {
		t.Errorf("union (-want +got):\n%s", diff)
	}
}
