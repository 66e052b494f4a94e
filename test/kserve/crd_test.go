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
	resource  = "serving.kserve.io_llminferenceservices.yaml"
)

// status is what a KServe that routes by body reports.
const status = `{"status":{
  "conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}],
  "url":"https://maas.example.com/llm/granite",
  "addresses":[
    {"name":"gateway-external","url":"https://maas.example.com/llm/granite"},
    {"name":"gateway-external-model-routing","url":"https://maas.example.com/","models":[{"name":"publishers/llm/models/granite"}]}]}}`

func TestSampleUnderThePinnedCRD(t *testing.T) {
	file := filepath.Join(testenv.RepoRoot(), "bin", "crds", string(testenv.KServe), resource)
	if err := testenv.Build(t.Context(), "crds", os.Stderr); err != nil {
		t.Fatalf("collect the CRDs: %v", err)
	}
	check(t, file)
}

func TestSampleUnderNewerCRDs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(newerCRDs(), "*llminferenceservices*.yaml"))
	if err != nil {
		t.Fatalf("look for newer CRDs: %v", err)
	}
	if len(files) == 0 {
		t.Logf("nothing to check: there are no newer CRDs in %s", newerCRDs())
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if got := check(t, file); got.Alias() != alias {
				t.Errorf("alias = %q, want %q", got.Alias(), alias)
			}
		})
	}
}

// newerCRDs is where those that want them tried put CRDs of later versions.
func newerCRDs() string { return filepath.Join(testenv.RepoRoot(), "..", "shared", "crds") }

// start runs an API server that knows one CRD and nothing else: an API server
// that knew another before may serve that one's schema for a moment.
func start(ctx context.Context, t *testing.T, crd string) client.Client {
	t.Helper()
	env, err := testenv.Start(ctx, testenv.Options{Log: os.Stderr})
	if err != nil {
		t.Fatalf("start the API server: %v", err)
	}
	t.Cleanup(func() { //nolint:contextcheck // The end is not bounded by the context of the start.
		if err := env.Stop(); err != nil {
			t.Errorf("stop the API server: %v", err)
		}
	})
	if err := env.InstallCRDFiles(ctx, crd); err != nil {
		t.Fatalf("install %s: %v", filepath.Base(crd), err)
	}
	admin, err := client.New(env.AdminConfig(), client.Options{})
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	if err := admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatalf("create namespace: %v", err)
	}
	return admin
}

// check stores the sample in every version a CRD serves and returns how the
// operator reads the last one.
func check(t *testing.T, crd string) kserve.Service {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	admin := start(ctx, t, crd)
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
