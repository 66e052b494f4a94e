// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOperandsOfPredicates(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		predicate string
		want      []string
	}{
		"one":                      {`a == "b"`, nil},
		"two":                      {`a == 1 && b in [1, 2]`, []string{`a == 1`, `b in [1, 2]`}},
		"a quoted conjunction":     {`a == " && " && b`, []string{`a == " && "`, `b`}},
		"an escaped quote":         {`a == "\" && " && b`, []string{`a == "\" && "`, `b`}},
		"inside of brackets":       {`f(a && b) && c`, []string{`f(a && b)`, `c`}},
		"a disjunction":            {`a && b || c`, nil},
		"a choice":                 {`a && b ? c : d`, nil},
		"of all items":             {`[x ? y : {}].all(s, a(s) && (b || c) && d)`, []string{`a(s)`, `(b || c)`, `d`}},
		"of all items, one only":   {`[x].all(s, a || b)`, nil},
		"a list that is something": {`[x].exists(s, a && b)`, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, o := range operands(tc.predicate) {
				got = append(got, o.text(tc.predicate))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("operands (-want +got):\n%s", diff)
			}
		})
	}
}

// policy is one with something of everything.
func policy() map[string]any {
	return map[string]any{
		"authentication": map[string]any{"keys": map[string]any{"when": []any{"x"}}, "tokens": map[string]any{}},
		"authorization": map[string]any{"valid": map[string]any{"patternMatching": map[string]any{"patterns": []any{
			map[string]any{"predicate": "a && b"}, map[string]any{"predicate": "c"},
		}}}},
		"response": map[string]any{
			"success": map[string]any{
				"headers": map[string]any{"X-A": map[string]any{}},
				"filters": map[string]any{"identity": map[string]any{"json": map[string]any{"properties": map[string]any{"p": map[string]any{}}}}},
			},
			"unauthorized": map[string]any{"code": int64(403)},
		},
	}
}

func TestEveryRuleIsTakenOutOnce(t *testing.T) {
	t.Parallel()
	var rules []string
	for _, m := range Mutants(policy()) {
		rules = append(rules, m.Rule)
		changed := policy()
		m.Remove(changed)
		if cmp.Equal(policy(), changed) {
			t.Errorf("without %s nothing is different", m.Rule)
		}
	}
	want := []string{
		"authentication/keys", "authentication/keys/when", "authentication/tokens", "authorization/valid", "authorization/valid/1", "authorization/valid/1: a",
		"authorization/valid/1: b", "authorization/valid/2", "response/success/headers/X-A", "response/success/filters/identity/json/properties/p", "response/unauthorized/code",
	}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	for _, m := range Mutants(policy()) {
		m.Remove(map[string]any{}) // Another policy may lack the rule.
	}
	changed := policy()
	for _, m := range Mutants(policy()) {
		if m.Rule == "authorization/valid/1: a" {
			m.Remove(changed)
		}
	}
	got := changed["authorization"].(map[string]any)["valid"].(map[string]any)["patternMatching"].(map[string]any)["patterns"].([]any)[0]
	if diff := cmp.Diff(map[string]any{"predicate": "true && b"}, got); diff != "" {
		t.Errorf("predicate (-want +got):\n%s", diff)
	}
}
