// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attachment_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/desired/attachment"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

var ref = types.NamespacedName{Namespace: "llm", Name: "m"}

func TestVerdict(t *testing.T) {
	t.Parallel()
	of := func(states ...attachment.State) []attachment.Reference {
		var out []attachment.Reference
		for _, state := range states {
			out = append(out, attachment.Reference{Model: ref, State: state})
		}
		return out
	}
	tests := map[string]struct {
		references []attachment.Reference
		wantPhase  v1alpha1.Phase
		wantReady  metav1.ConditionStatus
		wantReason v1alpha1.ConditionReason
	}{
		"no model at all is invalid":             {nil, v1alpha1.PhaseInvalid, metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec},
		"everything enforced is active":          {of(attachment.Enforced, attachment.Enforced), v1alpha1.PhaseActive, metav1.ConditionTrue, v1alpha1.ReasonReconciled},
		"nothing usable is failed":               {of(attachment.Lost, attachment.Lost), v1alpha1.PhaseFailed, metav1.ConditionFalse, v1alpha1.ReasonReconcileFailed},
		"one lost model degrades the others":     {of(attachment.Enforced, attachment.Lost), v1alpha1.PhaseDegraded, metav1.ConditionFalse, v1alpha1.ReasonPartialFailure},
		"a policy that is not enforced degrades": {of(attachment.Enforced, attachment.Broken), v1alpha1.PhaseDegraded, metav1.ConditionFalse, v1alpha1.ReasonPartialFailure},
		"a policy not judged yet is pending":     {of(attachment.Waiting, attachment.Waiting), v1alpha1.PhasePending, metav1.ConditionUnknown, v1alpha1.ReasonUnknown},
		"what works goes on while others wait":   {of(attachment.Enforced, attachment.Waiting), v1alpha1.PhaseDegraded, metav1.ConditionUnknown, v1alpha1.ReasonUnknown},
		"what is edited goes on meanwhile":       {[]attachment.Reference{{Model: ref, State: attachment.Waiting, Served: true}}, v1alpha1.PhaseDegraded, metav1.ConditionUnknown, v1alpha1.ReasonUnknown},
		"a lost model outranks waiting":          {of(attachment.Waiting, attachment.Lost), v1alpha1.PhaseDegraded, metav1.ConditionFalse, v1alpha1.ReasonPartialFailure},
		"a broken policy outranks waiting":       {of(attachment.Waiting, attachment.Broken), v1alpha1.PhaseDegraded, metav1.ConditionFalse, v1alpha1.ReasonPartialFailure},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := attachment.Of(test.references, "spec is required")
			want := attachment.Verdict{Phase: test.wantPhase, Ready: test.wantReady, Reason: test.wantReason, Message: got.Message}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Of() (-want +got):\n%s", diff)
			}
			if (got.Message == "") != (got.Ready == metav1.ConditionTrue) {
				t.Errorf("message = %q with Ready=%s: exactly trouble needs words", got.Message, got.Ready)
			}
		})
	}
}

// judged is a policy at generation 2 that was enforced at the given generation.
func judged(kind schema.GroupVersionKind, observed int64) *unstructured.Unstructured {
	p := kuadrant.New(kind)
	p.SetGeneration(2)
	p.Object["status"] = map[string]any{"observedGeneration": observed, "conditions": []any{
		map[string]any{"type": "Accepted", "status": "True", "reason": "Accepted"},
		map[string]any{"type": "Enforced", "status": "True", "reason": "Enforced"},
	}}
	return p
}

// overridden makes the gateway enforce nothing of a policy.
func overridden(policy *unstructured.Unstructured) *unstructured.Unstructured {
	policy.Object["status"].(map[string]any)["conditions"] = []any{
		map[string]any{"type": "Accepted", "status": "True", "reason": "Accepted"},
		map[string]any{"type": "Enforced", "status": "False", "reason": "Overridden"},
	}
	return policy
}

func limits(observed int64, limitName, clause string, annotations map[string]string) *unstructured.Unstructured {
	p := judged(kuadrant.TokenRateLimitPolicy, observed)
	p.SetAnnotations(annotations)
	p.Object["spec"] = map[string]any{"targetRef": target("route"), "limits": map[string]any{limitName: map[string]any{
		"when": []any{map[string]any{"predicate": "auth.identity.selected_subscription_id == \"" + clause + "\""}},
	}}}
	return p
}

// target is a reference to an HTTPRoute.
func target(route string) map[string]any {
	return map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": route}
}

// retarget points a policy at another route.
func retarget(policy *unstructured.Unstructured, route string) *unstructured.Unstructured {
	policy.Object["spec"].(map[string]any)["targetRef"] = target(route)
	return policy
}

// now is when the policies of these tests are looked at.
var now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func seen(policy *unstructured.Unstructured) attachment.Policy {
	return attachment.PolicyOf(policy, now)
}

func routed() *v1alpha1.MaaSModelRef {
	m := &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}}
	m.Status.HTTPRouteName = "route"
	return m
}

func conflicting() *v1alpha1.MaaSModelRef {
	m := routed()
	m.Status.Conditions = []metav1.Condition{{Type: string(v1alpha1.ConditionRouteUnique), Status: metav1.ConditionFalse}}
	return m
}

func optOut(policy *unstructured.Unstructured) *unstructured.Unstructured {
	annotations := policy.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationManaged] = "false"
	policy.SetAnnotations(annotations)
	return policy
}

func going() *v1alpha1.MaaSModelRef {
	m := routed()
	m.DeletionTimestamp = &metav1.Time{}
	return m
}

func TestSubscription(t *testing.T) {
	t.Parallel()
	const rateSet, other = "tokens-1-per-1m", "0000000000000000"
	clause := entitlement.ShortID("tenant/s@llm/m")
	excluded := func(list string) map[string]string {
		return map[string]string{v1alpha1.AnnotationExcludedSubscriptions: list}
	}
	was := func(generation int64) v1alpha1.MaaSSubscriptionStatus {
		return v1alpha1.MaaSSubscriptionStatus{ObservedGeneration: generation, TokenRateLimitStatuses: []v1alpha1.TokenRateLimitStatus{{
			ResourceRefStatus: v1alpha1.ResourceRefStatus{Namespace: "llm", Name: "maas-trlp-m", Ready: true}, Model: "m",
		}}}
	}
	never := v1alpha1.MaaSSubscriptionStatus{}
	foreign := apperr.User(v1alpha1.ReasonForeignTenant, "Not yours.")
	unrouted := &v1alpha1.MaaSModelRef{}
	tests := map[string]struct {
		facts      attachment.Facts
		before     v1alpha1.MaaSSubscriptionStatus
		wantState  attachment.State
		wantReason v1alpha1.ConditionReason
		wantValid  bool
	}{
		"enforced with its clause and rates":              {attachment.Facts{Model: routed(), Policy: seen(limits(2, rateSet, clause, nil))}, was(0), attachment.Enforced, v1alpha1.ReasonAcceptedEnforced, true},
		"the model does not exist":                        {attachment.Facts{}, was(0), attachment.Lost, v1alpha1.ReasonNotFound, false},
		"the model is going":                              {attachment.Facts{Model: going()}, was(0), attachment.Lost, v1alpha1.ReasonNotFound, false},
		"the entry is refused":                            {attachment.Facts{Model: routed(), Refusal: foreign}, was(0), attachment.Lost, v1alpha1.ReasonForeignTenant, false},
		"the model has no route":                          {attachment.Facts{Model: unrouted}, was(0), attachment.Waiting, v1alpha1.ReasonBackendNotReady, true},
		"another model has the route":                     {attachment.Facts{Model: conflicting()}, was(0), attachment.Lost, v1alpha1.ReasonRouteConflict, true},
		"an opted-out policy lacks its clause":            {attachment.Facts{Model: routed(), Policy: seen(optOut(limits(2, rateSet, other, nil)))}, was(0), attachment.Lost, v1alpha1.ReasonOptedOut, true},
		"an opted-out policy that holds its clause":       {attachment.Facts{Model: routed(), Policy: seen(optOut(limits(2, rateSet, clause, nil)))}, was(0), attachment.Enforced, v1alpha1.ReasonAcceptedEnforced, true},
		"no policy yet":                                   {attachment.Facts{Model: routed()}, was(0), attachment.Waiting, v1alpha1.ReasonNotEnforced, true},
		"an older generation is enforced":                 {attachment.Facts{Model: routed(), Policy: seen(limits(1, rateSet, clause, nil))}, never, attachment.Waiting, v1alpha1.ReasonNotEnforced, true},
		"enforced, but with other rates":                  {attachment.Facts{Model: routed(), Policy: seen(limits(2, "tokens-2-per-1m", clause, nil))}, never, attachment.Waiting, v1alpha1.ReasonNotEnforced, true},
		"edited, and its former limits are enforced":      {attachment.Facts{Model: routed(), Policy: seen(limits(2, "tokens-2-per-1m", clause, nil))}, was(4), attachment.Waiting, v1alpha1.ReasonAccepted, true},
		"enforced, but without its clause":                {attachment.Facts{Model: routed(), Policy: seen(limits(2, rateSet, other, nil))}, was(0), attachment.Waiting, v1alpha1.ReasonNotEnforced, true},
		"left out for want of space":                      {attachment.Facts{Model: routed(), Policy: seen(limits(2, rateSet, other, excluded("tenant/s")))}, was(0), attachment.Lost, v1alpha1.ReasonTooManyMembers, false},
		"left out, and the list had no space either":      {attachment.Facts{Model: routed(), Policy: seen(limits(2, rateSet, other, excluded("tenant/a,...")))}, was(0), attachment.Lost, v1alpha1.ReasonTooManyMembers, false},
		"others are left out":                             {attachment.Facts{Model: routed(), Policy: seen(limits(2, rateSet, clause, excluded("tenant/a,...")))}, was(0), attachment.Enforced, v1alpha1.ReasonAcceptedEnforced, true},
		"others' changes do not take back what was ready": {attachment.Facts{Model: routed(), Policy: seen(limits(1, rateSet, clause, nil))}, was(5), attachment.Enforced, v1alpha1.ReasonAcceptedEnforced, true},
		"a new spec is judged anew":                       {attachment.Facts{Model: routed(), Policy: seen(limits(1, rateSet, clause, nil))}, was(4), attachment.Waiting, v1alpha1.ReasonAccepted, true},
		"a policy of another route protects nothing":      {attachment.Facts{Model: routed(), Policy: seen(retarget(limits(2, rateSet, clause, nil), "old"))}, was(5), attachment.Waiting, v1alpha1.ReasonNotEnforced, true},
		"an opted-out policy of another route":            {attachment.Facts{Model: routed(), Policy: seen(optOut(retarget(limits(2, rateSet, clause, nil), "old")))}, was(5), attachment.Lost, v1alpha1.ReasonOptedOut, true},
		"edited, but the policy is not enforced at all":   {attachment.Facts{Model: routed(), Policy: seen(overridden(limits(2, "tokens-2-per-1m", clause, nil)))}, was(4), attachment.Waiting, v1alpha1.ReasonNotEnforced, true},
		"what was ready is lost when its clause goes":     {attachment.Facts{Model: routed(), Policy: seen(limits(2, rateSet, other, nil))}, was(5), attachment.Waiting, v1alpha1.ReasonNotEnforced, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "s", Generation: 5}}
			s.Spec.Owner.Groups = []v1alpha1.GroupReference{{Name: "engineers"}}
			s.Status.RateLimitIdentity = v1alpha1.RateLimitIdentityShort
			test.facts.Key = ref
			got := attachment.OfSubscription(test.facts, s, entitlement.RateSet{Name: rateSet}, test.before)
			want := attachment.Reference{Model: ref, State: test.wantState, Reason: test.wantReason, Valid: test.wantValid, Message: got.Message}
			want.Served = test.wantReason == v1alpha1.ReasonAccepted
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("OfSubscription() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAuthPolicy(t *testing.T) {
	t.Parallel()
	policy := func(observed int64, contributors string, predicates ...any) *unstructured.Unstructured {
		p := judged(kuadrant.AuthPolicy, observed)
		p.SetAnnotations(map[string]string{v1alpha1.AnnotationAuthPolicyGenerations: contributors})
		authorization := map[string]any{}
		if len(predicates) > 0 {
			authorization["subject-allowed"] = map[string]any{"patternMatching": map[string]any{"patterns": predicates}}
		}
		p.Object["spec"] = map[string]any{"targetRef": target("route"), "rules": map[string]any{"authorization": authorization}}
		return p
	}
	alice := map[string]any{"predicate": `x in ["alice"]`}
	edited := policy(2, "tenant/p=4", alice)
	current := policy(2, "tenant/p=5", alice)
	ready := v1alpha1.MaaSAuthPolicyStatus{ObservedGeneration: 5, AuthPolicies: []v1alpha1.AuthPolicyRefStatus{{
		ResourceRefStatus: v1alpha1.ResourceRefStatus{Ready: true}, Model: "m", ModelNamespace: "llm",
	}}}
	tests := map[string]struct {
		facts      attachment.Facts
		wantState  attachment.State
		wantReason v1alpha1.ConditionReason
		groups     []v1alpha1.GroupReference
		nobody     bool
		before     v1alpha1.MaaSAuthPolicyStatus
	}{
		"held in its present generation":         {facts: attachment.Facts{Model: routed(), Policy: seen(current)}, wantState: attachment.Enforced, wantReason: v1alpha1.ReasonAcceptedEnforced},
		"held in an older generation":            {facts: attachment.Facts{Model: routed(), Policy: seen(edited)}, wantState: attachment.Waiting, wantReason: v1alpha1.ReasonNotEnforced},
		"an opted-out policy holds old subjects": {facts: attachment.Facts{Model: routed(), Policy: seen(optOut(policy(2, "tenant/p=4", alice)))}, wantState: attachment.Lost, wantReason: v1alpha1.ReasonOptedOut},
		"others' changes do not take it back":    {facts: attachment.Facts{Model: routed(), Policy: seen(policy(1, "tenant/p=5", alice))}, before: ready, wantState: attachment.Enforced, wantReason: v1alpha1.ReasonAcceptedEnforced},
		"no subject at all":                      {facts: attachment.Facts{Model: routed(), Policy: seen(current)}, nobody: true, wantState: attachment.Lost, wantReason: v1alpha1.ReasonInvalidSpec},
		"only groups nobody can be a member of":  {facts: attachment.Facts{Model: routed(), Policy: seen(current)}, nobody: true, groups: []v1alpha1.GroupReference{{Name: "CN=a,OU=b"}}, wantState: attachment.Lost, wantReason: v1alpha1.ReasonInvalidSpec},
		"one group nobody can be a member of":    {facts: attachment.Facts{Model: routed(), Policy: seen(current)}, groups: []v1alpha1.GroupReference{{Name: "CN=a,OU=b"}}, wantState: attachment.Broken, wantReason: v1alpha1.ReasonInvalidSpec},
		"enforced with its subjects":             {facts: attachment.Facts{Model: routed(), Policy: seen(policy(2, "tenant/p=5", alice))}, wantState: attachment.Enforced, wantReason: v1alpha1.ReasonAcceptedEnforced},
		"enforced without a subjects rule":       {facts: attachment.Facts{Model: routed(), Policy: seen(policy(2, "tenant/p=5"))}, wantState: attachment.Enforced, wantReason: v1alpha1.ReasonAcceptedEnforced},
		"the list of contributors is cut short":  {facts: attachment.Facts{Model: routed(), Policy: seen(policy(2, "tenant/a=1,...", alice))}, wantState: attachment.Enforced, wantReason: v1alpha1.ReasonAcceptedEnforced},
		"not among the contributors yet":         {facts: attachment.Facts{Model: routed(), Policy: seen(policy(2, "tenant/a", alice))}, wantState: attachment.Waiting, wantReason: v1alpha1.ReasonNotEnforced},
		"the rule lacks a subject":               {facts: attachment.Facts{Model: routed(), Policy: seen(policy(2, "tenant/p=5", map[string]any{"predicate": `x in ["bob"]`}))}, wantState: attachment.Waiting, wantReason: v1alpha1.ReasonNotEnforced},
		"not enforced for its generation":        {facts: attachment.Facts{Model: routed(), Policy: seen(policy(1, "tenant/p=5", alice))}, wantState: attachment.Waiting, wantReason: v1alpha1.ReasonNotEnforced},
		"no policy yet":                          {facts: attachment.Facts{Model: routed()}, wantState: attachment.Waiting, wantReason: v1alpha1.ReasonNotEnforced},
		"the model does not exist":               {facts: attachment.Facts{}, wantState: attachment.Lost, wantReason: v1alpha1.ReasonNotFound},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &v1alpha1.MaaSAuthPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "p", Generation: 5}}
			if !test.nobody {
				p.Spec.Subjects.Users = []string{"alice"}
			}
			p.Spec.Subjects.Groups = test.groups
			test.facts.Key = ref
			got := attachment.OfAuthPolicy(test.facts, p, test.before)
			if got.State != test.wantState || got.Reason != test.wantReason {
				t.Errorf("OfAuthPolicy() = %d, %s (%s), want %d, %s", got.State, got.Reason, got.Message, test.wantState, test.wantReason)
			}
		})
	}
}

func TestLimitsWithoutAnAuthPolicySaySo(t *testing.T) {
	t.Parallel()
	m := routed()
	m.Status.Conditions = []metav1.Condition{{Type: string(v1alpha1.ConditionGovernanceAttached), Status: metav1.ConditionFalse, Message: "No MaaSAuthPolicy refers to the model."}}
	p := limits(2, "tokens-1-per-1m", entitlement.ShortID("tenant/s@llm/m"), nil)
	p.Object["status"] = map[string]any{"observedGeneration": int64(2), "conditions": []any{
		map[string]any{"type": "Accepted", "status": "True", "reason": "Accepted"},
		map[string]any{"type": "Enforced", "status": "False", "reason": "InvalidCelExpression", "message": "undeclared reference to 'auth'\nand more"},
	}}
	s := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "s"}}
	s.Spec.Owner.Groups = []v1alpha1.GroupReference{{Name: "engineers"}}
	s.Status.RateLimitIdentity = v1alpha1.RateLimitIdentityShort
	got := attachment.OfSubscription(attachment.Facts{Key: ref, Model: m, Policy: seen(p)}, s, entitlement.RateSet{Name: "tokens-1-per-1m"}, v1alpha1.MaaSSubscriptionStatus{})
	if got.State != attachment.Broken || got.Message != "The limits are not enforced. No MaaSAuthPolicy refers to the model." {
		t.Errorf("OfSubscription() = %d, %q", got.State, got.Message)
	}
}

// unenforced is a policy at generation 2 with the subscription's clause, which
// Kuadrant last refused for the given generation and reason.
func unenforced(observed int64, reason string) *unstructured.Unstructured {
	p := limits(observed, "tokens-1-per-1m", entitlement.ShortID("tenant/s@llm/m"), nil)
	p.Object["status"] = map[string]any{"observedGeneration": observed, "conditions": []any{
		map[string]any{"type": "Accepted", "status": "True", "reason": "Accepted"},
		map[string]any{"type": "Enforced", "status": "False", "reason": reason, "lastTransitionTime": now.Add(-time.Second).Format(time.RFC3339)},
	}}
	return p
}

// subscriber is a subscription to the model whose status says the given.
func subscriber(said v1alpha1.ResourceRefStatus) *v1alpha1.MaaSSubscription {
	s := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "s", Generation: 5}}
	s.Spec.Owner.Groups = []v1alpha1.GroupReference{{Name: "engineers"}}
	s.Spec.ModelRefs = []v1alpha1.ModelSubscription{{Namespace: ref.Namespace, Name: ref.Name, TokenRateLimits: []v1alpha1.TokenRateLimit{{Limit: 1, Window: "1m"}}}}
	said.Namespace = ref.Namespace
	s.Status = v1alpha1.MaaSSubscriptionStatus{
		ObservedGeneration: 5, RateLimitIdentity: v1alpha1.RateLimitIdentityShort,
		TokenRateLimitStatuses: []v1alpha1.TokenRateLimitStatus{{ResourceRefStatus: said, Model: ref.Name}},
	}
	return s
}

func judge(p *unstructured.Unstructured, s *v1alpha1.MaaSSubscription) attachment.Reference {
	return attachment.OfSubscription(attachment.Facts{Key: ref, Model: routed(), Policy: seen(p)}, s, entitlement.RateSet{Name: "tokens-1-per-1m"}, s.Status)
}

func said(r attachment.Reference) v1alpha1.ResourceRefStatus {
	return v1alpha1.ResourceRefStatus{Ready: r.State == attachment.Enforced, Reason: r.Reason, Message: r.Message}
}

func TestWhatWaitsIsDescribedTheSameAllTheWay(t *testing.T) {
	t.Parallel()
	const clause = "0000000000000000"
	mine := entitlement.ShortID("tenant/s@llm/m")
	noStatus := limits(1, "tokens-1-per-1m", mine, nil)
	delete(noStatus.Object, "status")
	first := judge(nil, subscriber(v1alpha1.ResourceRefStatus{}))
	if first.State != attachment.Waiting || first.Message == "" {
		t.Fatalf("without a policy: %+v", first)
	}
	for name, p := range map[string]*unstructured.Unstructured{
		"the policy is that of others":        limits(2, "tokens-1-per-1m", clause, nil),
		"the policy has no status":            noStatus,
		"the policy is judged for others":     limits(1, "tokens-1-per-1m", mine, nil),
		"Kuadrant's components are not ready": unenforced(2, "Unknown"),
		"Kuadrant has not seen both policies": unenforced(2, "InvalidCelExpression"),
	} {
		got := judge(p, subscriber(said(first)))
		got.Until = time.Time{}
		if diff := cmp.Diff(first, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestABusyGatewayLeavesVerdictsAlone(t *testing.T) {
	t.Parallel()
	overridden := judge(unenforced(2, "Overridden"), subscriber(v1alpha1.ResourceRefStatus{}))
	if overridden.State != attachment.Broken {
		t.Fatalf("overridden: %+v", overridden)
	}
	for name, before := range map[string]attachment.Reference{
		"what is enforced":   {State: attachment.Enforced, Reason: v1alpha1.ReasonAcceptedEnforced},
		"what is not":        overridden,
		"what has to be yet": judge(nil, subscriber(v1alpha1.ResourceRefStatus{})),
	} {
		for state, p := range map[string]*unstructured.Unstructured{
			"not judged yet":          limits(1, "tokens-1-per-1m", entitlement.ShortID("tenant/s@llm/m"), nil),
			"only just not in effect": unenforced(2, "Unknown"),
		} {
			s := subscriber(said(before))
			got := judge(p, s)
			if diff := cmp.Diff(said(before), said(got)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, state, diff)
			}
			if !attachment.SettledSubscription(seen(p), s, ref) {
				t.Errorf("%s, %s: looks unsettled", name, state)
			}
		}
	}
}
