// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attachment_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/attachment"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

func TestASubscriptionIsUnsettledWhenItsVerdictMoves(t *testing.T) {
	t.Parallel()
	mine := entitlement.ShortID("tenant/s@llm/m")
	waiting := said(judge(nil, subscriber(v1alpha1.ResourceRefStatus{})))
	enforced := v1alpha1.ResourceRefStatus{Ready: true, Reason: v1alpha1.ReasonAcceptedEnforced}
	edited := subscriber(enforced)
	edited.Generation++
	invalid := subscriber(v1alpha1.ResourceRefStatus{Reason: v1alpha1.ReasonInvalidSpec, Message: "No."})
	invalid.Spec.ModelRefs[0].TokenRateLimits = nil
	for name, tc := range map[string]struct {
		policy *unstructured.Unstructured
		s      *v1alpha1.MaaSSubscription
		want   bool
	}{
		"it waits, and is enforced":              {limits(2, "tokens-1-per-1m", mine, nil), subscriber(waiting), false},
		"it is enforced, and stays so":           {limits(2, "tokens-1-per-1m", mine, nil), subscriber(enforced), true},
		"it is enforced, and loses its clause":   {limits(2, "tokens-1-per-1m", "0000000000000000", nil), subscriber(enforced), false},
		"it is enforced, and is overridden":      {unenforced(2, "Overridden"), subscriber(enforced), false},
		"it is enforced, and the policy is gone": {nil, subscriber(enforced), false},
		"its new generation was not looked at":   {limits(2, "tokens-1-per-1m", mine, nil), edited, false},
		"its entry is refused whatever happens":  {limits(2, "tokens-1-per-1m", mine, nil), invalid, true},
		"it is left out": {
			limits(2, "tokens-1-per-1m", "0000000000000000", map[string]string{v1alpha1.AnnotationExcludedSubscriptions: "tenant/s"}), subscriber(waiting), false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := attachment.SettledSubscription(seen(tc.policy), tc.s, ref); got != tc.want {
				t.Errorf("SettledSubscription() = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestThePatienceWithAPolicyEnds(t *testing.T) {
	t.Parallel()
	early := judge(unenforced(2, "Unknown"), subscriber(v1alpha1.ResourceRefStatus{}))
	late := judge(unenforced(2, "InvalidCelExpression"), subscriber(v1alpha1.ResourceRefStatus{}))
	never := judge(nil, subscriber(v1alpha1.ResourceRefStatus{}))
	if got := attachment.Until([]attachment.Reference{never, early, late}); !got.Equal(late.Until) || !late.Until.After(now) {
		t.Errorf("Until() = %s, want %s", got, late.Until)
	}
	if got := attachment.Until([]attachment.Reference{never}); !got.IsZero() {
		t.Errorf("Until() = %s without an end", got)
	}
}
