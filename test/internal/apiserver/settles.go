// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
)

// Settles has the API server take an object: nothing in it is refused, not even as a field
// nobody knows, and once it is applied nothing is left to do. What is written once, to be
// changed by others, is left alone from then on. Then it is removed.
func Settles(ctx context.Context, admin client.Client, object *unstructured.Unstructured) error {
	if object.GetNamespace() != "" {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: object.GetNamespace()}}
		if err := admin.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create namespace: %w", err)
		}
	}
	if err := admin.Create(ctx, object.DeepCopy(), client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	applier := apply.New(admin, apply.Options{})
	if _, err := applier.Apply(ctx, object); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	again, err := applier.Apply(ctx, object)
	if err != nil {
		return fmt.Errorf("apply again: %w", err)
	}
	want := apply.Unchanged
	if object.GetAnnotations()[v1alpha1.AnnotationManaged] == "false" {
		want = apply.OptedOut
	}
	if again.Outcome != want {
		return fmt.Errorf("apply again: the object is %s, want %s", again.Outcome, want)
	}
	return admin.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground))
}
