// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenant_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/test/golden"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// TestARealAPIServerTakesEveryCase applies each case twice: nothing in it is refused,
// not even as a field nobody knows, and the second time nothing is left to do.
func TestARealAPIServerTakesEveryCase(t *testing.T) {
	t.Parallel()
	admin := startAPIServer(t)
	applier := apply.New(admin, apply.Options{})
	certManager := false
	for _, name := range golden.Cases(t, "testdata") {
		got := build(t, name)
		objects := slices.Concat(got.tenant, got.aiTenant)
		for _, namespace := range namespaces(objects) {
			if err := admin.Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
				t.Fatalf("create namespace: %v", err)
			}
		}
		for _, o := range objects {
			if o.GetKind() == "Certificate" {
				certManager = true // Its CRD is not at hand.
				continue
			}
			dry := o.DeepCopy()
			if err := admin.Create(t.Context(), dry, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil && !apierrors.IsAlreadyExists(err) {
				t.Errorf("%s: the API server refuses %s %s: %v", name, o.GetKind(), o.GetName(), err)
				continue
			}
			if _, err := applier.Apply(t.Context(), o); err != nil {
				t.Errorf("%s: apply %s %s: %v", name, o.GetKind(), o.GetName(), err)
				continue
			}
			if again, err := applier.Apply(t.Context(), o); err != nil || again.Outcome != apply.Unchanged {
				t.Errorf("%s: apply %s %s again: %s, %v", name, o.GetKind(), o.GetName(), again.Outcome, err)
			}
		}
		for _, o := range objects {
			if err := admin.Delete(t.Context(), o, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil && o.GetKind() != "Certificate" {
				t.Errorf("%s: delete %s %s: %v", name, o.GetKind(), o.GetName(), err)
			}
		}
	}
	if !certManager {
		t.Error("no case has a Certificate")
	}
	t.Run("as what the component table requires", func(t *testing.T) {
		for _, component := range desired.Table() {
			if component.Requires == "" || component.GVK.Kind == "Certificate" {
				continue
			}
			crd := &unstructured.Unstructured{}
			crd.SetAPIVersion("apiextensions.k8s.io/v1")
			crd.SetKind("CustomResourceDefinition")
			if err := admin.Get(t.Context(), client.ObjectKey{Name: component.Requires}, crd); err != nil {
				t.Errorf("%s: %v", component.ID, err)
				continue
			}
			if kind, _, err := unstructured.NestedString(crd.Object, "spec", "names", "kind"); err != nil || kind != component.GVK.Kind {
				t.Errorf("%s requires %s, which is a %s, and renders a %s", component.ID, component.Requires, kind, component.GVK.Kind)
			}
		}
	})
}

// startAPIServer starts a server with the CRDs of the kinds a tenant has.
func startAPIServer(t *testing.T) client.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	env, err := testenv.Start(ctx, testenv.Options{CRDs: []testenv.CRDSet{testenv.GatewayAPI, testenv.Kuadrant, testenv.Istio}, Log: os.Stderr})
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
