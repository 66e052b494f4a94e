// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
)

// summarise folds the verdicts into the per-model entries, phase and Ready.
func (s *scope) summarise() {
	status := &s.subscription.Status
	status.ObservedGeneration = s.subscription.Generation
	status.ModelRefStatuses, status.TokenRateLimitStatuses = nil, nil
	for _, i := range s.items {
		status.ModelRefStatuses = append(status.ModelRefStatuses, i.modelRefStatus())
		status.TokenRateLimitStatuses = append(status.TokenRateLimitStatuses, i.tokenRateLimitStatus())
	}
	phase, ready := s.verdict()
	status.Phase = phase
	conditions.Set(&status.Conditions, v1alpha1.ConditionReady, s.subscription.Generation, ready)
}

// modelRefStatus says whether the entry itself is in order.
func (i item) modelRefStatus() v1alpha1.ModelRefStatus {
	out := v1alpha1.ModelRefStatus{ResourceRefStatus: v1alpha1.ResourceRefStatus{Namespace: i.model.Namespace, Name: i.model.Name}}
	if i.refused {
		out.Reason, out.Message = i.reason, i.message
		return out
	}
	out.Ready, out.Reason = true, v1alpha1.ReasonValid
	return out
}

// tokenRateLimitStatus says whether the gateway enforces its limits.
func (i item) tokenRateLimitStatus() v1alpha1.TokenRateLimitStatus {
	return v1alpha1.TokenRateLimitStatus{
		ResourceRefStatus: v1alpha1.ResourceRefStatus{
			Namespace: i.model.Namespace,
			Name:      model.TokenRateLimitPolicyName(i.model.Name),
			Ready:     i.ready,
			Reason:    i.reason,
			Message:   i.message,
		},
		Model: i.model.Name,
	}
}

// verdict is a function of the items alone, so equal facts give equal words.
// Entries without effect outrank broken policies, and those outrank waiting.
func (s *scope) verdict() (v1alpha1.Phase, conditions.Value) {
	var lost, broken, waiting []*item
	for n := range s.items {
		switch i := &s.items[n]; {
		case i.refused || i.unserved:
			lost = append(lost, i)
		case i.waiting:
			waiting = append(waiting, i)
		case !i.ready:
			broken = append(broken, i)
		}
	}
	switch {
	case len(s.items) == 0:
		return v1alpha1.PhaseInvalid, conditions.False(v1alpha1.ReasonInvalidSpec, "spec is required: name at least one model in spec.modelRefs and one owner in spec.owner.")
	case len(lost) == len(s.items):
		return v1alpha1.PhaseFailed, conditions.False(v1alpha1.ReasonReconcileFailed, describe(lost[0]))
	case len(lost) > 0:
		return v1alpha1.PhaseDegraded, conditions.False(v1alpha1.ReasonPartialFailure, describe(lost[0]))
	case len(broken) > 0:
		return v1alpha1.PhaseDegraded, conditions.False(v1alpha1.ReasonPartialFailure, describe(broken[0]))
	case len(waiting) > 0:
		return v1alpha1.PhasePending, conditions.Unknown(v1alpha1.ReasonUnknown, describe(waiting[0]))
	default:
		return v1alpha1.PhaseActive, conditions.True(v1alpha1.ReasonReconciled, "")
	}
}

func describe(i *item) string { return fmt.Sprintf("Model %s: %s", i.model, i.message) }
