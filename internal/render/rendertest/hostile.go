// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rendertest

import (
	"fmt"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/internal/render"
)

// Renderer is the part of render.Engine that is put to the test.
type Renderer interface {
	Render(r render.Request) (*unstructured.Unstructured, error)
}

// policy says what may happen to a hostile text in a field.
type policy int

const (
	policyKept    policy = iota // it is rendered and arrives unchanged
	policyDerived               // it is rendered, in some other form
	policyRefused               // it is an error, or arrives unchanged
)

// Option says how fields differ from the rule. A path is a chain of field
// names with [] for every list, {} for the values of a map and {key} for its
// keys: "Meta.Labels{}", "Rules[].Name".
type Option func(map[string]policy)

// Derived names fields of which the template renders something else than the
// text itself, such as a hash.
func Derived(paths ...string) Option {
	return func(p map[string]policy) {
		for _, path := range paths {
			p[path] = policyDerived
		}
	}
}

// Refused names fields for which an error is a good answer, such as the name
// that must be the requested one, or label values. Keys of maps are among them
// without being named.
func Refused(paths ...string) Option {
	return func(p map[string]policy) {
		for _, path := range paths {
			p[path] = policyRefused
		}
	}
}

// marker is the harmless text a field is given for comparison. It passes for a
// name, a label and a word of prose.
const marker = "harmless-marker-7"

// Texts returns texts that break templates which do not quote: YAML and CEL
// syntax, words that YAML takes for other types, control characters, and
// invalid UTF-8, which must be refused.
func Texts() []string {
	return []string{
		"a\n  labels:\n    evil: \"1\"", "a\"\n  labels:\n    evil: \"1\"\n  b: \"", "a'\n  labels: {evil: '1'}\n  b: '",
		"\n---\napiVersion: v1\nkind: Secret\n", "a: b", "a #b", "- a", "? a", "# a", "&a b", "*a", "!!int 1", "{a: b}", "[a]", "<<", "| a", "> a", "%YAML 1.1",
		"yes", "null", "~", "0x10", "1e3", "010", "1.10", "12:30:45", "2024-01-01", ".inf",
		`" || true || "`, `' || true || '`, `\" || true || \"`, `\`, `\\`, `"`, `'`, "`", `"""`, "//", "a)", "/* */", "${a}", "{{ .Name }}", "{{", "}}", "%s%d%!v",
		"<nil>", "<no value>", "</script>&amp;", " a", "a ", "\ta", "a\r\nb", "a\n", "\n", " ",
		"\x00", "\x1b[31m", "\x7f", "\u0085labels:", "\u2028labels:", "\u2029", "\ufeff", "\ufffe", "\ufffd", "\u202e", "\U0001f600", "\U0010ffff",
		"\xff", "a\xc3", "\xed\xa0\x80",
	}
}

// Text generates texts of the kind that Texts returns.
func Text() *rapid.Generator[string] {
	nasty := rapid.SampledFrom([]rune("\x00\t\n\r\"'\\`:#-?&*!|>%@{}[]()<,~/=\u007f\u0085\u2028\ufeff\ufffe\U0001f600 ab01"))
	return rapid.OneOf(rapid.SampledFrom(Texts()), rapid.StringOf(rapid.OneOf(nasty, nasty, rapid.Rune())))
}

// Hostile checks a template with the request of an ordinary object: whatever
// text stands in one of the string fields of its values, the object keeps its
// kind, its name and its structure, and the text arrives unchanged, plain or
// as a CEL literal. A field that holds a whole CEL expression counts as plain.
func Hostile(t *testing.T, e Renderer, request render.Request, opts ...Option) {
	t.Helper()
	p := newProbe(t, e, request, opts)
	for _, leaf := range p.leaves {
		t.Run(leaf.name, func(t *testing.T) {
			t.Parallel()
			harmless := p.harmless(leaf)
			for _, text := range Texts() {
				if err := p.check(leaf, harmless, text); err != nil {
					t.Errorf("text %q: %v", text, err)
				}
			}
			rapid.Check(t, func(rt *rapid.T) {
				text := Text().Filter(func(s string) bool { return s != "" }).Draw(rt, "text")
				if err := p.check(leaf, harmless, text); err != nil {
					rt.Fatalf("text %q: %v", text, err)
				}
			})
		})
	}
}

// Fuzz is Hostile as a fuzz target: one number chooses the field.
func Fuzz(f *testing.F, e Renderer, request render.Request, opts ...Option) {
	f.Helper()
	p := newProbe(f, e, request, opts)
	for i, text := range Texts() {
		f.Add(uint(i), text)
	}
	f.Fuzz(func(t *testing.T, field uint, text string) {
		leaf := p.leaves[field%uint(len(p.leaves))]
		if text == "" {
			return // templates may take it for an absent value
		}
		if err := p.check(leaf, p.harmless(leaf), text); err != nil {
			t.Errorf("field %s, text %q: %v", leaf.name, text, err)
		}
	})
}

// probe is a template under test with the string fields of its values.
type probe struct {
	engine   Renderer
	request  render.Request
	leaves   []leaf
	policies map[string]policy
}

func newProbe(tb testing.TB, e Renderer, request render.Request, opts []Option) *probe {
	tb.Helper()
	p := &probe{engine: e, request: request, leaves: leavesOf(request.Values), policies: map[string]policy{}}
	if _, err := e.Render(request); err != nil {
		tb.Fatalf("the ordinary object does not render: %v", err)
	}
	for _, opt := range opts {
		opt(p.policies)
	}
	for path := range p.policies {
		if !slices.ContainsFunc(p.leaves, func(l leaf) bool { return l.path == path }) {
			tb.Fatalf("option names %s, but the values hold no such text", path)
		}
	}
	if len(p.leaves) == 0 {
		tb.Fatal("the values hold no text")
	}
	return p
}

// outcome is what a template makes of one text.
type outcome struct {
	object *unstructured.Unstructured
	err    error
}

func (p *probe) render(l leaf, text string) outcome {
	request := p.request
	request.Values = l.with(p.request.Values, text)
	object, err := p.engine.Render(request)
	return outcome{object: object, err: err}
}

func (p *probe) harmless(l leaf) outcome { return p.render(l, marker) }

// check compares what a hostile text yields with what the marker yields.
func (p *probe) check(l leaf, harmless outcome, text string) error {
	rule := p.policies[l.path]
	if l.isKey && rule == policyKept {
		rule = policyRefused
	}
	if harmless.err != nil && rule != policyRefused {
		return fmt.Errorf("even a harmless text is refused; name the field in Refused if that is right: %w", harmless.err)
	}
	got := p.render(l, text)
	switch {
	case got.err != nil && (rule == policyRefused || !utf8.ValidString(text)):
		return nil
	case got.err != nil:
		return fmt.Errorf("refused; name the field in Refused if that is right: %w", got.err)
	case harmless.err != nil:
		return fmt.Errorf("accepted, though even a harmless text is refused: %w", harmless.err)
	case rule == policyDerived:
		return SameStructure(harmless.object, got.object)
	}
	want, mismatch := arrival{text: text}.expect("", harmless.object.Object, got.object.Object)
	if mismatch != "" {
		return fmt.Errorf("does not arrive unchanged: %s", mismatch)
	}
	if diff := cmp.Diff(want, any(got.object.Object)); diff != "" {
		return fmt.Errorf("changes the object (-want +got):\n%s", diff)
	}
	return nil
}
