// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package enforced

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Of returns a gateway with whole policies, those of a route or those that a Gateway
// has for routes without. Nil: there are no limits.
func Of(t T, auth, limits *unstructured.Unstructured) *Gateway {
	t.Helper()
	proper := effective(t, auth)
	rules, _ := proper["rules"].(map[string]any)
	g := New(t, rules, LimitsOf(t, limits))
	g.conditions, _ = proper["when"].([]any)
	return g
}

// effective is the part of a policy that counts where no other replaces it.
func effective(t T, policy *unstructured.Unstructured) map[string]any {
	t.Helper()
	spec, _ := policy.Object["spec"].(map[string]any)
	defaults, explicit := spec["defaults"].(map[string]any)
	if !explicit {
		return spec
	}
	if spec["rules"] != nil || spec["when"] != nil || spec["limits"] != nil {
		t.Fatalf("%s %s has something beside its defaults", policy.GetKind(), policy.GetName())
	}
	return defaults
}

// LimitsOf are the limits of a TokenRateLimitPolicy, sorted by name.
func LimitsOf(t T, policy *unstructured.Unstructured) []Limit {
	t.Helper()
	if policy == nil {
		return nil
	}
	proper := effective(t, policy)
	if proper["when"] != nil {
		t.Fatalf("a condition of all limits of %s is not understood", policy.GetName())
	}
	all, _ := proper["limits"].(map[string]any)
	var out []Limit
	for _, name := range slices.Sorted(maps.Keys(all)) {
		limit := all[name].(map[string]any)
		l := Limit{Name: name, Predicate: "true"}
		if conditions := strings.Join(field(limit, "when", "predicate"), ") && ("); conditions != "" {
			l.Predicate = "(" + conditions + ")"
		}
		l.Counters = field(limit, "counters", "expression")
		rates, _ := limit["rates"].([]any)
		l.Closed = slices.ContainsFunc(rates, func(rate any) bool { return rate.(map[string]any)["limit"] == int64(0) })
		out = append(out, l)
	}
	return out
}

// field reads one field of every item of a list.
func field(of map[string]any, list, name string) []string {
	items, _ := of[list].([]any)
	var out []string
	for _, item := range items {
		out = append(out, item.(map[string]any)[name].(string))
	}
	return out
}
