// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

var ref = types.NamespacedName{Namespace: "llm", Name: "m"}

func TestVerdict(t *testing.T) {
	t.Parallel()
	var (
		ready    = item{model: ref, ready: true}
		waiting  = item{model: ref, waiting: true, reason: v1alpha1.ReasonNotEnforced, message: "wait"}
		broken   = item{model: ref, reason: v1alpha1.ReasonNotAccepted, message: "broken"}
		refused  = item{model: ref, refused: true, reason: v1alpha1.ReasonNotFound, message: "missing"}
		unserved = item{model: ref, unserved: true, reason: v1alpha1.ReasonBackendNotReady, message: "no route"}
	)
	tests := map[string]struct {
		items      []item
		wantPhase  v1alpha1.Phase
		wantStatus metav1.ConditionStatus
		wantReason v1alpha1.ConditionReason
	}{
		"no model at all is invalid":          {nil, v1alpha1.PhaseInvalid, metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec},
		"everything enforced is active":       {[]item{ready, ready}, v1alpha1.PhaseActive, metav1.ConditionTrue, v1alpha1.ReasonReconciled},
		"nothing usable is failed":            {[]item{refused, unserved}, v1alpha1.PhaseFailed, metav1.ConditionFalse, v1alpha1.ReasonReconcileFailed},
		"a missing model degrades the others": {[]item{ready, refused}, v1alpha1.PhaseDegraded, metav1.ConditionFalse, v1alpha1.ReasonPartialFailure},
		"a model without a route degrades":    {[]item{ready, unserved}, v1alpha1.PhaseDegraded, metav1.ConditionFalse, v1alpha1.ReasonPartialFailure},
		"a refused policy degrades":           {[]item{ready, broken}, v1alpha1.PhaseDegraded, metav1.ConditionFalse, v1alpha1.ReasonPartialFailure},
		"a policy not judged yet is pending":  {[]item{ready, waiting}, v1alpha1.PhasePending, metav1.ConditionUnknown, v1alpha1.ReasonUnknown},
		"trouble outranks waiting":            {[]item{waiting, refused}, v1alpha1.PhaseDegraded, metav1.ConditionFalse, v1alpha1.ReasonPartialFailure},
		"a refused policy outranks waiting":   {[]item{waiting, broken}, v1alpha1.PhaseDegraded, metav1.ConditionFalse, v1alpha1.ReasonPartialFailure},
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

// enforced is a policy at generation 2 whose status speaks of the given
// generation.
func enforced(observed int64, limitName, clause string) *unstructured.Unstructured {
	p := kuadrant.New(kuadrant.TokenRateLimitPolicy)
	p.SetGeneration(2)
	p.Object["spec"] = map[string]any{"limits": map[string]any{limitName: map[string]any{
		"when": []any{map[string]any{"predicate": "auth.identity.selected_subscription_id == \"" + clause + "\""}},
	}}}
	p.Object["status"] = map[string]any{"observedGeneration": observed, "conditions": []any{
		map[string]any{"type": "Accepted", "status": "True", "reason": "Accepted"},
		map[string]any{"type": "Enforced", "status": "True", "reason": "Enforced"},
	}}
	return p
}

func TestJudge(t *testing.T) {
	t.Parallel()
	const rateSet = "tokens-1-per-1m"
	clause := entitlement.ShortID("tenant/s@llm/m")
	excluded := enforced(2, rateSet, clause)
	excluded.SetAnnotations(map[string]string{v1alpha1.AnnotationExcludedSubscriptions: "tenant/s"})
	was := func(generation int64) v1alpha1.MaaSSubscriptionStatus {
		return v1alpha1.MaaSSubscriptionStatus{ObservedGeneration: generation, TokenRateLimitStatuses: []v1alpha1.TokenRateLimitStatus{{
			ResourceRefStatus: v1alpha1.ResourceRefStatus{Namespace: "llm", Name: "maas-trlp-m", Ready: true}, Model: "m",
		}}}
	}
	tests := map[string]struct {
		policy *unstructured.Unstructured
		before v1alpha1.MaaSSubscriptionStatus
		want   item
	}{
		"enforced with its clause and rates":              {policy: enforced(2, rateSet, clause), want: item{ready: true, reason: v1alpha1.ReasonAcceptedEnforced}},
		"no policy yet":                                   {want: item{waiting: true, reason: v1alpha1.ReasonNotFound}},
		"an older generation is enforced":                 {policy: enforced(1, rateSet, clause), want: item{waiting: true, reason: v1alpha1.ReasonNotAccepted}},
		"enforced, but with other rates":                  {policy: enforced(2, "tokens-2-per-1m", clause), want: item{waiting: true, reason: v1alpha1.ReasonNotFound}},
		"enforced, but without its clause":                {policy: enforced(2, rateSet, "0000000000000000"), want: item{waiting: true, reason: v1alpha1.ReasonNotFound}},
		"left out for want of space":                      {policy: excluded, want: item{refused: true, reason: v1alpha1.ReasonTooManyMembers}},
		"others' changes do not take back what was ready": {policy: enforced(1, rateSet, clause), before: was(5), want: item{ready: true, reason: v1alpha1.ReasonAcceptedEnforced}},
		"a new spec is judged anew":                       {policy: enforced(1, rateSet, clause), before: was(4), want: item{waiting: true, reason: v1alpha1.ReasonNotAccepted}},
		"what was ready is lost when its clause goes":     {policy: enforced(2, rateSet, "0000000000000000"), before: was(5), want: item{waiting: true, reason: v1alpha1.ReasonNotFound}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subscription := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "s", Generation: 5}}
			subscription.Status = test.before
			before := subscription.DeepCopy()
			subscription.Status.RateLimitIdentity = v1alpha1.RateLimitIdentityShort
			s := &scope{subscription: subscription, before: before}
			got := s.judge(item{model: ref}, test.policy, entitlement.RateSet{Name: rateSet})
			got.message, test.want.model = "", ref
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(item{})); diff != "" {
				t.Errorf("judge() (-want +got):\n%s", diff)
			}
		})
	}
}
