// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package celtext_test

import (
	"errors"
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/internal/celtext"
)

func evaluate(t interface{ Fatalf(string, ...any) }, expression string) any {
	env, err := cel.NewEnv()
	if err != nil {
		t.Fatalf("make environment: %v", err)
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		t.Fatalf("compile %s: %v", expression, issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		t.Fatalf("plan %s: %v", expression, err)
	}
	value, _, err := program.Eval(cel.NoVars())
	if err != nil {
		t.Fatalf("evaluate %s: %v", expression, err)
	}
	return value.Value()
}

func TestStringEvaluatesToItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		literal, err := celtext.String(text)
		if err != nil {
			t.Fatalf("String(%q) error = %v", text, err)
		}
		for _, r := range literal {
			if r < 0x20 || r > 0x7e {
				t.Fatalf("String(%q) = %q, which has the character %q", text, literal, r)
			}
		}
		if got := evaluate(t, literal); got != text {
			t.Errorf("%s evaluates to %q, want %q", literal, got, text)
		}
	})
}

func TestStringQuotes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"plain text":             {"gold", `"gold"`},
		"a closing quote":        {`a" || true || "`, `"a\" || true || \""`},
		"a trailing backslash":   {`a\`, `"a\\"`},
		"a line break":           {"a\nb", `"a\u000ab"`},
		"a zero byte":            {"a\x00b", `"a\u0000b"`},
		"a line separator":       {"a\u2028b", `"a\u2028b"`},
		"beyond the basic plane": {"\U0001F600", `"\U0001f600"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := celtext.String(test.text)
			if err != nil {
				t.Fatalf("String(%q) error = %v", test.text, err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("String(%q) (-want +got):\n%s", test.text, diff)
			}
		})
	}
}

func TestInvalidUTF8IsRefused(t *testing.T) {
	t.Parallel()
	if _, err := celtext.String("a\xffb"); !errors.Is(err, celtext.ErrInvalidUTF8) {
		t.Errorf("String() error = %v, want %v", err, celtext.ErrInvalidUTF8)
	}
	if _, err := celtext.List([]string{"a", "\xff"}); !errors.Is(err, celtext.ErrInvalidUTF8) {
		t.Errorf("List() error = %v, want %v", err, celtext.ErrInvalidUTF8)
	}
}

// FuzzList quotes any texts: the list evaluates to them, or is refused because
// one is no text.
func FuzzList(f *testing.F) {
	for _, text := range []string{"", "gold", "a\" || true || \"", "\\", "\n\r\x00", "Zoë", "\u2028", "\U0001f600", "\xff", "'''", "{{ . }}"} {
		f.Add(text, text)
		f.Add(text, "other")
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		list, err := celtext.List([]string{first, second})
		valid := utf8.ValidString(first) && utf8.ValidString(second)
		if (err == nil) != valid {
			t.Fatalf("List(%q, %q) error = %v", first, second, err)
		}
		if err != nil {
			return
		}
		for i, want := range []string{first, second} {
			if got := evaluate(t, fmt.Sprintf("%s[%d]", list, i)); got != want {
				t.Errorf("item %d of %s is %q, want %q", i, list, got, want)
			}
		}
		if got := evaluate(t, "size("+list+")"); got != int64(2) {
			t.Errorf("%s has %v items", list, got)
		}
	})
}

func TestLetBindsAValue(t *testing.T) {
	t.Parallel()
	if got := evaluate(t, celtext.Let("x", "1 + 1", celtext.Let("y", "x * 3", "x + y"))); got != int64(8) {
		t.Errorf("the expression yields %v, want 8", got)
	}
}
