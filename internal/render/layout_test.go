// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import "testing"

func TestLayoutRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body string
		want string
	}{
		"list items of two blocks at different columns": {
			body: `spec:
  pullSecrets:
    {{- range .Items }}
    - name: {{ . | quote }}
    {{- end }}
  {{- range .Blocks }}
  - name: {{ .Key | quote }}
  {{- end }}
`,
			want: "line 12: list items and keys at the same column 2",
		},
		"list items at the column of their key": {body: "spec:\n  a:\n  - b\n", want: "line 8: list items and keys at the same column"},
		"three columns":                         {body: "spec:\n   a: 1\n", want: "line 7: stands at column 3, want column 2"},
		"four columns":                          {body: "spec:\n    a: 1\n", want: "line 7: stands at column 4, want column 2"},
		"a key under a value":                   {body: "spec: 1\n  a: 1\n", want: "line 7: indented under a key that already has a value"},
		"a value on a line of its own":          {body: "spec:\n  a:\n    {{ .Text | quote }}\n", want: "line 8: a value on a line of its own"},
		"an action inside text":                 {body: "spec:\n  a: x-{{ .Text | quote }}\n", want: "line 7: an action must be the whole value"},
		"an action inside quotes":               {body: "spec:\n  a: \"{{ .Text | quote }}\"\n", want: "line 7: an action must be the whole value"},
		"two actions in one value":              {body: "spec:\n  a: {{ .Text | quote }}{{ .Text | quote }}\n", want: "line 7: an action must be the whole value"},
		"an action in a flow list":              {body: "spec:\n  a: [{{ .Text | quote }}]\n", want: "line 7: an action must be the whole value"},
		"an action in a comment":                {body: "spec:\n  a: 1\n# {{ .Text | quote }}\n", want: "line 8: an action in a YAML comment"},
		"an action in a trailing comment":       {body: "spec:\n  a: 1 # {{ .Text | quote }}\n", want: "line 7: an action must be the whole value"},
		"a branch inside a value":               {body: "spec:\n  a: {{ if .On }}1{{ else }}2{{ end }}\n", want: "line 7: if, range, with, else and end must stand alone"},
		"a right trim":                          {body: "spec:\n  {{- if .On -}}\n  a: 1\n  {{- end }}\n  b: 1\n", want: "line 7: -}} eats"},
		"a left trim behind a key":              {body: "spec:\n  a: {{- .Text | quote }}\n", want: "line 7: {{- eats"},
		"a second document":                     {body: "spec:\n  a: 1\n---\nb: 1\n", want: "line 8: document marker"},
		"an anchor":                             {body: "spec:\n  a: &x 1\n", want: "line 7: anchor, alias or tag"},
		"an alias":                              {body: "spec:\n  a: *x\n", want: "line 7: anchor, alias or tag"},
		"a tag":                                 {body: "spec:\n  a: !!str 1\n", want: "line 7: anchor, alias or tag"},
		"text over two lines":                   {body: "spec:\n  a: b\n    c\n", want: "line 8: neither a key"},
		"quotes over two lines":                 {body: "spec:\n  a: \"b\n    c\"\n", want: "line 7: value does not end on its line"},
		"a flow map over two lines":             {body: "spec:\n  a: {b: 1,\n    c: 2}\n", want: "line 7: value does not end on its line"},
		"an empty list item":                    {body: "spec:\n  a:\n    - \n    - b\n", want: "line 8: empty list item"},
		"a misplaced block in a scalar":         {body: "spec:\n  a: |\n    x\n    {{- toYaml .Items | nindent 2 }}\n", want: "line 9: nindent 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantError(t, buildError(t, tc.body), tc.want)
		})
	}
}

func TestLayoutChecksFragments(t *testing.T) {
	t.Parallel()
	got := buildError(t, "spec:\n  {{- include \"x\" . | nindent 2 }}\n", "x.tpl", "{{ define \"x\" }}\n a: 1\n{{ end }}\n")
	wantError(t, got, "fragment file _lib/x.tpl line 2: stands at column 1, want column 0")
}

func TestHeadRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"an if around the whole file": {
			text: "{{- if .On }}\n" + demoHead + "spec:\n  a: 1\n{{- end }}\n",
			want: []string{"apiVersion must stand as literal text outside every if", "kind must stand", "metadata: must stand", "decided in Go"},
		},
		"a computed kind": {
			text: "apiVersion: demo.example.com/v1\nkind: {{ .Text | quote }}\nmetadata:\n  name: {{ .Name | quote }}\n",
			want: []string{"kind must stand as literal text", "kind: Widget"},
		},
		"another kind than the table's": {
			text: "apiVersion: demo.example.com/v1\nkind: Gadget\nmetadata:\n  name: {{ .Name | quote }}\n",
			want: []string{"kind is Gadget, but the table entry says Widget"},
		},
		"another version than the table's": {
			text: "apiVersion: demo.example.com/v2\nkind: Widget\nmetadata:\n  name: {{ .Name | quote }}\n",
			want: []string{"apiVersion is demo.example.com/v2, but the table entry says demo.example.com/v1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fsys := files("")
			fsys[demoFile].Data = []byte(tc.text)
			_, err := New(fsys, demoTable())
			if err == nil {
				t.Fatal("New accepted the template")
			}
			wantError(t, err.Error(), tc.want...)
		})
	}
}
