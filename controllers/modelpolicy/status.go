// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
)

// ownConditions are the conditions of a model that this controller writes.
func ownConditions() []v1alpha1.ConditionType {
	return []v1alpha1.ConditionType{
		v1alpha1.ConditionPoliciesApplied, v1alpha1.ConditionRouteUnique,
		v1alpha1.ConditionSubjectsInlined, v1alpha1.ConditionPolicySizeBounded,
	}
}

// setConditions puts this controller's conditions onto the model. Their
// messages name no subscription and no auth policy: whoever may read a model
// need not know its subscribers.
func (s *scope) setConditions() {
	s.set(v1alpha1.ConditionPoliciesApplied, s.applied)
	if s.route.Status != "" {
		s.set(v1alpha1.ConditionRouteUnique, s.route)
	}
	if !s.computed {
		return // What is said of the existing policies still holds.
	}
	if s.output.AuthPolicyHeld == nil {
		s.setOrRemove(s.output.AuthPolicy != nil, v1alpha1.ConditionSubjectsInlined, inlined(s.output))
	}
	s.setOrRemove(len(s.output.Requests()) > 0, v1alpha1.ConditionPolicySizeBounded, bounded(s.output.Sizes))
}

// setOrRemove keeps a condition that only makes sense while there is a policy.
func (s *scope) setOrRemove(wanted bool, kind v1alpha1.ConditionType, value conditions.Value) {
	if wanted {
		s.set(kind, value)
		return
	}
	conditions.Remove(&s.ref.Status.Conditions, kind)
}

// bounded says whether the policies have room for all, and for more.
func bounded(sizes model.Sizes) conditions.Value {
	near := sizes.Near()
	switch {
	case sizes.LeftOut > 0:
		return conditions.False(v1alpha1.ReasonTooManyMembers, "The model has more subscriptions than its TokenRateLimitPolicy can hold: the newest are left out, their own status says so, and their callers are refused. Delete subscriptions that are not needed, or give many of them equal rates.")
	case len(near) > 0:
		return conditions.True(v1alpha1.ReasonSizeNearBound, "The model's policies use most of what they can hold of: "+strings.Join(near, ", ")+". What comes beyond is left out and its callers are refused: delete subscriptions that are not needed, give many of them equal rates, or name groups instead of users.")
	default:
		return conditions.True(v1alpha1.ReasonSizeWithinBounds, "")
	}
}

func inlined(out model.Output) conditions.Value {
	if out.SubjectsInlined {
		return conditions.True(v1alpha1.ReasonSubjectsInlined, "")
	}
	return conditions.False(v1alpha1.ReasonTooManySubjects, "The model's auth policies name more subjects than a gateway policy can carry (256 subjects, 16 KiB), so maas-api alone decides who may call. Use groups instead of users to get below the bound.")
}

func (s *scope) set(kind v1alpha1.ConditionType, value conditions.Value) {
	s.transitions = append(s.transitions, conditions.Set(&s.ref.Status.Conditions, kind, s.ref.Generation, value))
}

// announce records an event for each condition whose status changed. It comes after
// the write: one that is refused is tried again, and would be told again.
func (r *Reconciler) announce(s *scope) {
	for _, t := range s.transitions {
		if !t.Existed() || !t.StatusChanged() {
			continue
		}
		severity := corev1.EventTypeNormal
		if t.After.Status == metav1.ConditionFalse {
			severity = corev1.EventTypeWarning
		}
		note := t.After.Type + ": " + t.After.Message
		if t.After.Message == "" {
			note = t.After.Type + " is " + string(t.After.Status) + "."
		}
		r.Events.Eventf(s.ref, nil, severity, t.After.Reason, string(v1alpha1.ActionReconcile), "%s", conditions.Truncate(note))
	}
}
