// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"

	"github.com/opendatahub-io/maas-operator/internal/desired/external"
)

// targetRow is a target, and whether requests can name it in a header.
type targetRow struct {
	target      string
	addressable bool
}

// targetRows is the one table of targets; the fuzz test begins with them.
func targetRows() []targetRow {
	return []targetRow{
		{"gpt-4o", true},
		{"anthropic.claude-3-5-sonnet-20240620-v1:0", true},
		{"meta-llama/Llama-3.1-8B_Instruct", true},
		{"@cf/meta/llama-2", true},
		{"ft:gpt-3.5-turbo:my org::id", true},
		{"a+b~c", true},

		{"", false},
		{" ", false},
		{"x'", false},
		{`a' || '1' == '1`, false},
		{`gpt\u002d4`, false},
		{`gpt"4`, false},
		{"gpt\n4", false},
		{"gpt\t4", false},
		{" gpt", false},
		{"gpt ", false},
		{"gpt,4", false},
		{"gpt\x004", false},
		{"gpt\u20284", false},
		{"größer", false},
	}
}

// predicate is what Kuadrant has the gateway evaluate for a rule with the header.
// Source: kuadrant-operator 1.5, internal/wasm/utils.go.
func predicate(name, value string) string {
	return fmt.Sprintf("request.headers.exists(h, h.lowerAscii() == '%s' && request.headers[h] == '%s')", strings.ToLower(name), value)
}

// holds evaluates the predicate for a request with the header; an error means that the
// gateway refuses its whole configuration.
func holds(env *cel.Env, expression, name, value string) (bool, error) {
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		return false, issues.Err()
	}
	program, err := env.Program(ast)
	if err != nil {
		return false, err
	}
	out, _, err := program.Eval(map[string]any{"request": map[string]any{"headers": map[string]string{name: value}}})
	if err != nil {
		return false, err
	}
	result, _ := out.Value().(bool)
	return result, nil
}

func kuadrantsEnv(tb testing.TB) *cel.Env {
	tb.Helper()
	env, err := cel.NewEnv(ext.Strings(), cel.Variable("request", cel.DynType))
	if err != nil {
		tb.Fatal(err)
	}
	return env
}

// What Kuadrant makes of the header of a route holds for that value, and for no other.
func TestTargetsMeanNothingButThemselves(t *testing.T) {
	t.Parallel()
	env := kuadrantsEnv(t)
	for _, row := range targetRows() {
		if got := external.Addressable(row.target); got != row.addressable {
			t.Errorf("Addressable(%q) = %t, want %t", row.target, got, row.addressable)
		}
		routed(t, env, row.target)
	}
}

func FuzzTargets(f *testing.F) {
	env := kuadrantsEnv(f)
	for _, row := range targetRows() {
		f.Add(row.target)
	}
	f.Fuzz(func(t *testing.T, target string) { routed(t, env, target) })
}

// routed checks what the route of a model with the target has in its rules.
func routed(t *testing.T, env *cel.Env, target string) {
	t.Helper()
	out := external.Build(inputOf(claim("a", 1, func(c *external.Claim) { c.Target = target })))
	if !external.Addressable(target) {
		if len(out.Route.Rules) != 1 || out.Addressee.Name != "" {
			t.Errorf("target %q is in a header of the route, of %s", target, out.Addressee)
		}
		return
	}
	if len(out.Route.Rules) != 2 {
		t.Fatalf("target %q has %d rules", target, len(out.Route.Rules))
	}
	header := out.Route.Rules[1].Header[0]
	for value, want := range map[string]bool{target: true, target + "x": false, strings.ToUpper(target) + "x": false, "other": target == "other"} {
		got, err := holds(env, predicate(header.Name, header.Value), strings.ToLower(header.Name), value)
		if err != nil || got != want {
			t.Errorf("the predicate of target %q holds for %q: %t, %v, want %t", target, value, got, err, want)
		}
	}
}
