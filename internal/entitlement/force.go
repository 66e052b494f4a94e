// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// unserving is why a subscription serves no request, or nil. Active and Degraded
// ones do.
func unserving(s *v1alpha1.MaaSSubscription) error {
	if s.DeletionTimestamp != nil {
		return unhealthy(s, deleting)
	}
	switch s.Status.Phase {
	case v1alpha1.PhaseActive, v1alpha1.PhaseDegraded:
		return nil
	case "":
		return unhealthy(s, "subscription is in unreconciled phase (allowed: Active, Degraded)")
	default:
		return unhealthy(s, "subscription is in "+word(s.Status.Phase)+" phase (allowed: Active, Degraded)")
	}
}

// unbindable is why no key can be bound to a subscription, or nil. It may still
// be on its way: beside Active and Degraded ones, Pending ones can.
func unbindable(s *v1alpha1.MaaSSubscription) error {
	if s.DeletionTimestamp != nil {
		return unhealthy(s, deleting)
	}
	switch s.Status.Phase {
	case v1alpha1.PhaseActive, v1alpha1.PhaseDegraded, v1alpha1.PhasePending:
		return nil
	case "":
		return unhealthy(s, "subscription is unreconciled (no status.phase set)")
	default:
		return unhealthy(s, "subscription is in "+word(s.Status.Phase)+" phase (cannot create API keys)")
	}
}

func unhealthy(s *v1alpha1.MaaSSubscription, message string) error {
	return Refusal{Code: CodeModelUnhealthy, Message: message, Phase: s.Status.Phase}
}

// word is a phase that callers may be shown: one of those the API knows.
func word(phase v1alpha1.Phase) string {
	known := []v1alpha1.Phase{
		v1alpha1.PhasePending, v1alpha1.PhaseActive, v1alpha1.PhaseDegraded, v1alpha1.PhaseFailed, v1alpha1.PhaseInvalid,
	}
	if !slices.Contains(known, phase) {
		return "unknown"
	}
	return string(phase)
}

// idle is why a subscription's entry for a model serves no request, or nil. What
// is left out of the model's limits would match none of them and so be
// unlimited: it is refused. ref is the place of the entry in spec.modelRefs;
// model is nil when the tenant has no such model.
func idle(s *v1alpha1.MaaSSubscription, ref int, model *v1alpha1.MaaSModelRef) error {
	if err := unserving(s); err != nil {
		return err
	}
	switch {
	case model == nil:
		return unhealthy(s, modelMissing)
	case model.DeletionTimestamp != nil:
		return unhealthy(s, modelDeleting)
	case meta.IsStatusConditionFalse(model.Status.Conditions, string(v1alpha1.ConditionRouteUnique)):
		return unhealthy(s, modelWithoutRoute)
	case validateEntry(&s.Spec.ModelRefs[ref]) != nil, leftOut(&s.Status, ref, keyOf(&s.Spec.ModelRefs[ref])):
		return unhealthy(s, entryLeftOut)
	case !limited(s, ref, keyOf(&s.Spec.ModelRefs[ref])):
		return unhealthy(s, limitsNotReady)
	default:
		return nil
	}
}

func keyOf(ref *v1alpha1.ModelSubscription) types.NamespacedName {
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
}

// leftOut tells whether the status says that the entry cannot be enforced: it is
// foreign, invalid, or no longer fits.
func leftOut(status *v1alpha1.MaaSSubscriptionStatus, ref int, model types.NamespacedName) bool {
	list := status.ModelRefStatuses
	i := find(len(list), ref, func(i int) bool { return list[i].Namespace == model.Namespace && list[i].Name == model.Name })
	return i >= 0 && !list[i].Ready
}

// limited tells whether the entry's limits are in force. A Degraded subscription
// works for some of its models: its status must name this one as ready. An
// Active one works for all that its status is about, which does not include a
// model that was added since.
func limited(s *v1alpha1.MaaSSubscription, ref int, model types.NamespacedName) bool {
	list := s.Status.TokenRateLimitStatuses
	i := find(len(list), ref, func(i int) bool { return list[i].Namespace == model.Namespace && list[i].Model == model.Name })
	if s.Status.Phase == v1alpha1.PhaseActive {
		return i >= 0 || s.Status.ObservedGeneration >= s.Generation
	}
	return i >= 0 && list[i].Ready
}

// find returns the index of the first item that matches, or -1. Lists of a
// status are in the order of the spec, so the item is most likely at hint.
func find(size, hint int, matches func(int) bool) int {
	if hint < size && matches(hint) {
		return hint
	}
	for i := range size {
		if matches(i) {
			return i
		}
	}
	return -1
}
