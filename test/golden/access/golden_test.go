// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"bytes"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/golden"
	"github.com/opendatahub-io/maas-operator/test/internal/apiserver"
	"github.com/opendatahub-io/maas-operator/test/parts"
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
	in := golden.Load[input](t, file)
	return access.Input{
		Tenant: in.Tenant, AcceptKeyHeader: in.AcceptKeyHeader, Settings: in.Settings,
		Labels: map[string]string{"app.kubernetes.io/managed-by": "maas-controller", "app.kubernetes.io/part-of": "models-as-a-service"},
	}
}

// rendered are the objects of a case, as the operator would apply them.
func rendered(t *testing.T, dir string) []*unstructured.Unstructured {
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
	objects, err := parts.Engine(t).RenderAll(append(requests, service))
	if err != nil {
		t.Fatalf("RenderAll() error = %v", err)
	}
	return objects
}

func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, name := range golden.Cases(t, "testdata") {
		dir := filepath.Join("testdata", name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden.YAML(t, filepath.Join(dir, "out.yaml"), golden.Documents(rendered(t, dir))...)
		})
	}
}

// TestTheRealCRDsAccept shows every case to Kuadrant's CRDs and their rules. What the
// API server would store has to be what was sent: a default of its own would have to
// be looked for at each comparison.
func TestTheRealCRDsAccept(t *testing.T) {
	t.Parallel()
	admin := apiserver.Admin(t, testenv.Kuadrant)
	for _, name := range golden.Cases(t, "testdata") {
		for _, object := range rendered(t, filepath.Join("testdata", name)) {
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
