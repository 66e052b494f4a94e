// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package addons_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/test/golden"
	"github.com/opendatahub-io/maas-operator/test/internal/apiserver"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// TestARealAPIServerTakesEveryCase applies each case twice: nothing in it is refused, not
// even as a field nobody knows, and the second time nothing is left to do.
func TestARealAPIServerTakesEveryCase(t *testing.T) {
	t.Parallel()
	admin := apiserver.Admin(t, testenv.GatewayAPI, testenv.Kuadrant, testenv.Istio)
	for _, name := range golden.Cases(t, "testdata") {
		for _, on := range platforms() {
			got := build(t, name, on)
			for _, o := range slices.Concat(got.telemetry, got.payload) {
				if err := applyTwice(t.Context(), admin, o); err != nil {
					t.Errorf("%s on %s: %s %s: %v", name, on, o.GetKind(), o.GetName(), err)
				}
			}
		}
	}
}

// applyTwice applies an object, checks that it is settled, and removes it for the next
// case. What is written once is settled by itself.
func applyTwice(ctx context.Context, admin client.Client, o *unstructured.Unstructured) error {
	if o.GetNamespace() != "" {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.GetNamespace()}}
		if err := admin.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create namespace: %w", err)
		}
	}
	if err := admin.Create(ctx, o.DeepCopy(), client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	applier := apply.New(admin, apply.Options{})
	if _, err := applier.Apply(ctx, o); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	again, err := applier.Apply(ctx, o)
	want := apply.Unchanged
	if o.GetAnnotations()["opendatahub.io/managed"] == "false" {
		want = apply.OptedOut
	}
	if err == nil && again.Outcome != want {
		err = errors.New(string(again.Outcome))
	}
	if err != nil {
		return fmt.Errorf("apply again: %w", err)
	}
	return admin.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground))
}
