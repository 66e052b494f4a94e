// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generated finds the policies that were generated for a model, by their
// labels and names, and removes them. They carry no owner reference, so the garbage collector
// would not. What the policies say is decided elsewhere.
package generated

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// Deleter deletes objects that are ours; those that opted out of management stay.
type Deleter interface {
	// Delete deletes one object.
	Delete(ctx context.Context, kind schema.GroupVersionKind, key types.NamespacedName) (apply.Result, error)
	// DeleteAllByLabels deletes the objects of a kind that carry all labels.
	DeleteAllByLabels(ctx context.Context, kind schema.GroupVersionKind, labels map[string]string, namespace string) ([]apply.Deletion, error)
}

// Labels select the policies of a model in the model's own namespace. The label
// with the namespace is left out: policies of earlier releases lack it. The second
// result is false for a name that is too long for a label: no policy can carry it,
// and the API server refuses to be asked for it.
func Labels(ref types.NamespacedName) (map[string]string, bool) {
	if len(validation.IsValidLabelValue(ref.Name)) > 0 {
		return nil, false
	}
	return map[string]string{v1alpha1.LabelModel: ref.Name, v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}, true
}

// Remove deletes the policies of a model, of both kinds: all that carry its labels,
// and the one under the name that its policy has, which may have lost them. The
// result tells what became of each; everything is tried, whatever fails.
func Remove(ctx context.Context, d Deleter, ref types.NamespacedName) ([]apply.Deletion, error) {
	labels, ok := Labels(ref)
	if !ok {
		return nil, nil
	}
	var all []apply.Deletion
	var errs []error
	for _, policy := range []struct {
		kind schema.GroupVersionKind
		name string
	}{
		{kuadrant.AuthPolicy, model.AuthPolicyName(ref.Name)},
		{kuadrant.TokenRateLimitPolicy, model.TokenRateLimitPolicyName(ref.Name)},
	} {
		deletions, err := d.DeleteAllByLabels(ctx, policy.kind, labels, ref.Namespace)
		all, errs = append(all, deletions...), append(errs, err)
		if slices.ContainsFunc(deletions, func(found apply.Deletion) bool { return found.Ref.Name == policy.name }) {
			continue
		}
		deletion, err := removeNamed(ctx, d, policy.kind, types.NamespacedName{Namespace: ref.Namespace, Name: policy.name})
		all, errs = append(all, deletion...), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return all, fmt.Errorf("remove the policies of MaaSModelRef %s: %w", ref, err)
	}
	return all, nil
}

// removeNamed deletes one policy by its name. There is nothing to tell of one that
// does not exist or that somebody else made.
func removeNamed(ctx context.Context, d Deleter, kind schema.GroupVersionKind, key types.NamespacedName) ([]apply.Deletion, error) {
	result, err := d.Delete(ctx, kind, key)
	if result.Outcome == apply.NotFound || result.Outcome == apply.NotOurs {
		return nil, err
	}
	ref := apply.Ref{Group: kind.Group, Kind: kind.Kind, Namespace: key.Namespace, Name: key.Name}
	return []apply.Deletion{{Ref: ref, Outcome: result.Outcome}}, err
}
