// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/finalizer"
)

// settle is for the ExternalModel of the name that does not count: it says so, or may go.
func (r *Reconciler) settle(ctx context.Context, s *scope) error {
	other := s.other()
	switch {
	case other == nil || s.stale:
		return nil
	case other.GetDeletionTimestamp() != nil:
		return r.letGo(ctx, s, other)
	}
	f := external.Facts{Generation: other.GetGeneration()}
	if s.acts {
		f.Replacement = external.BeingReplaced
		if s.theirs.Status.HTTPRouteName != "" {
			f.Replacement = external.Replaced
		}
	} else {
		f.Fields, f.Invalid = s.translation.Fields, s.untranslated
		if f.Invalid == nil {
			var err error
			if f.Refused, err = r.refused(ctx, s.translation.Model); err != nil {
				return err
			}
		}
	}
	before, verdict := copyOf(other), external.Decide(f)
	// Of one that nothing is made for there is nothing else to say.
	verdict.Conditions = slices.DeleteFunc(verdict.Conditions, aside)
	if list := conditionsOf(other); list != nil {
		*list = slices.DeleteFunc(*list, aside)
	}
	return r.tell(ctx, before, other, verdict)
}

// letGo drops the finalizer of the ExternalModel that does not count once nothing is its
// own any more: what the garbage collector would take along serves the other one. What
// somebody opted out of management holds it up for a while only.
func (r *Reconciler) letGo(ctx context.Context, s *scope, other client.Object) error {
	if r.Clock.Since(other.GetDeletionTimestamp().Time) < handOnPatience {
		if left, err := r.leftOf(ctx, s, other); err != nil || left {
			s.lookAgain(handOnAgain)
			return err
		}
	}
	return finalizer.Drop(ctx, r.Client, other, v1alpha1.FinalizerExternalModelCleanup)
}

// made are the kinds of which something is made for a model, and that the cluster serves.
func (s *scope) made() []schema.GroupVersionKind {
	kinds := []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Service")}
	for _, api := range needed() {
		if s.served[api.CRD] {
			kinds = append(kinds, api.GroupKind.WithVersion(api.Versions[0]))
		}
	}
	return kinds
}

// leftOf tells whether anything that was made here is still a model's own.
func (r *Reconciler) leftOf(ctx context.Context, s *scope, model client.Object) (bool, error) {
	for _, kind := range s.made() {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(kind)
		if err := r.Client.List(ctx, &list, client.InNamespace(model.GetNamespace()), client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}); err != nil {
			return false, fmt.Errorf("list %s of ExternalModel %s: %w", kind.Kind, client.ObjectKeyFromObject(model), err)
		}
		for i := range list.Items {
			if metav1.IsControlledBy(&list.Items[i], model) {
				return true, nil
			}
		}
	}
	return false, nil
}

// retire removes what payload processing of an earlier release made for a model of the
// inference group, under the bare name, once what is made here is there, or when the host
// is refused: two routes of one
// model would share its requests, only one of them guarded, and two ServiceEntries of one
// host contradict each other. It is looked for until all of it is gone, for as long as the
// status names that route, and past the cache, which holds the operator's own objects only.
func (r *Reconciler) retire(ctx context.Context, s *scope) error {
	if replaced := s.wanted() && s.route != nil; !s.acts || !replaced && s.facts.Refused == "" {
		return nil
	}
	if former := s.theirs.Status.HTTPRouteName; former == "" || former == s.ownName().Name {
		s.retired = true
		return nil
	}
	for _, kind := range s.made() {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		live, err := fetch.Optional(ctx, r.APIReader, s.key(), object)
		if err != nil {
			return err
		}
		if live == nil || !metav1.IsControlledBy(live, s.theirs) {
			continue
		}
		uid := live.GetUID()
		if err := r.Client.Delete(ctx, live, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %s of an earlier release: %w", nameOf(live), err)
		}
		ctrl.LoggerFrom(ctx).Info("Removing what an earlier release made for an ExternalModel", "objectKind", kind.Kind, "object", live.GetName())
	}
	s.retired = true
	return nil
}
