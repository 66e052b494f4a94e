// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenant_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/test/golden"
	"github.com/opendatahub-io/maas-operator/test/internal/apiserver"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// TestARealAPIServerTakesEveryCase applies each case twice: nothing in it is refused,
// not even as a field nobody knows, and the second time nothing is left to do.
func TestARealAPIServerTakesEveryCase(t *testing.T) {
	t.Parallel()
	admin := apiserver.Admin(t, testenv.GatewayAPI, testenv.Kuadrant, testenv.Istio)
	certificates := 0
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
				certificates++ // Its CRD is not at hand.
				continue
			}
			if err := applyTwice(t.Context(), admin, o); err != nil {
				t.Errorf("%s: %s %s: %v", name, o.GetKind(), o.GetName(), err)
			}
		}
	}
	if certificates == 0 {
		t.Error("no case has a Certificate")
	}
	checkRequirements(t, admin)
}

// applyTwice applies an object, checks that it is settled, and removes it for the
// next case.
func applyTwice(ctx context.Context, admin client.Client, o *unstructured.Unstructured) error {
	if err := admin.Create(ctx, o.DeepCopy(), client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	applier := apply.New(admin, apply.Options{})
	if _, err := applier.Apply(ctx, o); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	again, err := applier.Apply(ctx, o)
	if err == nil && again.Outcome != apply.Unchanged {
		err = errors.New(string(again.Outcome))
	}
	if err != nil {
		return fmt.Errorf("apply again: %w", err)
	}
	return admin.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground))
}

// checkRequirements compares what the component table requires with what the CRDs
// define.
func checkRequirements(t *testing.T, admin client.Client) {
	t.Helper()
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
}
