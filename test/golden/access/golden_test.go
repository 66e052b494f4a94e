// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/images"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates"
	"github.com/opendatahub-io/maas-operator/test/golden"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// input is the shape of a case's in.yaml.
type input struct {
	Tenant          tenancy.Context `json:"tenant"`
	AcceptKeyHeader bool            `json:"acceptKeyHeader"`
	Settings        access.Settings `json:"settings"`
}

func load(t *testing.T, file string) access.Input {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read case: %v", err)
	}
	var in input
	if err := yaml.UnmarshalStrict(raw, &in); err != nil {
		t.Fatalf("decode %s: %v", file, err)
	}
	return access.Input{
		Tenant: in.Tenant, AcceptKeyHeader: in.AcceptKeyHeader, Settings: in.Settings,
		Labels: map[string]string{"app.kubernetes.io/managed-by": "maas-controller", "app.kubernetes.io/part-of": "models-as-a-service"},
	}
}

// rendered are the objects of a case, as the operator would apply them.
func rendered(t *testing.T, e *render.Engine, dir string) []*unstructured.Unstructured {
	t.Helper()
	in := load(t, filepath.Join(dir, "in.yaml"))
	requests, err := access.Guard(in)
	if err != nil {
		t.Fatalf("Guard() error = %v", err)
	}
	service, err := access.MaaSAPIPolicy(in)
	if err != nil {
		t.Fatalf("MaaSAPIPolicy() error = %v", err)
	}
	objects, err := e.RenderAll(append(requests, service))
	if err != nil {
		t.Fatalf("RenderAll() error = %v", err)
	}
	return objects
}

func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for _, name := range golden.Cases(t, "testdata") {
		dir := filepath.Join("testdata", name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var objects []any
			for _, object := range rendered(t, e, dir) {
				objects = append(objects, object)
			}
			golden.YAML(t, filepath.Join(dir, "out.yaml"), objects...)
		})
	}
}

// TestTheRealCRDsAccept shows every case to Kuadrant's CRDs and their rules. What the
// API server would store has to be what was sent: a default of its own would have to
// be looked for at each comparison.
func TestTheRealCRDsAccept(t *testing.T) {
	t.Parallel()
	admin, e := startAPIServer(t), engine(t)
	for _, name := range golden.Cases(t, "testdata") {
		for _, object := range rendered(t, e, filepath.Join("testdata", name)) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: object.GetNamespace()}}
			if err := client.IgnoreAlreadyExists(admin.Create(t.Context(), namespace)); err != nil {
				t.Fatalf("create namespace: %v", err)
			}
			sent := object.DeepCopy()
			if err := admin.Create(t.Context(), object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
				t.Errorf("%s: the API server refuses %s %s: %v", name, object.GetKind(), object.GetName(), err)
				continue
			}
			want, err := golden.Marshal(sent.Object["spec"])
			if err != nil {
				t.Fatal(err)
			}
			got, err := golden.Marshal(object.Object["spec"])
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s: %s %s would be stored as\n%s", name, object.GetKind(), object.GetName(), got)
			}
		}
	}
}

func startAPIServer(t *testing.T) client.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	env, err := testenv.Start(ctx, testenv.Options{CRDs: []testenv.CRDSet{testenv.Kuadrant}, Log: os.Stderr})
	if err != nil {
		t.Fatalf("start the API server: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop the API server: %v", err)
		}
	})
	admin, err := client.New(env.AdminConfig(), client.Options{})
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	return admin
}

// engine renders the templates.
func engine(t *testing.T) *render.Engine {
	t.Helper()
	e, err := render.New(templates.FS, desired.Components(), render.WithImages(images.Development()))
	if err != nil {
		t.Fatalf("render.New() error = %v", err)
	}
	return e
}
