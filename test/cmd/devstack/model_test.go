// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/test/internal/samples"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

func TestModelOfTheSamplesIsFound(t *testing.T) {
	t.Parallel()
	objects, err := samples.Load(filepath.Join(testenv.RepoRoot(), "config", "samples"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := findModel(objects)
	if err != nil {
		t.Fatal(err)
	}
	want := sampleModel{
		Ref: types.NamespacedName{Namespace: "llm", Name: "granite"}, Served: "granite",
		Service: "llm/granite-kserve-workload-svc", Hostname: "maas.example.com",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("model (-want +got):\n%s", diff)
	}
	for i, o := range objects {
		if o.GetKind() != "HTTPRoute" {
			continue
		}
		if _, err := findModel(objects[:i]); err == nil {
			t.Error("a model without a route was found")
		}
	}
}
