// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import "testing"

func TestLintRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body      string
		fragments []string
		want      []string
	}{
		"a bare field": {
			body: "spec:\n  a: {{ .Text }}\n",
			want: []string{"template demo/widget-one line 7", "{{.Text}} is emitted as it is", "quote"},
		},
		"a bare field behind a pipeline": {
			body: "spec:\n  a: {{ .Text | trim }}\n",
			want: []string{"line 7", "ends in trim", "| quote"},
		},
		"a bare variable": {
			body: "{{- $x := .Text }}\nspec:\n  a: {{ $x }}\n",
			want: []string{"line 8", "is emitted as it is"},
		},
		"base64 without quotes": {
			body: "spec:\n  a: {{ .Text | b64enc }}\n",
			want: []string{"ends in b64enc", "add | quote"},
		},
		"a CEL literal as a YAML value": {
			body: "spec:\n  a: {{ celString .Text }}\n",
			want: []string{"ends in celString", "add | quote"},
		},
		"toYaml without a column": {
			body: "spec:\n  a: {{ toYaml .Items }}\n",
			want: []string{"toYaml may write several lines", "nindent N", "toJson"},
		},
		"the whole value": {
			body: "spec:\n  a: {{ toJson . }}\n",
			want: []string{"toJson of the whole value"},
		},
		"the whole value by its variable inside a range": {
			body: "spec:\n  {{- range .Items }}\n  a: {{ $ | toJson }}\n  {{- end }}\n",
			want: []string{"toJson of the whole value"},
		},
		"default": {
			body: "spec:\n  a: {{ .Text | default \"x\" | quote }}\n",
			want: []string{"line 7", "default is not available", "in Go"},
		},
		"env":   {body: "spec:\n  a: {{ env \"PATH\" | quote }}\n", want: []string{"env is not available", "typed field"}},
		"keys":  {body: "spec:\n  a: {{ keys .Labels | toJson }}\n", want: []string{"keys is not available", "sorted"}},
		"index": {body: "spec:\n  a: {{ index .Labels \"x\" | quote }}\n", want: []string{"index is not available"}},
		"tpl in an untaken branch": {
			body: "spec:\n  {{- if false }}\n  a: {{ tpl .Text . | quote }}\n  {{- end }}\n  b: 1\n",
			want: []string{"line 8", "tpl is not available", "use include"},
		},
		"a function nobody knows": {
			body: "spec:\n  a: {{ frobnicate .Text | quote }}\n",
			want: []string{"frobnicate is not available", "celString", "toYaml"},
		},
		"a function without arguments as an argument": {
			body: "spec:\n  a: {{ quote uuidv4 }}\n",
			want: []string{"uuidv4 is not available", "random"},
		},
		"a banned function in a condition": {
			body: "spec:\n  {{- if empty .Text }}\n  a: 1\n  {{- end }}\n  b: 1\n",
			want: []string{"empty is not available"},
		},
		"the template action": {
			body:      "spec:\n  a: {{ template \"x\" . }}\n",
			fragments: []string{"x.tpl", `{{ define "x" }}a: 1{{ end }}`},
			want:      []string{"use include"},
		},
		"a define in an object": {
			body: "spec:\n  a: 1\n{{- define \"x\" }}b{{ end }}\n",
			want: []string{"contains {{ define }}", "_lib"},
		},
		"nindent away from its column": {
			body: "spec:\n  a:\n    {{- toYaml .Items | nindent 6 }}\n",
			want: []string{"line 8", "nindent 6 stands at column 4"},
		},
		"nindent behind a key": {
			body: "spec:\n  a: {{ toYaml .Items | nindent 4 }}\n",
			want: []string{"line 7", "alone on its line"},
		},
		"nindent of a computed column": {
			body: "spec:\n  a:\n    {{- toYaml .Items | nindent (len .Items) }}\n",
			want: []string{"literal number of columns"},
		},
		"nindent of unquoted text": {
			body: "spec:\n  a:\n    {{- .Text | nindent 4 }}\n",
			want: []string{"nindent places text that is not quoted"},
		},
		"nindent of a function that does not write lines": {
			body: "spec:\n  a:\n    {{- .Text | trim | nindent 4 }}\n",
			want: []string{"nindent places the result of trim"},
		},
		"a bare include": {
			body:      "spec:\n  a: {{ include \"x\" . }}\n",
			fragments: []string{"x.tpl", "{{ define \"x\" }}\nb: {{ .Text | quote }}\n{{ end }}"},
			want:      []string{"add | nindent N"},
		},
		"an include by a computed name": {
			body: "spec:\n  a: {{ include .Text . | quote }}\n",
			want: []string{"literal text"},
		},
		"an include in a condition": {
			body:      "spec:\n  {{- if include \"x\" . }}\n  a: 1\n  {{- end }}\n  b: 1\n",
			fragments: []string{"x.tpl", "{{ define \"x\" }}\nb: {{ .Text | quote }}\n{{ end }}"},
			want:      []string{"include in a condition"},
		},
		"an include of nothing": {
			body: "spec:\n  a:\n    {{- include \"nope\" . | nindent 4 }}\n",
			want: []string{`fragment "nope" is not defined`},
		},
		"an unused fragment": {
			body:      "spec:\n  a: 1\n",
			fragments: []string{"x.tpl", "{{ define \"x\" }}\nb: 1\n{{ end }}"},
			want:      []string{"fragment file _lib/x.tpl", "never included"},
		},
		"a fragment that includes itself through another": {
			body: "spec:\n  {{- include \"x\" . | nindent 2 }}\n",
			fragments: []string{
				"x.tpl", "{{ define \"x\" }}\nb:\n  {{- include \"y\" . | nindent 2 }}\n{{ end }}",
				"y.tpl", "{{ define \"y\" }}\nc:\n  {{- include \"x\" . | nindent 2 }}\n{{ end }}",
			},
			want: []string{`fragment "x" includes itself`},
		},
		"a fragment defined twice": {
			body: "spec:\n  {{- include \"x\" . | nindent 2 }}\n",
			fragments: []string{
				"x.tpl", "{{ define \"x\" }}\nb: 1\n{{ end }}",
				"y.tpl", "{{ define \"x\" }}\nc: 1\n{{ end }}",
			},
			want: []string{"already defined in _lib/x.tpl"},
		},
		"text outside a define": {
			body:      "spec:\n  a: 1\n",
			fragments: []string{"x.tpl", "b: 1\n{{ define \"x\" }}\nb: 1\n{{ end }}"},
			want:      []string{"text outside {{ define }}"},
		},
		"an unknown image": {
			body: "spec:\n  a: {{ image \"nope\" }}\n",
			want: []string{`image "nope" is not known`},
		},
		"an image key that is computed": {
			body: "spec:\n  a: {{ image .Text }}\n",
			want: []string{"image needs its key as literal text"},
		},
		"a printf verb that prints anything": {
			body: "spec:\n  a: {{ printf \"%v\" .Text | quote }}\n",
			want: []string{"format permits only"},
		},
		"a printf without enough arguments": {
			body: "spec:\n  a: {{ printf \"%s-%s\" .Text | quote }}\n",
			want: []string{"has 2 verbs, but 1 arguments follow"},
		},
		"a parse error": {
			body: "spec:\n  a: {{ .Text quote | . }}\n",
			want: []string{"template demo/widget-one line 7", "non executable command"},
		},
		"a tab": {body: "spec:\n\ta: 1\n", want: []string{"line 7", "tab"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantError(t, buildError(t, tc.body, tc.fragments...), tc.want...)
		})
	}
}

func TestLintReportsEveryFault(t *testing.T) {
	t.Parallel()
	got := buildError(t, "spec:\n  a: {{ .Text }}\n  b: {{ env \"X\" | quote }}\n   c: 1\n")
	wantError(t, got, "line 7: {{.Text}}", "line 8: function env", "line 9: indented under a key that already has a value")
}

func TestLintOfCELRefuses(t *testing.T) {
	t.Parallel()
	const use = "spec:\n  a: {{ include \"cel.x\" . | oneline | quote }}\n"
	for name, tc := range map[string]struct {
		body     string
		fragment string
		want     string
	}{
		"a value that is not a literal":       {fragment: "a == {{ .Text }}", want: "end it in celString"},
		"a value in YAML quotes":              {fragment: "a == {{ .Text | quote }}", want: "end it in celString"},
		"an action in a string literal":       {fragment: "a == '{{ celString .Text }}'", want: "encloses an action"},
		"a comment":                           {fragment: "a == 1 // one\n&& b", want: "comment in CEL text"},
		"a literal over two lines":            {fragment: "a == 'x\ny'", want: "does not end on its line"},
		"a raw string":                        {fragment: `a == r"\d"`, want: "prefixes and triple quotes"},
		"a triple-quoted string":              {fragment: `a == """x"""`, want: "prefixes and triple quotes"},
		"a prefix in front of a value":        {fragment: "a == r{{ celString .Text }}", want: "touches a name"},
		"a literal against a value":           {fragment: `a == {{ celString .Text }}"x"`, want: "touches a name"},
		"a YAML fragment in CEL":              {fragment: `a == {{ include "y" . }}{{ end }}{{ define "y" }}b: {{ .Text | quote }}`, want: "which is not CEL"},
		"use without oneline":                 {body: "spec:\n  a: {{ include \"cel.x\" . | quote }}\n", fragment: "a", want: "| oneline | quote"},
		"use without quote":                   {body: "spec:\n  a: {{ include \"cel.x\" . }}\n", fragment: "a", want: "| oneline | quote"},
		"use as a block":                      {body: "spec:\n  a:\n    {{- include \"cel.x\" . | nindent 4 }}\n", fragment: "a", want: "| oneline | quote"},
		"use as JSON":                         {body: "spec:\n  a: {{ include \"cel.x\" . | oneline | toJson }}\n", fragment: "a", want: "| oneline | quote"},
		"a variable that was not made a line": {body: "{{- $c := include \"cel.x\" . }}\nspec:\n  a: {{ $c | quote }}\n", fragment: "a", want: "add | oneline"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := tc.body
			if body == "" {
				body = use
			}
			wantError(t, buildError(t, body, "x.tpl", `{{ define "cel.x" }}`+tc.fragment+`{{ end }}`), tc.want)
		})
	}
}

func TestLintAccepts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body      string
		fragments []string
	}{
		"every scalar terminal": {body: `spec:
  text: {{ .Text | quote }}
  other: {{ quote (printf "prefix-%s-%d-%t" .Text .Count .On) }}
  count: {{ .Count | int }}
  big: {{ int64 .Big }}
  enabled: {{ toJson .On }}
  items: {{ .Items | toJson }}
  image: {{ image "proxy" }}
  hash: {{ .Text | sha256sum | trunc 12 | quote }}
`},
		"blocks at their column": {body: `spec:
  labels:
    {{- labels .Labels | nindent 4 }}
  items:
    {{- .Items | toYaml | nindent 4 }}
  rules:
    {{- toYaml .Rules | nindent 4 }}
`},
		"branches and loops on their own lines": {body: `spec:
  {{- if and .On (eq .Text "x") }}
  a: 1
  {{- else if .Items }}
  a: 2
  {{- else }}
  a: 3
  {{- end }}
  blocks:
    {{- range $i, $b := .Blocks }}
    - key: {{ $b.Key | quote }}
      {{- with $b.Ports }}
      ports: {{ toJson . }}
      {{- end }}
    {{- end }}
  map:
    {{- range $k, $v := .Labels }}
    {{ $k | quote }}: {{ $v | quote }}
    {{- end }}
`},
		"comments, block scalars and declarations": {body: `{{- /* a comment with }} and "quotes */}}
{{- $name := printf "%s-x" .Name }}
# a YAML comment
spec:
  a: {{ $name | quote }} # trailing
  script: |
    if x; then
        echo {{ .Text | quote }} # y
    fi
  b:
    - - 1
      - 2
    - c: "d # e"
      f: 'g'
`},
		"YAML fragments": {
			body: "spec:\n  one:\n    {{- include \"block\" (dict \"Key\" .Text \"Value\" \"v\") | nindent 4 }}\n  text: {{ include \"block\" (dict \"Key\" \"a\" \"Value\" .Name) | quote }}\n",
			fragments: []string{"block.tpl", `{{- /* a pair */ -}}
{{ define "block" -}}
{{ .Key | quote }}: {{ .Value | quote }}
{{- end -}}
`},
		},
		"CEL fragments": {
			body: "spec:\n  a: {{ include \"cel.any\" . | oneline | quote }}\n  b: {{ printf \"(%s) && x\" (include \"cel.any\" .) | oneline | quote }}\n",
			fragments: []string{"cel.tpl", `
{{ define "cel.any" }}
  has(auth.identity) &&
  auth.identity.name in {{ celList .Items }}
  {{- range .Blocks }} || {{ include "cel.pair" . }}{{ end }}
  || size(x) > {{ .Count | int }} || y == 'it"s //' || {{ if .On }}true{{ else }}false{{ end }}
{{ end }}
{{ define "cel.pair" }}a[{{ celString .Key }}] == {{ .Value | celString }}{{ end }}
`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := build(t, tc.body, tc.fragments...)
			v := demoValues{
				Text: "x\n\"y", Count: 3, Big: 1 << 40, On: true, Items: []string{"a", "b"}, Rules: `{"b":[1,{"c":"d"}],"a":{}}`,
				Labels: map[string]string{"k": "v"}, Blocks: []demoBlock{{Key: "k", Value: "v", Ports: []int{1}}, {Key: "l"}},
			}
			if _, err := e.Render(demoRequest(v)); err != nil {
				t.Fatalf("Render: %v", err)
			}
		})
	}
}
