// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/internal/celtext"
)

// TestCELStringEvaluatesToTheText: whatever the text, the literal is one line
// of printable ASCII and CEL evaluates it to exactly that text.
func TestCELStringEvaluatesToTheText(t *testing.T) {
	t.Parallel()
	env := celEnvironment(t)
	check := func(t rapid.TB, text string) {
		literal, err := celtext.String(text)
		if err != nil {
			t.Fatal(err)
		}
		for i := range len(literal) {
			if literal[i] < 0x20 || literal[i] > 0x7e {
				t.Fatalf("literal %q has byte %#x", literal, literal[i])
			}
		}
		if diff := cmp.Diff(any(text), evaluate(t, env, literal)); diff != "" {
			t.Fatalf("value of %s (-want +got):\n%s", literal, diff)
		}
	}
	for _, text := range []string{
		"", "\x00", "\u2028", "\u2029", `"`, `'`, "`", `\`, `\"`, `\\`, "\n", "\r\n", "\t", "\x7f", "\u0085", "\ufeff", "\ufffd",
		"\U0001f600", "\U0010ffff", `" || true || "`, `\" || true`, `"""`, "//", "é", "\\u0041", "{{ .X }}",
	} {
		check(t, text)
	}
	rapid.Check(t, func(rt *rapid.T) { check(rt, anyText().Draw(rt, "text")) })
}

func TestCELStringRefusesInvalidUTF8(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\xff", "a\xc3", "\xed\xa0\x80", "a\x80b"} {
		if literal, err := celtext.String(text); err == nil {
			t.Errorf("String(%q) = %s, want an error", text, literal)
		}
		if literal, err := celtext.List([]string{"a", text}); err == nil {
			t.Errorf("List(%q) = %s, want an error", text, literal)
		}
	}
}

func TestCELListEvaluatesToTheTexts(t *testing.T) {
	t.Parallel()
	env := celEnvironment(t)
	rapid.Check(t, func(rt *rapid.T) {
		texts := rapid.SliceOfN(anyText(), 0, 5).Draw(rt, "texts")
		literal, err := celtext.List(texts)
		if err != nil {
			rt.Fatal(err)
		}
		for i, text := range texts {
			call := "(" + literal + ")[" + string(rune('0'+i)) + "]"
			if diff := cmp.Diff(any(text), evaluate(rt, env, call)); diff != "" {
				rt.Fatalf("value of %s (-want +got):\n%s", call, diff)
			}
		}
		if got := evaluate(rt, env, "size("+literal+")"); got != int64(len(texts)) {
			rt.Fatalf("size of %s is %v, want %d", literal, got, len(texts))
		}
	})
}

// TestCELFragmentKeepsTexts: hostile texts in a fragment that spans lines, with
// loops and nested includes, reach the expression unchanged.
func TestCELFragmentKeepsTexts(t *testing.T) {
	t.Parallel()
	env := celEnvironment(t)
	e := build(t, "spec:\n  a: {{ include \"cel.all\" . | oneline | quote }}\n", "cel.tpl", `
{{ define "cel.all" }}
  [{{ celString .Text }}] +
  {{ celList .Items }}
  {{- range .Blocks }}
  + {{ include "cel.block" . }}
  {{- end }}
{{ end }}
{{ define "cel.block" }}
  [ {{ celString .Key }},
    {{ .Value | celString }} ]
{{ end }}
`)
	rapid.Check(t, func(rt *rapid.T) {
		texts := rapid.SliceOfN(anyText(), 5, 5).Draw(rt, "texts")
		object, err := e.Render(demoRequest(demoValues{Text: texts[0], Items: texts[1:3], Blocks: []demoBlock{{Key: texts[3], Value: texts[4]}}}))
		if err != nil {
			rt.Fatal(err)
		}
		expression, _ := object.Object["spec"].(map[string]any)["a"].(string)
		for i, text := range texts {
			call := "(" + expression + ")[" + string(rune('0'+i)) + "]"
			if diff := cmp.Diff(any(text), evaluate(rt, env, call)); diff != "" {
				rt.Fatalf("value of %s (-want +got):\n%s", call, diff)
			}
		}
	})
}

func TestOnelineRefusesTextThatChangesMeaning(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a comment":                    "a // b\n&& c",
		"a string over two lines":      "'a\nb'",
		"two literals side by side":    `"""a"`,
		"a name in front of a literal": `r"\"`,
		"a literal after a literal":    `"a"'b'`,
		"an escaped end":               `"a\"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := oneline(text); err == nil {
				t.Errorf("oneline(%q) = %q, want an error", text, got)
			}
		})
	}
}

func celEnvironment(tb testing.TB) *cel.Env {
	tb.Helper()
	env, err := cel.NewEnv()
	if err != nil {
		tb.Fatal(err)
	}
	return env
}

func evaluate(t rapid.TB, env *cel.Env, expression string) any {
	t.Helper()
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		t.Fatalf("compile %s: %v", expression, issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		t.Fatalf("program of %s: %v", expression, err)
	}
	value, _, err := program.Eval(map[string]any{})
	if err != nil {
		t.Fatalf("evaluate %s: %v", expression, err)
	}
	return value.Value()
}
