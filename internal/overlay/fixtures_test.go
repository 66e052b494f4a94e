// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/opendatahub-io/maas-operator/internal/render"
)

// demoValues is the value type of the template in these tests.
type demoValues struct {
	Name      string
	Namespace string
	Replicas  int
}

const (
	demoID   = render.ID("demo/deployment-server")
	demoFile = "demo/deployment-server.yaml.tmpl"
	demoText = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Name | quote }}
  namespace: {{ .Namespace | quote }}
  labels:
    maas.opendatahub.io/tenant-name: red
spec:
  replicas: {{ .Replicas | int }}
  selector:
    matchLabels:
      app: server
  template:
    metadata:
      labels:
        app: server
    spec:
      containers:
        - name: server
          image: {{ image "server" | quote }}
        - name: proxy
          image: {{ image "server" | quote }}
`
)

// demoBase is a product of one template.
func demoBase() Base {
	return Base{
		Files:  fstest.MapFS{demoFile: {Data: []byte(demoText)}},
		Table:  []render.Entry{{ID: demoID, Stage: 1, GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Values: demoValues{}}},
		Images: map[string]string{"server": "quay.io/demo/server:v1"},
		Scheme: clientgoscheme.Scheme,
	}
}

// demoSample is a request for its object.
func demoSample() render.Request {
	return render.Request{ID: demoID, Namespace: "ns", Name: "server", Values: demoValues{Name: "server", Namespace: "ns", Replicas: 1}}
}

// digestOfDemo is what a replacement of it is pinned to.
func digestOfDemo(tb testing.TB) string {
	tb.Helper()
	engine, err := demoBase().engine()
	if err != nil {
		tb.Fatalf("engine() error = %v", err)
	}
	return engine.Digests()[demoID]
}

// load reads an overlay from pairs of a path and a text.
func load(files ...string) (*Overlay, error) {
	fsys := fstest.MapFS{}
	for i := 0; i+1 < len(files); i += 2 {
		fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return Load(fsys)
}

// verify loads and checks an overlay.
func verify(tb testing.TB, files ...string) Result {
	tb.Helper()
	o, err := load(files...)
	if err != nil {
		tb.Fatalf("Load() error = %v", err)
	}
	result, err := Verify(o, demoBase(), []render.Request{demoSample()})
	if err != nil {
		tb.Fatalf("Verify() error = %v", err)
	}
	return result
}

// replaced is the demo template with a change and the head of a replacement.
func replaced(digest, from, to string) string {
	return Header(demoID, digest) + strings.ReplaceAll(demoText, from, to)
}
