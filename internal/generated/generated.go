// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generated finds the policies that were generated for a model, by their
// labels, and removes them. They carry no owner reference, so the garbage collector
// would not. What the policies say is decided elsewhere.
package generated

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// Deleter deletes the objects of a kind that carry all labels and are ours; those
// that opted out of management stay.
type Deleter interface {
	DeleteAllByLabels(ctx context.Context, kind schema.GroupVersionKind, labels map[string]string, namespace string) ([]apply.Deletion, error)
}

// Labels select the policies of a model in the model's own namespace. The label
// with the namespace is left out: policies of earlier releases lack it. The second
// result is false for a name that is too long for a label: no policy can carry it,
// and the API server refuses to be asked for it.
func Labels(model types.NamespacedName) (map[string]string, bool) {
	if len(validation.IsValidLabelValue(model.Name)) > 0 {
		return nil, false
	}
	return map[string]string{v1alpha1.LabelModel: model.Name, v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}, true
}

// Remove deletes the policies of a model, of both kinds. The result tells what
// became of each; every kind is tried, whatever happens to the other.
func Remove(ctx context.Context, d Deleter, model types.NamespacedName) ([]apply.Deletion, error) {
	labels, ok := Labels(model)
	if !ok {
		return nil, nil
	}
	var all []apply.Deletion
	var errs []error
	for _, kind := range []schema.GroupVersionKind{kuadrant.AuthPolicy, kuadrant.TokenRateLimitPolicy} {
		deletions, err := d.DeleteAllByLabels(ctx, kind, labels, model.Namespace)
		all, errs = append(all, deletions...), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return all, fmt.Errorf("remove the policies of MaaSModelRef %s: %w", model, err)
	}
	return all, nil
}
