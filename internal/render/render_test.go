// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRenderRefuses(t *testing.T) {
	t.Parallel()
	const plainBody = "spec:\n  a: 1\n"
	request := func(change func(*Request, *demoValues)) Request {
		v := demoValues{Name: "one", Namespace: "ns"}
		r := Request{ID: demoID, Namespace: "ns", Name: "one"}
		change(&r, &v)
		if r.Values == nil {
			r.Values = v
		}
		return r
	}
	for name, tc := range map[string]struct {
		body    string
		request Request
		want    string
	}{
		"a template that does not exist": {
			request: request(func(r *Request, _ *demoValues) { r.ID = "demo/widget-two" }),
			want:    "template demo/widget-two: is not in the component table",
		},
		"values of another type": {
			request: request(func(r *Request, _ *demoValues) { r.Values = demoBlock{} }),
			want:    "takes values of type render.demoValues, not render.demoBlock",
		},
		"a pointer to values": {
			request: request(func(r *Request, _ *demoValues) { r.Values = &demoValues{} }),
			want:    "not *render.demoValues",
		},
		"no values": {
			request: Request{ID: demoID, Name: "one"},
			want:    "not <nil>",
		},
		"no name": {
			request: request(func(r *Request, _ *demoValues) { r.Name = "" }),
			want:    "request has no name",
		},
		"another name": {
			request: request(func(_ *Request, v *demoValues) { v.Name = "two" }),
			want:    "metadata.name: is not the name that was requested",
		},
		"another namespace": {
			request: request(func(_ *Request, v *demoValues) { v.Namespace = "kube-system" }),
			want:    "metadata.namespace: is not the namespace that was requested",
		},
		"a namespace on a cluster-scoped object": {
			request: request(func(r *Request, _ *demoValues) { r.Namespace = "" }),
			want:    "metadata.namespace: is not the namespace that was requested",
		},
		"a field of the API server": {
			body:    "  uid: abc\nspec:\n  a: 1\n",
			request: request(func(*Request, *demoValues) {}),
			want:    "metadata.uid: belongs to the API server",
		},
		"a status": {
			body:    plainBody + "status:\n  a: 1\n",
			request: request(func(*Request, *demoValues) {}),
			want:    "status: belongs to the object's controller",
		},
		"a label that is not text": {
			body:    "  labels:\n    a: 1\nspec:\n  a: 1\n",
			request: request(func(*Request, *demoValues) {}),
			want:    "metadata.labels: has a value that is not a string",
		},
		"annotations that are not a map": {
			body:    "  annotations: []\nspec:\n  a: 1\n",
			request: request(func(*Request, *demoValues) {}),
			want:    "metadata.annotations: is not a map",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := tc.body
			if body == "" {
				body = plainBody
			}
			_, err := build(t, body).Render(tc.request)
			if err == nil {
				t.Fatal("Render accepted the request")
			}
			wantError(t, err.Error(), tc.want)
		})
	}
}

func TestRenderStopsAtTheOutputLimit(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"in the object":   "spec:\n  a:\n    {{- toYaml .Items | nindent 4 }}\n",
		"in the fragment": "spec:\n  a:\n    {{- include \"x\" . | nindent 4 }}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fsys := files(body)
			if strings.Contains(body, "include") {
				fsys["_lib/x.tpl"] = &fstest.MapFile{Data: []byte("{{ define \"x\" }}\n{{- range .Items }}\n- a: {{ . | quote }}\n{{- end }}\n{{ end }}")}
			}
			e, err := New(fsys, demoTable(), WithOutputLimit(1000))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Render(demoRequest(demoValues{Items: make([]string, 20)})); err != nil {
				t.Fatalf("a small object: %v", err)
			}
			_, err = e.Render(demoRequest(demoValues{Items: make([]string, 2000)}))
			if err == nil {
				t.Fatal("Render accepted a large object")
			}
			wantError(t, err.Error(), "template demo/widget-one", "larger than the limit")
		})
	}
}

func TestRenderNamesTheLineBehindAFault(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body      string
		fragments []string
		values    demoValues
		want      []string
	}{
		"a computed key given twice": {
			body:   "spec:\n  {{- range .Items }}\n  x: 1\n  {{- end }}\n  {{- range .Items }}\n  {{ . | quote }}: 1\n  {{- end }}\n",
			values: demoValues{Items: []string{"s3cret", "s3cret"}},
			want:   []string{"template demo/widget-one line 8: spec: key x is given twice"},
		},
		"a key left without a value": {
			body:   "spec:\n  labels:\n    {{- toYaml .Items | nindent 4 }}\n  a:\n    {{- range .Blocks }}\n    - b: {{ .Key | quote }}\n    {{- end }}\n  z: 1\n",
			values: demoValues{Items: []string{"1", "2", "3"}},
			want:   []string{"template demo/widget-one line 9: spec.a: value is null; put the key inside"},
		},
		"a fault in a fragment": {
			body:      "spec:\n  {{- include \"x\" . | nindent 2 }}\n",
			fragments: []string{"x.tpl", "{{/* pairs */}}\n{{ define \"x\" }}\na: 1\n{{- range .Items }}\n{{ . | quote }}: 1\n{{- end }}\n{{ end }}"},
			values:    demoValues{Items: []string{"s3cret", "s3cret"}},
			want:      []string{"template demo/widget-one: in _lib/x.tpl line 5: spec: key <quoted key> is given twice"},
		},
		"a failing function in a fragment of a fragment": {
			body: "spec:\n  {{- include \"x\" . | nindent 2 }}\n",
			fragments: []string{
				"x.tpl", "{{ define \"x\" }}\na: 1\nb: {{ include \"cel.y\" . | oneline | quote }}\n{{ end }}",
				"y.tpl", "{{ define \"cel.y\" }}\na ==\n  {{ celString .Text }}\n{{ end }}",
			},
			values: demoValues{Text: "s3cret\xff"},
			want: []string{
				"template demo/widget-one: in _lib/y.tpl line 3: celString .Text: ", "not valid UTF-8",
				"(included from demo/widget-one.yaml.tmpl line 7, _lib/x.tpl line 3)",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := build(t, tc.body, tc.fragments...).Render(demoRequest(tc.values))
			if err == nil {
				t.Fatal("Render accepted the values")
			}
			wantError(t, err.Error(), tc.want...)
			if containsFold(err.Error(), "s3cret") {
				t.Errorf("error shows a value: %v", err)
			}
			var fault *Error
			if !errors.As(err, &fault) || fault.ID != demoID || fault.Line == 0 {
				t.Errorf("error %#v has no id or no line", err)
			}
		})
	}
}

func TestRenderAllSortsAndJoins(t *testing.T) {
	t.Parallel()
	table := []Entry{
		{ID: "b/widget-x", Stage: 1, GVK: demoGVK, Values: demoBlock{}},
		{ID: "a/widget-x", Stage: 2, GVK: demoGVK, Values: demoBlock{}},
		{ID: "a/widget-w", Stage: 2, GVK: demoGVK, Values: demoBlock{}},
	}
	fsys := fstest.MapFS{}
	for _, entry := range table {
		fsys[entry.ID.File()] = &fstest.MapFile{Data: []byte("apiVersion: demo.example.com/v1\nkind: Widget\nmetadata:\n  name: {{ .Key | quote }}\n  namespace: {{ .Value | quote }}\n")}
	}
	e, err := New(fsys, table)
	if err != nil {
		t.Fatal(err)
	}
	request := func(id ID, namespace, name string) Request {
		return Request{ID: id, Namespace: namespace, Name: name, Values: demoBlock{Key: name, Value: namespace}}
	}
	objects, err := e.RenderAll([]Request{
		request("a/widget-x", "n", "c"), request("a/widget-w", "n", "z"), request("a/widget-x", "m", "d"),
		request("a/widget-x", "n", "b"), request("b/widget-x", "n", "a"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range objects {
		got = append(got, object.GetNamespace()+"/"+object.GetName())
	}
	if diff := cmp.Diff([]string{"n/a", "n/z", "m/d", "n/b", "n/c"}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}

	broken := request("b/widget-x", "n", "a")
	broken.Name = "other"
	objects, err = e.RenderAll([]Request{request("a/widget-x", "n", "c"), request("a/widget-w", "n", "c"), broken, {ID: "c/widget-x"}})
	if objects != nil || err == nil {
		t.Fatalf("RenderAll = %v, %v, want no objects and an error", objects, err)
	}
	wantError(t, err.Error(),
		"template b/widget-x: metadata.name: is not",
		"template c/widget-x: is not in the component table",
		"template a/widget-x: renders Widget.demo.example.com n/c, which template a/widget-w renders too")
}

func TestRenderChecksKindsOfTheScheme(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	table := []Entry{{ID: "a/configmap-x", GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Values: demoBlock{}}}
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Key | quote }}\n"
	for name, tc := range map[string]struct{ body, want string }{
		"known fields":     {"data:\n  a: {{ .Value | quote }}\n", ""},
		"an unknown field": {"dota:\n  a: {{ .Value | quote }}\n", `unknown field "dota"`},
		"a wrong type":     {"data: {{ .Value | quote }}\n", "a field has the wrong type"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := New(fstest.MapFS{"a/configmap-x.yaml.tmpl": {Data: []byte(head + tc.body)}}, table, WithScheme(scheme))
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.Render(Request{ID: "a/configmap-x", Name: "x", Values: demoBlock{Key: "x", Value: "s3cret"}})
			if tc.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatal("Render accepted the object")
			}
			wantError(t, err.Error(), "template a/configmap-x: does not fit v1.ConfigMap", tc.want)
			if containsFold(err.Error(), "s3cret") {
				t.Errorf("error shows a value: %v", err)
			}
		})
	}
}
