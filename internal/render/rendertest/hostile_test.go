// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rendertest

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opendatahub-io/maas-operator/internal/render"
)

type sampleValues struct {
	Name   string
	Labels map[string]string
	Notes  map[string]string
	Rules  []sampleRule
	Unused string
}

type sampleRule struct {
	Title string
	Users []string
}

const sampleID render.ID = "demo/widget-sample"

func sampleRequest() render.Request {
	return render.Request{ID: sampleID, Name: "sample", Values: sampleValues{
		Name: "sample", Labels: map[string]string{"a": "b"}, Notes: map[string]string{"c": "d", "e": "f"},
		Rules: []sampleRule{{Title: "first", Users: []string{"u", "v"}}, {Title: "second"}}, Unused: "x",
	}}
}

func sampleEngine(tb testing.TB) *render.Engine {
	tb.Helper()
	e, err := render.New(fstest.MapFS{
		sampleID.File(): {Data: []byte(`apiVersion: demo.example.com/v1
kind: Widget
metadata:
  name: {{ .Name | quote }}
  labels:
    {{- labels .Labels | nindent 4 }}
  annotations:
    {{- toYaml .Notes | nindent 4 }}
spec:
  rules:
    {{- range .Rules }}
    - title: {{ printf "Rule '%s'" .Title | sha256sum | quote }}
      header: {{ printf "prefix-%s" .Title | quote }}
      predicate: {{ include "cel.users" . | oneline | quote }}
    {{- end }}
`)},
		"_lib/cel.tpl": {Data: []byte(`{{ define "cel.users" }}user in {{ celList .Users }} || title == {{ celString (printf "a %s" .Title) }}{{ end }}`)},
	}, []render.Entry{{ID: sampleID, GVK: schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Widget"}, Values: sampleValues{}}})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// TestHostile holds a template that quotes properly against every text. The
// title is also hashed, so only the structure can be compared there.
func TestHostile(t *testing.T) {
	t.Parallel()
	Hostile(t, sampleEngine(t), sampleRequest(), Refused("Name", "Labels{}"), Derived("Rules[].Title"))
}

func FuzzHostile(f *testing.F) {
	Fuzz(f, sampleEngine(f), sampleRequest(), Refused("Name", "Labels{}"), Derived("Rules[].Title"))
}

// fake renders without any care.
type fake func(v sampleValues) (map[string]any, error)

func (f fake) Render(r render.Request) (*unstructured.Unstructured, error) {
	v, _ := r.Values.(sampleValues)
	object, err := f(v)
	return &unstructured.Unstructured{Object: object}, err
}

func TestProbeFindsCarelessTemplates(t *testing.T) {
	t.Parallel()
	text := func(v sampleValues) string { return v.Rules[0].Title }
	for name, tc := range map[string]struct {
		render fake
		opts   []Option
		text   string
		want   string
	}{
		"a text that adds a key": {
			render: func(v sampleValues) (map[string]any, error) {
				object := map[string]any{"a": strings.SplitN(text(v), "\n", 2)[0]}
				if strings.Contains(text(v), "\n") {
					object["evil"] = "1"
				}
				return object, nil
			},
			text: "x\nevil: 1",
			want: "does not arrive unchanged",
		},
		"a text that adds a key and arrives": {
			render: func(v sampleValues) (map[string]any, error) {
				object := map[string]any{"a": text(v)}
				if strings.Contains(text(v), "\n") {
					object["evil"] = "1"
				}
				return object, nil
			},
			text: "x\nevil: 1",
			want: "changes the object",
		},
		"a text that adds a key where it is not kept": {
			render: func(v sampleValues) (map[string]any, error) {
				object := map[string]any{"a": "hash"}
				if strings.Contains(text(v), "\n") {
					object["evil"] = "1"
				}
				return object, nil
			},
			opts: []Option{Derived("Rules[].Title")},
			text: "x\nevil: 1",
			want: "changes the structure",
		},
		"a text that changes the name where it is not kept": {
			render: func(v sampleValues) (map[string]any, error) {
				return map[string]any{"metadata": map[string]any{"name": text(v)}}, nil
			},
			opts: []Option{Derived("Rules[].Title")},
			text: "x",
			want: "changes the identity",
		},
		"a text that is not escaped in CEL": {
			render: func(v sampleValues) (map[string]any, error) {
				return map[string]any{"a": `user == "` + text(v) + `"`}, nil
			},
			text: `" || true || "`,
			want: "must be escaped as celString does",
		},
		"a text that changes its type": {
			render: func(v sampleValues) (map[string]any, error) {
				if text(v) == "yes" {
					return map[string]any{"a": true}, nil
				}
				return map[string]any{"a": text(v)}, nil
			},
			text: "yes",
			want: "does not arrive unchanged",
		},
		"a broken text that is rendered": {
			render: func(v sampleValues) (map[string]any, error) { return map[string]any{"a": text(v)}, nil },
			text:   "\xff",
			want:   "must be refused",
		},
		"a text that is refused without leave": {
			render: func(v sampleValues) (map[string]any, error) {
				if strings.Contains(text(v), "#") {
					return nil, errors.New("no")
				}
				return map[string]any{"a": text(v)}, nil
			},
			text: "#",
			want: "name the field in Refused",
		},
		"a field that is always refused": {
			render: func(v sampleValues) (map[string]any, error) {
				if text(v) != "first" {
					return nil, errors.New("no")
				}
				return map[string]any{"a": text(v)}, nil
			},
			text: "x",
			want: "even a harmless text is refused",
		},
		"a hostile text that passes where harmless ones do not": {
			render: func(v sampleValues) (map[string]any, error) {
				if text(v) == marker {
					return nil, errors.New("no")
				}
				return map[string]any{"a": text(v)}, nil
			},
			opts: []Option{Refused("Rules[].Title")},
			text: "#",
			want: "accepted, though even a harmless text is refused",
		},
		"a text that is put in upper case": {
			render: func(v sampleValues) (map[string]any, error) {
				if text(v) == marker {
					return map[string]any{"a": []any{marker}}, nil
				}
				return map[string]any{"a": []any{strings.ToUpper(text(v))}}, nil
			},
			text: "x",
			want: `.a[0] is "X", want "x"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProbe(t, tc.render, sampleRequest(), tc.opts)
			for _, l := range p.leaves {
				if l.name != "Rules[0].Title" {
					continue
				}
				err := p.check(l, p.harmless(l), tc.text)
				if err == nil {
					t.Fatal("the probe found nothing")
				}
				if !strings.Contains(err.Error(), tc.want) {
					t.Errorf("error %q does not say %q", err, tc.want)
				}
				return
			}
			t.Fatal("no such field")
		})
	}
}

func TestLeavesAreEveryText(t *testing.T) {
	t.Parallel()
	values := sampleRequest().Values
	got := map[string]string{}
	for _, l := range leavesOf(values) {
		got[l.name] = l.path
	}
	want := map[string]string{
		"Name": "Name", "Unused": "Unused",
		"Labels{a}": "Labels{}", "Labels{key a}": "Labels{key}",
		"Notes{c}": "Notes{}", "Notes{key c}": "Notes{key}", "Notes{e}": "Notes{}", "Notes{key e}": "Notes{key}",
		"Rules[0].Title": "Rules[].Title", "Rules[1].Title": "Rules[].Title",
		"Rules[0].Users[0]": "Rules[].Users[]", "Rules[0].Users[1]": "Rules[].Users[]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("leaves (-want +got):\n%s", diff)
	}
}

func TestLeafReplacesInACopy(t *testing.T) {
	t.Parallel()
	values, _ := sampleRequest().Values.(sampleValues)
	for _, l := range leavesOf(values) {
		changed, _ := l.with(values, "new").(sampleValues)
		if cmp.Equal(values, changed) {
			t.Errorf("leaf %s: nothing changed", l.name)
		}
		if _, ok := changed.Notes["new"]; ok != (l.path == "Notes{key}") {
			t.Errorf("leaf %s: notes are %v", l.name, changed.Notes)
		}
	}
	if diff := cmp.Diff(sampleRequest().Values, any(values)); diff != "" {
		t.Errorf("the original changed (-want +got):\n%s", diff)
	}
}

func TestUndocumented(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		source string
		want   []string
	}{
		"all documented": {source: "package p\n\n// A is.\ntype A struct {\n\t// B is.\n\tB string\n\tc int\n}\n\ntype d struct{ E int }\n"},
		"a field":        {"package p\n\n// A is.\ntype A struct {\n\tB string\n}\n", []string{"p.go:5:2: A.B has no doc comment"}},
		"a type":         {"package p\n\ntype A string\n", []string{"p.go:3:6: A has no doc comment"}},
		"one of a list of fields": {
			"package p\n\n// A is.\ntype A struct {\n\tB, C string\n\t//\n\tD int\n}\n",
			[]string{"A.B has no", "A.C has no", "A.D has no"},
		},
		"no type": {"package p\n", []string{"no type found"}},
		"no Go":   {"package", []string{"parse p.go"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Undocumented(fstest.MapFS{"p.go": {Data: []byte(tc.source)}, "p_test.go": {Data: []byte("package p\n\ntype Z int\n")}})
			if len(tc.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatal("Undocumented found nothing")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}
