// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kserve_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/internal/kserve"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	namespace = "llm"
	alias     = "publishers/llm/models/granite"
)

// status is what a KServe that routes by body reports.
const status = `{"status":{
  "conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}],
  "url":"https://maas.example.com/llm/granite",
  "addresses":[
    {"name":"gateway-external","url":"https://maas.example.com/llm/granite"},
    {"name":"gateway-external-model-routing","url":"https://maas.example.com/","models":[{"name":"publishers/llm/models/granite"}]}]}}`

func TestSampleUnderEveryCRD(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	env, err := testenv.Start(ctx, testenv.Options{CRDs: []testenv.CRDSet{testenv.KServe}, Log: os.Stderr})
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
	if err := admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatalf("create namespace: %v", err)
	}

	t.Run("pinned", func(t *testing.T) { check(ctx, t, admin) })
	newer, err := filepath.Glob(filepath.Join(testenv.RepoRoot(), "..", "shared", "crds", "*llminferenceservices*.yaml"))
	if err != nil {
		t.Fatalf("look for newer CRDs: %v", err)
	}
	for _, file := range newer {
		if err := env.InstallCRDFiles(ctx, file); err != nil {
			t.Fatalf("install %s: %v", filepath.Base(file), err)
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			if got := check(ctx, t, admin); got.Alias() != alias {
				t.Errorf("alias = %q, want %q", got.Alias(), alias)
			}
		})
	}
}

// check stores the sample in every version the CRD serves and returns how the
// operator reads the last one.
func check(ctx context.Context, t *testing.T, admin client.Client) kserve.Service {
	t.Helper()
	var service kserve.Service
	served := 0
	for _, version := range kserve.Versions() {
		object := sample(t, version)
		if _, err := admin.RESTMapper().RESTMapping(object.GroupVersionKind().GroupKind(), version); err != nil {
			continue
		}
		served++
		if err := admin.Create(ctx, object, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
			t.Fatalf("create the sample as %s: %v", version, err)
		}
		if err := admin.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(status))); err != nil {
			t.Fatalf("report its status as %s: %v", version, err)
		}
		service = kserve.Wrap(object)
		if !service.Readiness().Ready || len(service.Addresses()) != 2 || service.URL() == "" {
			t.Errorf("%s reads as %+v with addresses %v and URL %q", version, service.Readiness(), service.Addresses(), service.URL())
		}
		if err := admin.Delete(ctx, object); err != nil {
			t.Fatalf("delete the sample: %v", err)
		}
	}
	if served == 0 {
		t.Fatal("the CRD serves no version the operator reads")
	}
	return service
}

// sample is the LLMInferenceService of config/samples in a version.
func sample(t *testing.T, version string) *unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(testenv.RepoRoot(), "config", "samples", "llminferenceservice.yaml"))
	if err != nil {
		t.Fatalf("read the sample: %v", err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(raw, &object.Object); err != nil {
		t.Fatalf("decode the sample: %v", err)
	}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: kserve.GroupKind.Group, Version: version, Kind: kserve.GroupKind.Kind})
	return object
}
