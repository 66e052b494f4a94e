// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authpolicy

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	var (
		ready   = item{status: v1alpha1.AuthPolicyRefStatus{ResourceRefStatus: v1alpha1.ResourceRefStatus{Ready: true}}}
		waiting = item{waiting: true}
		broken  = item{}
		missing = item{missing: true}
		refused = item{refused: true}
	)
	tests := map[string]struct {
		items      []item
		wantPhase  v1alpha1.Phase
		wantStatus metav1.ConditionStatus
		wantReason v1alpha1.ConditionReason
	}{
		"no model at all is invalid":          {nil, v1alpha1.PhaseInvalid, metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec},
		"everything enforced is active":       {[]item{ready, ready}, v1alpha1.PhaseActive, metav1.ConditionTrue, v1alpha1.ReasonReconciled},
		"every model missing is failed":       {[]item{missing, missing}, v1alpha1.PhaseFailed, metav1.ConditionFalse, v1alpha1.ReasonReconcileFailed},
		"a missing model degrades the others": {[]item{ready, missing}, v1alpha1.PhaseDegraded, metav1.ConditionFalse, v1alpha1.ReasonPartialFailure},
		"a foreign model degrades the others": {[]item{ready, refused}, v1alpha1.PhaseDegraded, metav1.ConditionFalse, v1alpha1.ReasonPartialFailure},
		"a refused policy degrades":           {[]item{ready, broken}, v1alpha1.PhaseDegraded, metav1.ConditionFalse, v1alpha1.ReasonPartialFailure},
		"a policy not judged yet is pending":  {[]item{ready, waiting}, v1alpha1.PhasePending, metav1.ConditionUnknown, v1alpha1.ReasonUnknown},
		"trouble outranks waiting":            {[]item{waiting, missing}, v1alpha1.PhaseDegraded, metav1.ConditionFalse, v1alpha1.ReasonPartialFailure},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			phase, ready := (&scope{items: test.items}).verdict()
			if phase != test.wantPhase || ready.Status != test.wantStatus || ready.Reason != string(test.wantReason) {
				t.Errorf("verdict() = %s, %s/%s, want %s, %s/%s", phase, ready.Status, ready.Reason, test.wantPhase, test.wantStatus, test.wantReason)
			}
		})
	}
}
