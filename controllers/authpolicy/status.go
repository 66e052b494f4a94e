// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authpolicy

import (
	"fmt"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
)

// summarise folds the verdicts into phase and Ready.
func (s *scope) summarise() {
	s.policy.Status.ObservedGeneration = s.policy.Generation
	s.policy.Status.AuthPolicies = nil
	for _, i := range s.items {
		s.policy.Status.AuthPolicies = append(s.policy.Status.AuthPolicies, i.status)
	}
	phase, ready := s.verdict()
	s.policy.Status.Phase = phase
	conditions.Set(&s.policy.Status.Conditions, v1alpha1.ConditionReady, s.policy.Generation, ready)
}

// verdict is a function of the items alone, so equal facts give equal words.
// References without effect outrank broken policies, and those outrank waiting.
func (s *scope) verdict() (v1alpha1.Phase, conditions.Value) {
	var lost, broken, waiting []*item
	for n := range s.items {
		switch i := &s.items[n]; {
		case i.missing || i.refused:
			lost = append(lost, i)
		case i.waiting:
			waiting = append(waiting, i)
		case !i.status.Ready:
			broken = append(broken, i)
		}
	}
	switch {
	case len(s.items) == 0:
		return v1alpha1.PhaseInvalid, conditions.False(v1alpha1.ReasonInvalidSpec, "spec is required: name at least one model in spec.modelRefs and one subject in spec.subjects.")
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

func describe(i *item) string {
	return fmt.Sprintf("Model %s/%s: %s", i.status.ModelNamespace, i.status.Model, i.status.Message)
}
