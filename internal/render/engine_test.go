// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

const fullBody = `  labels:
    {{- labels .Labels | nindent 4 }}
spec:
  text: {{ .Text | quote }}
  count: {{ .Count | int }}
  items:
    {{- toYaml .Items | nindent 4 }}
  rules:
    {{- toYaml .Rules | nindent 4 }}
  predicate: {{ include "cel.in" . | oneline | quote }}
  blocks:
    {{- range .Blocks }}
    - key: {{ .Key | quote }}
      value: {{ .Value | quote }}
    {{- end }}
`

func fullEngine(tb testing.TB) *Engine {
	tb.Helper()
	return build(tb, fullBody, "cel.tpl", `{{ define "cel.in" }}a in {{ celList .Items }}{{ end }}`)
}

func fullValues() demoValues {
	labels := map[string]string{}
	for key := range strings.SplitSeq("qwertyuiopasdfghjkl", "") {
		labels["example.com/"+key] = key
	}
	return demoValues{
		Text: "text", Count: 2, Labels: labels, Items: []string{"b", "a"}, Rules: `{"z":1,"y":2,"x":[{"w":3,"v":4}]}`,
		Blocks: []demoBlock{{Key: "k", Value: "v"}},
	}
}

// TestRenderIsDeterministic: a hundred renderings by engines built anew, from
// maps filled anew, are byte-equal.
func TestRenderIsDeterministic(t *testing.T) {
	t.Parallel()
	var first string
	for range 4 {
		e := fullEngine(t)
		for range 25 {
			text := renderText(t, e, fullValues())
			if first == "" {
				first = text
			}
			if diff := cmp.Diff(first, text); diff != "" {
				t.Fatalf("text differs from the first rendering (-first +this):\n%s", diff)
			}
		}
	}
}

// renderText returns the text behind an object.
func renderText(tb testing.TB, e *Engine, v demoValues) (rendered string) {
	tb.Helper()
	if err := e.set.execute(string(demoID), demoRequest(v).Values, func(text []byte) error {
		rendered = string(text)
		return nil
	}); err != nil {
		tb.Fatal(err)
	}
	return rendered
}

func TestRenderIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	e := fullEngine(t)
	want, err := e.Render(demoRequest(fullValues()))
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 50 {
				v := fullValues()
				if i%5 == 0 {
					v.Text = "broken\xff" // errors share the traced templates
				}
				got, err := e.Render(demoRequest(v))
				switch {
				case i%5 == 0 && err == nil:
					t.Error("Render accepted broken text")
				case i%5 != 0 && err != nil:
					t.Error(err)
				case i%5 != 0 && !cmp.Equal(want, got):
					t.Errorf("object (-want +got):\n%s", cmp.Diff(want, got))
				}
			}
		})
	}
	group.Wait()
}

func TestRenderedObjectsShareNothing(t *testing.T) {
	t.Parallel()
	e := fullEngine(t)
	first, err := e.Render(demoRequest(fullValues()))
	if err != nil {
		t.Fatal(err)
	}
	first.SetName("changed")
	second, err := e.Render(demoRequest(fullValues()))
	if err != nil {
		t.Fatal(err)
	}
	wantField(t, second, "one", "metadata", "name")
}

func TestEntriesComeInOrderOfApplication(t *testing.T) {
	t.Parallel()
	e := fullEngine(t)
	if diff := cmp.Diff(demoTable(), e.Entries()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	text, err := e.Source(demoID)
	if err != nil || !strings.HasPrefix(text, demoHead) {
		t.Errorf("Source = %q, %v", text, err)
	}
	if _, err := e.Source("cel.in"); err == nil {
		t.Error("Source returned a fragment as a template")
	}
}

// FuzzRender: whatever texts the values hold, the object keeps its structure
// and its texts, and Kubernetes' own reader agrees with ours.
func FuzzRender(f *testing.F) {
	for _, seed := range []string{"", "a", "a\n  labels:\n    evil: \"1\"", "\x00\u2028\"\\", "<nil>", "\xff", "- a: &b *c !!d", "{{ .Name }}", "# x"} {
		f.Add(seed, seed+"x", int32(7))
	}
	e := fullEngine(f)
	f.Fuzz(func(t *testing.T, text, other string, count int32) {
		v := demoValues{
			Text: text, Items: []string{other, text}, Count: count, Rules: "{}",
			Blocks: []demoBlock{{Key: other, Value: text}},
		}
		object, err := e.Render(demoRequest(v))
		if valid := utf8.ValidString(text) && utf8.ValidString(other); (err == nil) != valid {
			t.Fatalf("texts are valid: %t, error: %v", valid, err)
		}
		if err != nil {
			return
		}
		wantField(t, object, map[string]any{"name": "one", "namespace": "ns", "labels": map[string]any{}}, "metadata")
		predicate, _ := object.Object["spec"].(map[string]any)["predicate"].(string)
		wantField(t, object, map[string]any{
			"text": text, "items": []any{other, text}, "count": int64(count), "rules": map[string]any{},
			"blocks": []any{map[string]any{"key": other, "value": text}}, "predicate": predicate,
		}, "spec")
		if diff := cmp.Diff(kubernetesReading(t, renderText(t, e, v)), throughJSON(t, object.Object)); diff != "" {
			t.Errorf("reading (-Kubernetes +ours):\n%s", diff)
		}
	})
}

func BenchmarkRender(b *testing.B) {
	e := fullEngine(b)
	v := fullValues()
	for range 100 {
		v.Items = append(v.Items, "system:serviceaccounts:some-namespace")
		v.Blocks = append(v.Blocks, demoBlock{Key: "a-key", Value: "a value of some length"})
	}
	request := demoRequest(v)
	b.ReportAllocs()
	for b.Loop() {
		object, err := e.Render(request)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := json.Marshal(object.Object); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		fullEngine(b)
	}
}
