// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"embed"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// These tests stand for the ways in which template systems of other operators
// were seen to fail. Each shows that the failure cannot happen here: either the
// template is refused when the engine is built, or the value survives.

func TestKnownFailuresAreRefusedAtStart(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ body, want string }{
		"two blocks that are valid alone and not together": {
			"spec:\n  pullSecrets:\n    {{- if .On }}\n    - a\n    {{- end }}\n    {{- if .Name }}\n  - b\n    {{- end }}\n",
			"line 12: list items and keys at the same column",
		},
		"an unquoted scalar":                       {"spec:\n  a: {{ .Text }}\n", "is emitted as it is"},
		"quotes written by hand":                   {"spec:\n  a: \"{{ .Text }}\"\n", "is emitted as it is"},
		"a map read by a key that may be missing":  {"spec:\n  a: {{ get .Labels \"x\" | quote }}\n", "get is not available"},
		"a default for a missing field":            {"spec:\n  a: {{ dig \"x\" \"y\" .Labels | quote }}\n", "dig is not available"},
		"a field missing in an untaken branch":     {"spec:\n  a: 1\n  {{- if not .Name }}\n  b: {{ .Nope | quote }}\n  {{- end }}\n", "can't use field Nope"},
		"a default that overrides false":           {"spec:\n  a: {{ .On | default true | toJson }}\n", "default is not available"},
		"the environment":                          {"spec:\n  a: {{ expandenv \"$HOME\" | quote }}\n", "expandenv is not available"},
		"the network":                              {"spec:\n  a: {{ getHostByName \"x\" | quote }}\n", "getHostByName is not available"},
		"randomness":                               {"spec:\n  a: {{ randInt 1 9 | int }}\n", "randInt is not available"},
		"map order":                                {"spec:\n  a: {{ keys .Labels | toJson }}\n", "keys is not available"},
		"HTML escaping":                            {"spec:\n  a: {{ html .Text }}\n", "html is not available"},
		"a template that is empty for some values": {"{{- if .On }}\nspec:\n  a: 1\n{{- end }}\n", ""},
		"an error that a helper swallows":          {"spec:\n  a: {{ atoi .Text | int }}\n", "atoi is not available"},
		"an image that nobody gave":                {"spec:\n  a: {{ image \"RELATED_IMAGE_X\" }}\n", "is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.want == "" {
				build(t, tc.body) // the head stands outside the branch, so the object is never empty
				return
			}
			wantError(t, buildError(t, tc.body), tc.want)
		})
	}
}

// TestScalarsKeepTheirType: texts that YAML reads as something else.
func TestScalarsKeepTheirType(t *testing.T) {
	t.Parallel()
	e := build(t, "spec:\n  a: {{ .Text | quote }}\n  b: {{ toJson .Text }}\n  c:\n    {{- toYaml .Items | nindent 4 }}\n  {{ .Text | quote }}: {{ .On | toJson }}\n")
	for _, text := range []string{
		"0x10", "1e3", "010", "1.10", "y", "yes", "off", "null", "~", "", "true", "1_000", "12:30", "2024-01-01", "<nil>", "<no value>",
		".inf", "=", "<<", "!!str", "&a", "*a", "- a", "? a", "#a", "a: b", "a #b", "{{ .Name }}", " a ", "'", `"`, "&amp;", "\xef\xbb\xbf",
	} {
		object, err := e.Render(demoRequest(demoValues{Text: text, Items: []string{text}}))
		if err != nil {
			t.Errorf("text %q: %v", text, err)
			continue
		}
		wantField(t, object, map[string]any{"a": text, "b": text, "c": []any{text}, text: false}, "spec")
	}
}

// TestTextsCannotInject: texts that try to add structure stay texts.
func TestTextsCannotInject(t *testing.T) {
	t.Parallel()
	e := build(t, "  annotations:\n    a: {{ .Text | quote }}\n    {{- toYaml .Labels | nindent 4 }}\nspec:\n  a: 1\n")
	for _, text := range []string{
		"a\n  labels:\n    evil: \"1\"", "a\"\n  labels:\n    evil: \"1\"\n  x: \"", "a\n---\nkind: Secret", "\\", "a\\\"", "\x00", "\u2028labels:", "\u0085labels:",
	} {
		object, err := e.Render(demoRequest(demoValues{Text: text, Labels: map[string]string{"b" + text: text}}))
		if err != nil {
			t.Errorf("text %q: %v", text, err)
			continue
		}
		wantField(t, object, map[string]any{
			"name": "one", "namespace": "ns", "annotations": map[string]any{"a": text, "b" + text: text},
		}, "metadata")
	}
}

// TestExplicitFalseAndZeroStay: what is set is rendered, also if it is zero.
func TestExplicitFalseAndZeroStay(t *testing.T) {
	t.Parallel()
	object, err := build(t, "spec:\n  a: {{ .On | toJson }}\n  b: {{ .Count | int }}\n  c: {{ .Text | quote }}\n").Render(demoRequest(demoValues{}))
	if err != nil {
		t.Fatal(err)
	}
	wantField(t, object, map[string]any{"a": false, "b": int64(0), "c": ""}, "spec")
}

// TestDuplicateKeysAreRefused: a key that the values make a duplicate.
func TestDuplicateKeysAreRefused(t *testing.T) {
	t.Parallel()
	e := build(t, "spec:\n  a: 1\n  {{ .Text | quote }}: 2\n")
	if _, err := e.Render(demoRequest(demoValues{Text: "b"})); err != nil {
		t.Fatal(err)
	}
	_, err := e.Render(demoRequest(demoValues{Text: "a"}))
	if err == nil {
		t.Fatal("Render accepted a key given twice")
	}
	wantError(t, err.Error(), "template demo/widget-one line 8: spec: key <quoted key> is given twice")
}

//go:embed all:testdata/embedded
var embedded embed.FS

// TestEmbeddedFragmentsAreThere: go:embed leaves out files that begin with "_"
// or "." unless the pattern says all:. The engine sees every file it is given
// and refuses to do without one that is included.
func TestEmbeddedFragmentsAreThere(t *testing.T) {
	t.Parallel()
	fsys, err := fs.Sub(embedded, "testdata/embedded")
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(fsys, demoTable())
	if err != nil {
		t.Fatal(err)
	}
	object, err := e.Render(demoRequest(demoValues{Text: "x"}))
	if err != nil {
		t.Fatal(err)
	}
	wantField(t, object, map[string]any{"a": "x"}, "spec")

	without := fstest.MapFS{}
	content, err := fs.ReadFile(fsys, demoFile)
	if err != nil {
		t.Fatal(err)
	}
	without[demoFile] = &fstest.MapFile{Data: content}
	if _, err := New(without, demoTable()); err == nil {
		t.Error("New accepted a template whose fragment is missing")
	}
}

// TestOrderDoesNotDependOnMaps: the engine is built from maps, and its errors
// come in the same order every time.
func TestOrderDoesNotDependOnMaps(t *testing.T) {
	t.Parallel()
	var first string
	for range 20 {
		got := buildError(t, "spec:\n  a:\n    {{- include \"a\" . | nindent 4 }}\n    {{- include \"b\" . | nindent 4 }}\n    {{- include \"c\" . | nindent 4 }}\n",
			"a.tpl", "{{ define \"a\" }}\na: {{ .A }}\n{{ end }}{{ define \"d\" }}\na: {{ .D }}\n{{ end }}",
			"b.tpl", "{{ define \"b\" }}\na: {{ .B }}\n{{ end }}{{ define \"e\" }}\na: {{ .E }}\n{{ end }}")
		if first == "" {
			first = got
		}
		if diff := cmp.Diff(first, got); diff != "" {
			t.Fatalf("error differs (-first +this):\n%s", diff)
		}
	}
}
