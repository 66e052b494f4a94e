// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import "testing"

// What an expression sees of the caller depends on what it names.
func TestWhatExpressionsSeeOfTheCaller(t *testing.T) {
	t.Parallel()
	somebody := map[string]any{"identity": map[string]any{
		"name": "alice", "tier": 2.0, "none": nil, "groups": []any{"a"}, "info": map[string]any{"name": "gold"},
	}}
	for name, tc := range map[string]struct {
		text     string
		metadata any
		want     string
	}{
		"a text":                                  {"auth.identity.name", somebody, "alice"},
		"a number":                                {"auth.identity.tier", somebody, "2"},
		"a field of an object":                    {"auth.identity.info.name", somebody, "gold"},
		"what is absent is null":                  {"auth.identity.other == null", somebody, "true"},
		"below what is no object is null":         {"auth.identity.name.first == null", somebody, "true"},
		"a null is null":                          {"auth.identity.none == null", somebody, "true"},
		"lists are not kept":                      {"auth.identity.groups == null", somebody, "true"},
		"objects are only kept by their fields":   {"auth.identity.info == null", somebody, "true"},
		"what is named is always there":           {"has(auth.identity.other)", somebody, "true"},
		"below a hidden path nothing is there":    {"has(auth.identity.other) && has(auth.identity)", nil, "false"},
		"a shorter path hides a longer one":       {"auth.identity.name == 'alice' || has(auth.identity)", somebody, "true"},
		"of nobody all is null":                   {"auth.identity.name == null", nil, "true"},
		"an empty answer is nobody's":             {"auth.identity.name == null", map[string]any{}, "true"},
		"who names nothing sees nothing":          {"auth == null", somebody, "true"},
		"the names on the way are there":          {"'identity' in auth && auth.identity.name == 'alice'", somebody, "true"},
		"several paths":                           {"auth.identity.name + auth.identity.info.name", somebody, "alicegold"},
		"in a call":                               {"auth.identity.name.startsWith('al')", somebody, "true"},
		"a call of what is absent":                {"auth.identity.other.startsWith('al')", somebody, "failed"},
		"an index is no path":                     {"auth.identity['name']", somebody, "failed"},
		"what else is called auth has no part in": {"request.method + {'auth': 'x'}.auth", somebody, "POSTx"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, err := NewExpressions()
			if err != nil {
				t.Fatal(err)
			}
			e, err := x.value("string(" + tc.text + ")")
			if err != nil {
				t.Fatal(err)
			}
			r := request()
			got := "failed"
			if value, err := e.eval(&Stream{request: r, fields: r.fields(), roots: r.roots(), auth: tc.metadata}); err == nil {
				got, _ = value.Value().(string)
			}
			if got != tc.want {
				t.Errorf("%s is %q, want %q", tc.text, got, tc.want)
			}
		})
	}
}
