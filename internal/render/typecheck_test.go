// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import "testing"

func TestTypeCheckRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body      string
		fragments []string
		want      []string
	}{
		"an unknown field": {
			body: "spec:\n  a: {{ .Nope | quote }}\n",
			want: []string{"template demo/widget-one line 7", "can't use field Nope", "templates/values"},
		},
		"an unknown field in an untaken branch": {
			body: "spec:\n  a: 1\n  {{- if not .Name }}\n  b: {{ .Nope | quote }}\n  {{- end }}\n",
			want: []string{"line 9", "can't use field Nope"},
		},
		"an unknown field in an else branch": {
			body: "spec:\n  {{- if .On }}\n  a: 1\n  {{- else if .Name }}\n  a: 2\n  {{- else }}\n  a: {{ .Nope | quote }}\n  {{- end }}\n",
			want: []string{"line 12", "can't use field Nope"},
		},
		"an unknown field in a loop": {
			body: "spec:\n  a:\n    {{- range .Blocks }}\n    - b: {{ .Nope | quote }}\n    {{- end }}\n",
			want: []string{"line 9", "can't use field Nope in type render.demoBlock"},
		},
		"an unknown field in a condition": {
			body: "spec:\n  {{- if .Nope }}\n  a: 1\n  {{- end }}\n  b: 1\n",
			want: []string{"line 7", "can't use field Nope"},
		},
		"a number piped to quote": {
			body: "spec:\n  a: {{ .Count | quote }}\n",
			want: []string{"line 7", "expected string; found int32", "toString"},
		},
		"a list piped to quote": {
			body: "spec:\n  a: {{ quote .Items }}\n",
			want: []string{"expected string; found []string"},
		},
		"a string as a list": {
			body: "spec:\n  a:\n    {{- range .Text }}\n    - {{ . | quote }}\n    {{- end }}\n",
			want: []string{"range can't iterate over type string"},
		},
		"text as int": {
			body: "spec:\n  a: {{ .Text | int }}\n",
			want: []string{"line 7", "types do not go together: string and int"},
		},
		"a list as int": {
			body: "spec:\n  a: {{ int .Items }}\n",
			want: []string{"types do not go together"},
		},
		"a boolean as toString": {
			body: "spec:\n  a: {{ .On | toString | quote }}\n",
			want: []string{"cannot compare values of type bool"},
		},
		"a struct in printf": {
			body: "spec:\n  a:\n    {{- range .Blocks }}\n    - {{ printf \"%s\" . | quote }}\n    {{- end }}\n",
			want: []string{"line 9", "expected string; found render.demoBlock"},
		},
		"a string for a number in printf": {
			body: "spec:\n  a: {{ printf \"%d\" .Text | quote }}\n",
			want: []string{"types do not go together"},
		},
		"JSON text as a string": {
			body: "spec:\n  a: {{ .Rules | quote }}\n",
			want: []string{"expected string; found render.JSON"},
		},
		"JSON text as CEL": {
			body: "spec:\n  a: {{ celString .Rules | quote }}\n",
			want: []string{"expected string; found render.JSON"},
		},
		"an unknown field of the value of an include": {
			body:      "spec:\n  {{- include \"x\" . | nindent 2 }}\n",
			fragments: []string{"x.tpl", "{{ define \"x\" }}\na: {{ .Nope | quote }}\n{{ end }}"},
			want:      []string{"in _lib/x.tpl line 2", "can't use field Nope", `fragment "x" included at demo/widget-one.yaml.tmpl line 7`},
		},
		"the second of two calls with different types": {
			body:      "spec:\n  {{- include \"x\" . | nindent 2 }}\n  {{- range .Blocks }}\n  {{- include \"x\" . | nindent 2 }}\n  {{- end }}\n",
			fragments: []string{"x.tpl", "{{ define \"x\" }}\na: {{ .Text | quote }}\n{{ end }}"},
			want:      []string{"_lib/x.tpl line 2", "can't use field Text in type render.demoBlock", "widget-one.yaml.tmpl line 9"},
		},
		"a call in a pipeline": {
			body:      "spec:\n  a: {{ .Count | include \"cel.x\" | oneline | quote }}\n",
			fragments: []string{"x.tpl", `{{ define "cel.x" }}a == {{ celString . }}{{ end }}`},
			want:      []string{"_lib/x.tpl line 1", "expected string; found int32"},
		},
		"a call in an argument in an untaken branch": {
			body:      "spec:\n  {{- if false }}\n  a: {{ printf \"%s\" (include \"cel.x\" .Items) | oneline | quote }}\n  {{- end }}\n  b: 1\n",
			fragments: []string{"x.tpl", `{{ define "cel.x" }}a == {{ celString . }}{{ end }}`},
			want:      []string{"expected string; found []string"},
		},
		"a call of a call": {
			body: "spec:\n  {{- range .Blocks }}\n  {{- include \"x\" . | nindent 2 }}\n  {{- end }}\n",
			fragments: []string{
				"x.tpl", "{{ define \"x\" }}\n{{- include \"y\" .Ports | nindent 0 }}\n{{ end }}",
				"y.tpl", "{{ define \"y\" }}\na: {{ .Nope | quote }}\n{{ end }}",
			},
			want: []string{"in _lib/y.tpl line 2", "can't use field Nope", "included at _lib/x.tpl line 2", "from demo/widget-one.yaml.tmpl line 8"},
		},
		"a call with a variable of a loop": {
			body:      "spec:\n  a:\n    {{- range $i, $b := .Blocks }}\n    - {{ include \"cel.x\" $b.Ports | oneline | quote }}\n    {{- end }}\n",
			fragments: []string{"x.tpl", `{{ define "cel.x" }}a in {{ celList . }}{{ end }}`},
			want:      []string{"expected []string; found []int"},
		},
		"a variable of another body": {
			body:      "{{- $x := .Text }}\nspec:\n  a: {{ include \"cel.x\" . | oneline | quote }}\n",
			fragments: []string{"x.tpl", `{{ define "cel.x" }}a == {{ celString $x }}{{ end }}`},
			want:      []string{"_lib/x.tpl line 1", "undefined variable"},
		},
		"a misspelt key of dict": {
			body:      "spec:\n  a: {{ include \"cel.x\" (dict \"User\" .Text) | oneline | quote }}\n",
			fragments: []string{"x.tpl", `{{ define "cel.x" }}{{ if false }}a == {{ celString .Usr }}{{ end }} b{{ end }}`},
			want:      []string{"can't use field Usr"},
		},
		"a number in dict": {
			body:      "spec:\n  a: {{ include \"cel.x\" (dict \"User\" .Count) | oneline | quote }}\n",
			fragments: []string{"x.tpl", `{{ define "cel.x" }}a == {{ celString .User }}{{ end }}`},
			want:      []string{"expected string; found int32"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantError(t, buildError(t, tc.body, tc.fragments...), tc.want...)
		})
	}
}

func TestTypeCheckAcceptsOneFragmentForSeveralTypes(t *testing.T) {
	t.Parallel()
	e := build(t, "spec:\n  a: {{ include \"cel.x\" .Blocks | oneline | quote }}\n  b: {{ include \"cel.x\" .Items | oneline | quote }}\n",
		"x.tpl", `{{ define "cel.x" }}size(a) == {{ len . | int }}{{ end }}`)
	object, err := e.Render(demoRequest(demoValues{Items: []string{"x", "y"}}))
	if err != nil {
		t.Fatal(err)
	}
	wantField(t, object, "size(a) == 0", "spec", "a")
	wantField(t, object, "size(a) == 2", "spec", "b")
}
