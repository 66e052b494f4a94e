// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		want string
	}{
		"nothing":                        {"", "nothing but comments"},
		"comments only":                  {"# a\n\n# b\n", "nothing but comments"},
		"a second document":              {"a: 1\n---\nb: 1\n", "more than one document"},
		"an empty second document":       {"a: 1\n---\n", "more than one document"},
		"a list":                         {"- a\n", "does not render an object"},
		"a scalar":                       {"a\n", "does not render an object"},
		"null alone":                     {"~\n", "null"},
		"broken indentation":             {"a:\n    - b\n  - c\n", "not valid YAML"},
		"a key given twice":              {"a:\n  b: 1\n  b: 2\n", "a: key b is given twice"},
		"a key given twice, quoted once": {"a:\n  b: 1\n  \"b\": 2\n", "a: key <quoted key> is given twice"},
		"a number as key":                {"8080: a\n", "key is not a string"},
		"a list as key":                  {"[a]: b\n", "key is not a string"},
		"a boolean word as key":          {"on: a\n", "on is a boolean or a number to some YAML readers"},
		"null in a map":                  {"a:\n  b:\n  c: 1\n", "a.b: value is null"},
		"null in a list":                 {"a:\n  - ~\n", "a[0]: value is null"},
		"the word null":                  {"a: null\n", "a: value is null"},
		"yes":                            {"a: yes\n", "quote it"},
		"Off":                            {"a: Off\n", "quote it"},
		"y":                              {"a: [y]\n", "a[0]: y is a boolean"},
		"TRUE":                           {"a: TRUE\n", "quote it"},
		"hexadecimal":                    {"a: 0x10\n", "quote it"},
		"octal of YAML 1.1":              {"a: 010\n", "quote it"},
		"octal of YAML 1.2":              {"a: 0o10\n", "quote it"},
		"underscores":                    {"a: 1_000\n", "quote it"},
		"an exponent":                    {"a: 1e3\n", "quote it"},
		"a version that is a float":      {"a: 1.10\n", "quote it"},
		"infinity":                       {"a: .inf\n", "quote it"},
		"a date":                         {"a: 2024-01-01\n", "quote it"},
		"base sixty":                     {"a: 12:30:45\n", "quote it"},
		"an integer beyond 64 bits":      {"a: 18446744073709551615\n", "quote it"},
		"an anchor":                      {"a: &x 1\nb: *x\n", "a: anchor"},
		"a merge key":                    {"a: {b: 1}\n<<: {c: 1}\n", "<key>: << is not plainly a string"},
		"a tag":                          {"a: !!str 1\n", "a: explicit tag"},
		"a missing map value":            {"a: <no value>\n", "renders <no value>"},
		"a nil pointer":                  {"a: \"<nil>\"\n", "renders <nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object, err := decode([]byte(tc.text))
			if err == nil {
				t.Fatalf("decode accepted the text as %v", object)
			}
			wantError(t, err.Error(), tc.want)
		})
	}
}

func TestDecodeNeverShowsQuotedText(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a key given twice": "a:\n  \"secret\": 1\n  \"secret\": 2\n",
		"null below a key":  "a:\n  \"secret\":\n",
		"broken text":       "a: \"secret\n",
		"broken escape":     `a: "secret\q"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := decode([]byte(text))
			if err == nil {
				t.Fatal("decode accepted the text")
			}
			if got := err.Error(); containsFold(got, "secret") {
				t.Errorf("error shows a value: %s", got)
			}
		})
	}
}

func TestDecodeReadsLikeKubernetes(t *testing.T) {
	t.Parallel()
	const text = `# comment
a: 1
b: [true, false, -7, "yes", 'no', plain text, a:b]
c:
  "d": {}
  e/f.g: []
  h: |
    two
    lines
  i: >-
    folded
    text
  j: ""
k: 9223372036854775807
`
	object, err := decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kubernetesReading(t, text), throughJSON(t, object)); diff != "" {
		t.Errorf("reading (-Kubernetes +ours):\n%s", diff)
	}
}

// kubernetesReading decodes YAML as the Kubernetes clients do.
func kubernetesReading(tb testing.TB, text string) any {
	tb.Helper()
	content, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		tb.Fatalf("sigs.k8s.io/yaml refuses the text: %v\n%s", err, text)
	}
	return unmarshal(tb, content)
}

func throughJSON(tb testing.TB, object any) any {
	tb.Helper()
	content, err := json.Marshal(object)
	if err != nil {
		tb.Fatal(err)
	}
	return unmarshal(tb, content)
}

func unmarshal(tb testing.TB, content []byte) any {
	tb.Helper()
	var tree any
	if err := json.Unmarshal(content, &tree); err != nil {
		tb.Fatal(err)
	}
	return tree
}
