// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// JSON stands for values.JSON.
type JSON string

// demoValues is the value type of the templates in these tests.
type demoValues struct {
	Name      string
	Namespace string
	Labels    map[string]string
	Text      string
	Count     int32
	Big       int64
	On        bool
	Items     []string
	Blocks    []demoBlock
	Rules     JSON
}

type demoBlock struct {
	Key   string
	Value string
	Ports []int
}

const (
	demoID   = ID("demo/widget-one")
	demoFile = "demo/widget-one.yaml.tmpl"
	demoHead = "apiVersion: demo.example.com/v1\nkind: Widget\nmetadata:\n  name: {{ .Name | quote }}\n  namespace: {{ .Namespace | quote }}\n"
)

var demoGVK = schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Widget"}

func demoTable() []Entry {
	return []Entry{{ID: demoID, Stage: 1, GVK: demoGVK, Values: demoValues{}}}
}

func demoRequest(v demoValues) Request {
	v.Name, v.Namespace = "one", "ns"
	return Request{ID: demoID, Namespace: "ns", Name: "one", Values: v}
}

// files returns a file system with the demo template, whose body follows the
// head, and fragments given as pairs of file name and text.
func files(body string, fragments ...string) fstest.MapFS {
	fsys := fstest.MapFS{demoFile: {Data: []byte(demoHead + body)}}
	for i := 0; i+1 < len(fragments); i += 2 {
		fsys["_lib/"+fragments[i]] = &fstest.MapFile{Data: []byte(fragments[i+1])}
	}
	return fsys
}

// build returns an engine for the demo template.
func build(tb testing.TB, body string, fragments ...string) *Engine {
	tb.Helper()
	e, err := New(files(body, fragments...), demoTable(), WithImages(map[string]string{"proxy": "quay.io/demo/proxy:1.2"}))
	if err != nil {
		tb.Fatalf("New: %v", err)
	}
	return e
}

// buildError returns the error of an engine that must not be built.
func buildError(tb testing.TB, body string, fragments ...string) string {
	tb.Helper()
	_, err := New(files(body, fragments...), demoTable(), WithImages(map[string]string{"proxy": "quay.io/demo/proxy:1.2"}))
	if err == nil {
		tb.Fatalf("New accepted the template:\n%s", body)
	}
	return err.Error()
}

// wantError checks that an error says everything expected of it.
func wantError(tb testing.TB, got string, want ...string) {
	tb.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			tb.Errorf("error %q\ndoes not say %q", got, w)
		}
	}
}

// wantField checks one field of an object.
func wantField(tb testing.TB, object *unstructured.Unstructured, want any, path ...string) {
	tb.Helper()
	got, found, err := unstructured.NestedFieldNoCopy(object.Object, path...)
	if err != nil || !found {
		tb.Fatalf("field %v: found %v, error %v in\n%v", path, found, err, object.Object)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("field %v (-want +got):\n%s", path, diff)
	}
}

func containsFold(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}
