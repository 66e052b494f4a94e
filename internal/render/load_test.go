// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestNewRefusesFilesAndEntries(t *testing.T) {
	t.Parallel()
	add := func(file string) func(fstest.MapFS, *[]Entry) {
		return func(fsys fstest.MapFS, _ *[]Entry) {
			fsys[file] = &fstest.MapFile{Data: []byte(demoHead)}
		}
	}
	entry := func(change func(*Entry)) func(fstest.MapFS, *[]Entry) {
		return func(_ fstest.MapFS, table *[]Entry) { change(&(*table)[0]) }
	}
	for name, tc := range map[string]struct {
		change func(fstest.MapFS, *[]Entry)
		want   string
	}{
		"a file without an entry": {
			add("demo/widget-two.yaml.tmpl"),
			"template demo/widget-two: no table entry; add one or remove the file",
		},
		"an entry without a file": {
			func(fsys fstest.MapFS, _ *[]Entry) { delete(fsys, demoFile) },
			"template demo/widget-one: file does not exist; add it or remove the table entry",
		},
		"a file with a wrong suffix": {add("demo/widget-two.yaml"), "file demo/widget-two.yaml: name must end in .yaml.tmpl"},
		"a hidden file":              {add("demo/.widget-two.yaml.swp"), "name must end in .yaml.tmpl"},
		"a fragment with a wrong suffix": {
			add("_lib/x.yaml.tmpl"),
			"file _lib/x.yaml.tmpl: name must end in .tpl",
		},
		"a file too deep": {add("demo/x/widget-two.yaml.tmpl"), "lies too deep"},
		"an empty fragment file": {
			func(fsys fstest.MapFS, _ *[]Entry) { fsys["_lib/x.tpl"] = &fstest.MapFile{} },
			"fragment file _lib/x.tpl: defines no fragment",
		},
		"an entry twice":             {func(_ fstest.MapFS, table *[]Entry) { *table = append(*table, (*table)[0]) }, "listed twice"},
		"an id without a component":  {entry(func(e *Entry) { e.ID = "widget-one" }), "id must have the form"},
		"an id of another kind":      {entry(func(e *Entry) { e.ID = "demo/gadget-one" }), `must begin with "widget-"`},
		"an entry without a kind":    {entry(func(e *Entry) { e.GVK = schema.GroupVersionKind{} }), "GVK must have"},
		"an entry without values":    {entry(func(e *Entry) { e.Values = nil }), "zero value of a struct type"},
		"an entry with a pointer":    {entry(func(e *Entry) { e.Values = &demoValues{} }), "zero value of a struct type"},
		"an entry with loose values": {entry(func(e *Entry) { e.Values = struct{ A any }{} }), ".A: interface {} is not permitted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fsys, table := files("spec:\n  a: 1\n"), demoTable()
			tc.change(fsys, &table)
			_, err := New(fsys, table)
			if err == nil {
				t.Fatal("New accepted it")
			}
			wantError(t, err.Error(), tc.want)
		})
	}
}

func TestNewPassesOverWhatIsNoTemplate(t *testing.T) {
	t.Parallel()
	fsys := files("spec:\n  a: 1\n")
	for _, file := range []string{"embed.go", "LOCK", "values/model.go"} {
		fsys[file] = &fstest.MapFile{Data: []byte("x")}
	}
	if _, err := New(fsys, demoTable()); err != nil {
		t.Fatal(err)
	}
}

func TestNewReportsFaultsOfAllFilesInOrder(t *testing.T) {
	t.Parallel()
	table := demoTable()
	table = append(table, Entry{ID: "demo/widget-two", GVK: demoGVK, Values: demoValues{}})
	fsys := files("spec:\n  b: {{ .Text }}\n  a: {{ .Text }}\n")
	fsys["demo/widget-two.yaml.tmpl"] = &fstest.MapFile{Data: []byte(demoHead + "spec:\n  a: {{ if }}\n")}
	_, err := New(fsys, table)
	if err == nil {
		t.Fatal("New accepted it")
	}
	want := "template demo/widget-one line 7: {{.Text}} is emitted as it is; end it in quote (text), int (integers), toJson (booleans) or toYaml | nindent N (maps and lists)\n" +
		"template demo/widget-one line 8: {{.Text}} is emitted as it is; end it in quote (text), int (integers), toJson (booleans) or toYaml | nindent N (maps and lists)\n" +
		"template demo/widget-two line 7: missing value for if"
	if err.Error() != want {
		t.Errorf("error is\n%v\nwant\n%s", err, want)
	}
}

func TestNewRefusesImages(t *testing.T) {
	t.Parallel()
	for name, reference := range map[string]string{
		"an empty reference":        "",
		"a reference without a tag": "quay.io/demo/proxy",
		"a port that is no tag":     "localhost:5000/demo",
		"a reference with a blank":  "quay.io/demo/proxy:1 2",
		"a short digest":            "quay.io/demo/proxy@sha256:abc",
		"a number":                  "1:2",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := New(files("spec:\n  a: 1\n"), demoTable(), WithImages(map[string]string{"proxy": reference}))
			if err == nil {
				t.Fatal("New accepted the reference")
			}
			wantError(t, err.Error(), `image "proxy": reference is empty or malformed`)
		})
	}
}

func TestNewAcceptsImages(t *testing.T) {
	t.Parallel()
	digest := "@sha256:7a8fbf2e7a8fbf2e7a8fbf2e7a8fbf2e7a8fbf2e7a8fbf2e7a8fbf2e7a8fbf2e"
	for _, reference := range []string{
		"quay.io/demo/proxy:1.2", "localhost:5000/a/b_c:latest", "registry.example.com/a" + digest, "quay.io/demo/proxy:v1" + digest,
	} {
		e, err := New(files("spec:\n  a: {{ image \"proxy\" }}\n"), demoTable(), WithImages(map[string]string{"proxy": reference}))
		if err != nil {
			t.Errorf("image %s: %v", reference, err)
			continue
		}
		object, err := e.Render(demoRequest(demoValues{}))
		if err != nil {
			t.Errorf("image %s: %v", reference, err)
			continue
		}
		wantField(t, object, reference, "spec", "a")
	}
}
