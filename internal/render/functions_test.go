// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestAllowListIsExactlyTheDocumentedOne(t *testing.T) {
	t.Parallel()
	want := []string{
		"and", "b64enc", "celList", "celString", "childName", "contains", "dict", "eq", "fail", "ge", "gt",
		"hasPrefix", "hasSuffix", "image", "include", "indent", "int", "int64", "join", "labels", "le", "len", "list",
		"lower", "lt", "ne", "nindent", "not", "oneline", "or", "printf", "quote", "replace", "required",
		"semverCompare", "sha256sum", "sortAlpha", "ternary", "toJson", "toString", "toYaml", "trim", "trimAll",
		"trimPrefix", "trimSuffix", "trunc", "upper",
	}
	fm := functions(nil, nil)
	if diff := cmp.Diff(want, allowedFunctions(fm)); diff != "" {
		t.Errorf("functions (-want +got):\n%s", diff)
	}
	for name := range remedies {
		if _, available := fm[name]; available {
			t.Errorf("function %s is available and has a remedy for being absent", name)
		}
	}
}

func TestFunctionsRender(t *testing.T) {
	t.Parallel()
	v := demoValues{
		Text: "Ab-c", Count: -7, On: true, Items: []string{"b", "a"}, Labels: map[string]string{"z": "1", "a/b": ""},
		Rules: `{"z":[],"b":[1,{"d":"x","c":{}},["y",true]],"a":{"k":{"l":"m"}}}`,
	}
	for name, tc := range map[string]struct {
		value string
		want  any
	}{
		"int of a negative number":        {`.Count | int`, int64(-7)},
		"int64 of a length":               {`len .Items | int64`, int64(2)},
		"toString of a number":            {`.Count | toString | quote`, "-7"},
		"toString of a string":            {`.Text | toString | quote`, "Ab-c"},
		"printf":                          {`printf "%s/%d/%t/100%%" .Text .Count .On | quote`, "Ab-c/-7/true/100%"},
		"quote of a word that is boolean": {`quote "yes"`, "yes"},
		"toJson of a boolean":             {`toJson .On`, true},
		"toJson of a list":                {`toJson .Items`, []any{"b", "a"}},
		"toJson of a map":                 {`toJson .Labels`, map[string]any{"z": "1", "a/b": ""}},
		"sortAlpha and join":              {`.Items | sortAlpha | join "," | quote`, "a,b"},
		"list":                            {`list "x" .Text | toJson`, []any{"x", "Ab-c"}},
		"dict":                            {`dict "x" .Text | toJson`, map[string]any{"x": "Ab-c"}},
		"ternary":                         {`ternary "x" "y" .On | quote`, "x"},
		"ternary of false":                {`ternary "x" "y" (not .On) | quote`, "y"},
		"trunc":                           {`.Text | trunc 2 | quote`, "Ab"},
		"trunc of a short text":           {`.Text | trunc 20 | quote`, "Ab-c"},
		"lower, upper and replace":        {`.Text | lower | upper | replace "B" "x" | quote`, "Ax-C"},
		"trims":                           {`" Ab-c " | trim | trimPrefix "A" | trimSuffix "c" | trimAll "-" | quote`, "b"},
		"predicates":                      {`printf "%t%t%t" (contains "b-" .Text) (hasPrefix "A" .Text) (hasSuffix "x" .Text) | quote`, "truetruefalse"},
		"b64enc":                          {`.Text | b64enc | quote`, "QWItYw=="},
		"sha256sum":                       {`.Text | sha256sum | trunc 8 | quote`, "ae260b46"},
		"semverCompare":                   {`toJson (semverCompare ">=1.2" "v1.3.0")`, true},
		"required":                        {`required "text is needed" .Text | quote`, "Ab-c"},
		"childName":                       {`childName "a" .Namespace | quote`, "a-ns"},
		"image":                           {`image "proxy"`, "quay.io/demo/proxy:1.2"},
		"celString":                       {`celString .Text | quote`, `"Ab-c"`},
		"celList":                         {`celList .Items | quote`, `["b", "a"]`},
		"oneline":                         {`"a\n   && b\n\n" | oneline | quote`, "a && b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object, err := build(t, "spec:\n  a: {{ "+tc.value+" }}\n").Render(demoRequest(v))
			if err != nil {
				t.Fatal(err)
			}
			wantField(t, object, tc.want, "spec", "a")
		})
	}
}

func TestBlocksRender(t *testing.T) {
	t.Parallel()
	e := build(t, `spec:
  rules:
    {{- toYaml .Rules | nindent 4 }}
  labels:
    {{- labels .Labels (dict "b" "2") | nindent 4 }}
  none:
    {{- toYaml .Blocks | nindent 4 }}
  text: |
    {{- toYaml .Items | nindent 4 }}
`)
	object, err := e.Render(demoRequest(demoValues{
		Items: []string{"x", "y"}, Labels: map[string]string{"b": "2", "a": "1"},
		Rules: `{"z":[],"b":[1,{"d":"x","c":{}},["y",true]],"a":{"k":{"l":"m"}}}`,
	}))
	if err != nil {
		t.Fatal(err)
	}
	wantField(t, object, map[string]any{
		"rules": map[string]any{
			"z": []any{},
			"b": []any{int64(1), map[string]any{"d": "x", "c": map[string]any{}}, []any{"y", true}},
			"a": map[string]any{"k": map[string]any{"l": "m"}},
		},
		"labels": map[string]any{"a": "1", "b": "2"},
		"none":   []any{},
		"text":   "- \"x\"\n- \"y\"\n",
	}, "spec")
}

func TestFunctionsRefuse(t *testing.T) {
	t.Parallel()
	secret := demoValues{Text: "s3cret\xff", Items: []string{"s3cret\xff"}, Rules: `{"a": s3cret}`, Labels: map[string]string{"k": "s3cret!"}}
	for name, tc := range map[string]struct {
		value  string
		values demoValues
		want   []string
	}{
		"quote of broken text":                        {`quote .Text`, secret, []string{"line 7", "quote .Text", "not valid UTF-8"}},
		"toJson of broken text":                       {`toJson .Items`, secret, []string{"line 7", "toJson .Items", "not valid UTF-8"}},
		"celString of broken text":                    {`celString .Text | quote`, secret, []string{"line 7", "celString .Text", "not valid UTF-8"}},
		"celList of broken text":                      {`celList .Items | quote`, secret, []string{"line 7", "celList .Items", "not valid UTF-8"}},
		"toJson of a struct":                          {`toJson .Blocks`, demoValues{Blocks: make([]demoBlock, 1)}, []string{"render.demoBlock has no text form"}},
		"toJson of JSON text":                         {`toJson .Rules`, demoValues{Rules: "{}"}, []string{"only toYaml takes it"}},
		"required":                                    {`required "a text is needed" .Text | quote`, demoValues{}, []string{"line 7", "a text is needed"}},
		"fail":                                        {`fail "never here"`, demoValues{}, []string{"line 7", "never here"}},
		"semverCompare":                               {`toJson (semverCompare ">=1" .Text)`, secret, []string{"not a semantic version"}},
		"childName without a part":                    {`childName .Text "x" | quote`, demoValues{}, []string{"no part may be empty"}},
		"childName of a wild text":                    {`childName .Text | quote`, secret, []string{"do not make an object name"}},
		"trunc below zero":                            {`trunc -1 .Text | quote`, demoValues{}, []string{"must not be negative"}},
		"dict with a key twice":                       {`toJson (dict "a" "1" "a" "2")`, demoValues{}, []string{"same key twice"}},
		"dict without a value":                        {`toJson (dict "a")`, demoValues{}, []string{"value for every key"}},
		"oneline of an open string":                   {`"'" | oneline | quote`, demoValues{}, []string{"does not end on its line"}},
		"printf of JSON text in a variable condition": {`.Rules | toString | quote`, demoValues{Rules: "{}"}, []string{"toString takes an integer or a string"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := build(t, "spec:\n  a: {{ "+tc.value+" }}\n").Render(demoRequest(tc.values))
			if err == nil {
				t.Fatal("Render accepted the value")
			}
			wantError(t, err.Error(), append(tc.want, "template demo/widget-one")...)
			if containsFold(err.Error(), "s3cret") {
				t.Errorf("error shows the value: %v", err)
			}
		})
	}
}

func TestBlocksRefuse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		value  string
		values demoValues
		want   string
	}{
		"a label value that is none": {`labels .Labels`, demoValues{Labels: map[string]string{"k": "s3cret!"}}, "value of label k is not a label value"},
		"a label key that is none":   {`labels .Labels`, demoValues{Labels: map[string]string{"s3cret key": "v"}}, "not a qualified name"},
		"labels that contradict":     {`labels .Labels (dict "k" "w")`, demoValues{Labels: map[string]string{"k": "v"}}, "label k is given twice"},
		"JSON that is none":          {`toYaml .Rules`, demoValues{Rules: `{"a": s3cret}`}, "not valid JSON near byte"},
		"JSON with more behind it":   {`toYaml .Rules`, demoValues{Rules: `{} s3cret`}, "text after its end at byte 2"},
		"JSON with null":             {`toYaml .Rules`, demoValues{Rules: `{"a":[null]}`}, "contains null"},
		"JSON with a fraction":       {`toYaml .Rules`, demoValues{Rules: `{"a":1.5}`}, "not a 64-bit integer"},
		"JSON that is empty":         {`toYaml .Rules`, demoValues{}, "not valid JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := build(t, "spec:\n  a:\n    {{- "+tc.value+" | nindent 4 }}\n").Render(demoRequest(tc.values))
			if err == nil {
				t.Fatal("Render accepted the value")
			}
			wantError(t, err.Error(), tc.want, "line 8")
			if containsFold(err.Error(), "s3cret") {
				t.Errorf("error shows the value: %v", err)
			}
		})
	}
}

func TestPrintfRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		format string
		args   []any
	}{
		"a verb without an argument":   {"%s", nil},
		"an argument without a verb":   {"a", []any{"b"}},
		"a number as a string":         {"%s", []any{1}},
		"a string as a number":         {"%d", []any{"1"}},
		"a string as a boolean":        {"%t", []any{"true"}},
		"JSON text":                    {"%s", []any{JSON("{}")}},
		"nil":                          {"%s", []any{nil}},
		"a verb that prints anything":  {"%v", []any{"a"}},
		"a verb with a width":          {"%5d", []any{1}},
		"a format that ends in a verb": {"100%", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := printf(tc.format, tc.args...); err == nil {
				t.Errorf("printf = %q, want an error", got)
			}
		})
	}
}

func TestChildNameIsSafeAndDistinct(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 60)
	first, err := childName(long, "first")
	if err != nil {
		t.Fatal(err)
	}
	second, err := childName(long, "second")
	if err != nil {
		t.Fatal(err)
	}
	if first == second || len(first) > maxName || len(second) > maxName {
		t.Errorf("names %q and %q must differ and have at most %d characters", first, second, maxName)
	}
}

func TestTruncKeepsWholeCharacters(t *testing.T) {
	t.Parallel()
	got, err := trunc(4, "aéé")
	if diff := cmp.Diff("aé", got); diff != "" || err != nil {
		t.Errorf("trunc (-want +got):\n%s, error %v", diff, err)
	}
}

// TestQuoteReadsBack: any valid text is one line of YAML that every reader
// takes for exactly that text.
func TestQuoteReadsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text := anyText().Draw(rt, "text")
		quoted, err := quote(text)
		if err != nil {
			rt.Fatal(err)
		}
		document := "a: " + quoted + "\n"
		if strings.Count(document, "\n") != 1 {
			rt.Fatalf("more than one line: %q", document)
		}
		object, err := decode([]byte(document))
		if err != nil {
			rt.Fatalf("decode %q: %v", document, err)
		}
		if diff := cmp.Diff(map[string]any{"a": text}, object); diff != "" {
			rt.Fatalf("our reading (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]any{"a": text}, kubernetesReading(t, document)); diff != "" {
			rt.Fatalf("Kubernetes' reading (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(text, unmarshal(t, []byte(quoted))); diff != "" {
			rt.Fatalf("reading as JSON (-want +got):\n%s", diff)
		}
	})
}

// TestToYAMLReadsBack: any map and list of texts survives, at any column.
func TestToYAMLReadsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		const maxKey = 100 // YAML bounds the length of a key
		in := rapid.MapOfN(anyText().Filter(func(s string) bool { return len(s) < maxKey }), anyText(), 0, 4).Draw(rt, "map")
		text, err := toYAML(in)
		if err != nil {
			rt.Fatal(err)
		}
		document := "a:\n    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
		want := map[string]any{}
		for k, v := range in {
			want[k] = v
		}
		object, err := decode([]byte(document))
		if err != nil {
			rt.Fatalf("decode %q: %v", document, err)
		}
		if diff := cmp.Diff(map[string]any{"a": want}, object); diff != "" {
			rt.Fatalf("reading of %q (-want +got):\n%s", document, diff)
		}
	})
}

// anyText generates valid UTF-8, mostly of characters that hurt.
func anyText() *rapid.Generator[string] {
	nasty := rapid.SampledFrom([]rune("\x00\x01\t\n\r\"'\\`:#-?&*!|>%@{}[],<~ \u007f\u0085\u00a0\u2028\u2029\ufeff\ufffd\ufffe\U0001f600\U0010ffff$azAZ09_"))
	return rapid.StringOf(rapid.OneOf(nasty, nasty, rapid.Rune()))
}
