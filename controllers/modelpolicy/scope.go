// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
)

// scope holds what one reconcile knows; every fact is read once.
type scope struct {
	ref, before *v1alpha1.MaaSModelRef
	input       model.Input
	output      model.Output
	rendered    []*unstructured.Unstructured
	// placed are those of the rendered objects that are in the cluster as they are.
	placed []*unstructured.Unstructured
	// computed tells that output is what the model should have, if only nothing.
	computed bool
	// optedOut are generated policies that an annotation keeps from us.
	optedOut []string
	// displaced are the kinds of generated policies in whose place Kuadrant enforces
	// others.
	displaced []schema.GroupVersionKind
	// applied and route are what PoliciesApplied and RouteUnique will say.
	applied, route conditions.Value
	// transitions are what the conditions made of the status.
	transitions []conditions.Transition
	// applying is true from the first write on.
	applying bool
	// homeless says why the model's tenant cannot be told: an [apperr.UserError], or
	// nil.
	homeless error
	// stopped ends the phases early, without an error.
	stopped bool
}

func (s *scope) key() types.NamespacedName {
	return types.NamespacedName{Namespace: s.ref.Namespace, Name: s.ref.Name}
}

// abandoned tells whether nothing that is there to stay refers to the model.
func (s *scope) abandoned() bool {
	for _, p := range s.input.AuthPolicies {
		if p.Object.DeletionTimestamp == nil {
			return false
		}
	}
	for _, sub := range s.input.Subscriptions {
		if sub.Object.DeletionTimestamp == nil {
			return false
		}
	}
	return true
}

// stop ends the reconcile with a condition: the user, or another controller,
// has to act, and a watch will wake us.
func (s *scope) stop(reason v1alpha1.ConditionReason, message string) {
	s.stopped = true
	s.applied = conditions.False(reason, message)
}

// report turns an error into the condition and decides whether to try again.
func (s *scope) report(err error) error {
	if err == nil {
		return nil
	}
	if user, ok := apperr.AsUser(err); ok {
		s.applied = conditions.False(user.Reason, user.Message)
		return nil
	}
	if conflict, ok := errors.AsType[*apply.ConflictError](err); ok {
		s.applied = conditions.False(v1alpha1.ReasonForeignObject, conflict.Error())
		return nil
	}
	switch {
	case apierrors.IsConflict(err):
	case errors.Is(err, apply.ErrTerminating):
		s.applied = conditions.False(v1alpha1.ReasonApplyFailed, "A policy is being deleted and waits for finalizers that others put on it. Remove them, so that it can be made anew.")
	case s.applying:
		s.applied = conditions.False(v1alpha1.ReasonApplyFailed, "The cluster refused a policy; see the controller's log. The last good ones stay in place.")
	default:
		s.applied = conditions.Unknown(v1alpha1.ReasonGetFailed, "What the policies depend on could not be read; see the controller's log. Existing policies stay in place.")
	}
	return err
}
