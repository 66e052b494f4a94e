// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
)

// policyFamilies are the gauges of generated policies.
func policyFamilies() []string {
	return []string{
		"maas_generated_objects", "maas_generated_bytes", "maas_generated_largest_bytes", "maas_limit_sets", "maas_limit_set_members",
		"maas_limit_set_largest_members", "maas_limit_predicate_largest_characters", "maas_auth_policy_largest_subjects",
		"maas_gateway_policies", "maas_gateway_limits", "maas_gateway_policy_bytes",
	}
}

func TestPoliciesAreAddedUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.SetPolicies(key("llm", "a"), key("gateways", "g"), sized(1000, 200, 5, 1))
	f.SetPolicies(key("llm", "b"), key("gateways", "g"), sized(0, 300, 2))
	f.SetPolicies(key("other", "a"), key("gateways", "h"), sized(400, 0, 7))
	f.want(t, `
		maas_generated_objects{kind="AuthPolicy"} 2
		maas_generated_objects{kind="TokenRateLimitPolicy"} 2
		maas_generated_bytes{kind="AuthPolicy"} 1400
		maas_generated_bytes{kind="TokenRateLimitPolicy"} 500
		maas_generated_largest_bytes{kind="AuthPolicy"} 1000
		maas_generated_largest_bytes{kind="TokenRateLimitPolicy"} 300
		maas_limit_sets 3
		maas_limit_set_members 8
		maas_limit_set_largest_members 5
		maas_limit_predicate_largest_characters 50
		maas_auth_policy_largest_subjects 3
		maas_gateway_policies{gateway_name="g",gateway_namespace="gateways"} 3
		maas_gateway_policies{gateway_name="h",gateway_namespace="gateways"} 1
		maas_gateway_limits{gateway_name="g",gateway_namespace="gateways"} 3
		maas_gateway_limits{gateway_name="h",gateway_namespace="gateways"} 0
		maas_gateway_policy_bytes{gateway_name="g",gateway_namespace="gateways"} 1500
		maas_gateway_policy_bytes{gateway_name="h",gateway_namespace="gateways"} 400
	`, policyFamilies()...)
}

func TestPoliciesThatAreGoneDoNotCount(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(fixture){
		"the model is deleted":          func(f fixture) { f.ForgetPolicies(key("llm", "b")) },
		"the last contributor has left": func(f fixture) { f.SetPolicies(key("llm", "b"), key("gateways", "h"), sized(0, 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.SetPolicies(key("llm", "a"), key("gateways", "g"), sized(10, 20, 1))
			f.SetPolicies(key("llm", "b"), key("gateways", "h"), sized(1000, 2000, 9, 9))
			leave(f)
			f.want(t, `
				maas_generated_objects{kind="AuthPolicy"} 1
				maas_generated_objects{kind="TokenRateLimitPolicy"} 1
				maas_generated_bytes{kind="AuthPolicy"} 10
				maas_generated_bytes{kind="TokenRateLimitPolicy"} 20
				maas_generated_largest_bytes{kind="AuthPolicy"} 10
				maas_generated_largest_bytes{kind="TokenRateLimitPolicy"} 20
				maas_limit_sets 1
				maas_limit_set_members 1
				maas_limit_set_largest_members 1
				maas_limit_predicate_largest_characters 10
				maas_auth_policy_largest_subjects 3
				maas_gateway_policies{gateway_name="g",gateway_namespace="gateways"} 2
				maas_gateway_limits{gateway_name="g",gateway_namespace="gateways"} 1
				maas_gateway_policy_bytes{gateway_name="g",gateway_namespace="gateways"} 30
			`, policyFamilies()...)
		})
	}
}

func TestRefusedEntriesAreCountedByReason(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	report := func(name string, reasons ...v1alpha1.ConditionReason) {
		r := f.subscription(name)
		r.References = lost(reasons...)
		f.Reported(r)
	}
	report("gold", v1alpha1.ReasonForeignTenant, v1alpha1.ReasonForeignTenant, v1alpha1.ReasonInvalidSpec)
	report("silver", v1alpha1.ReasonForeignTenant)
	report("bronze", v1alpha1.ReasonTooManyMembers)
	policy := f.subscription("gold")
	policy.Kind, policy.References = v1alpha1.KindMaaSAuthPolicy, lost(v1alpha1.ReasonNotFound)
	f.Reported(policy)
	f.want(t, `
		maas_refused_entries{kind="MaaSAuthPolicy",reason="NotFound"} 1
		maas_refused_entries{kind="MaaSSubscription",reason="ForeignTenant"} 3
		maas_refused_entries{kind="MaaSSubscription",reason="InvalidSpec"} 1
		maas_refused_entries{kind="MaaSSubscription",reason="TooManyMembers"} 1
	`, "maas_refused_entries")

	report("gold", v1alpha1.ReasonInvalidSpec)
	f.Gone(v1alpha1.KindMaaSSubscription, key("tenant", "bronze"))
	f.want(t, `
		maas_refused_entries{kind="MaaSAuthPolicy",reason="NotFound"} 1
		maas_refused_entries{kind="MaaSSubscription",reason="ForeignTenant"} 1
		maas_refused_entries{kind="MaaSSubscription",reason="InvalidSpec"} 1
	`, "maas_refused_entries")
}

// step is one status written for an object.
type step struct {
	after      time.Duration
	generation int64
	before     metrics.Standing
	phase      v1alpha1.Phase
}

func TestEnforcementDelay(t *testing.T) {
	t.Parallel()
	pending, active, degraded := v1alpha1.PhasePending, v1alpha1.PhaseActive, v1alpha1.PhaseDegraded
	unseen := metrics.Standing{}
	at := func(phase v1alpha1.Phase, generation int64) metrics.Standing {
		return metrics.Standing{Phase: phase, ObservedGeneration: generation}
	}
	second := time.Second
	for name, tc := range map[string]struct {
		steps       []step
		wantCount   uint64
		wantSeconds float64
	}{
		"the first generation counts from its creation":                {[]step{{2 * second, 1, unseen, pending}, {3 * second, 1, at(pending, 1), active}}, 1, 5},
		"an object that is enforced at once":                           {[]step{{second, 1, unseen, active}}, 1, 1},
		"one that is not enforced yet":                                 {[]step{{second, 1, unseen, pending}}, 0, 0},
		"a generation is measured once":                                {[]step{{second, 1, unseen, active}, {second, 1, at(active, 1), degraded}, {second, 1, at(degraded, 1), active}}, 1, 1},
		"a status the cache does not show yet":                         {[]step{{second, 1, unseen, active}, {second, 1, unseen, active}}, 1, 1},
		"a later generation counts from when it was seen":              {[]step{{second, 1, unseen, active}, {60 * second, 2, at(active, 1), pending}, {4 * second, 2, at(pending, 2), active}}, 2, 5},
		"a generation that was never enforced gives way":               {[]step{{second, 1, unseen, pending}, {9 * second, 2, at(pending, 1), pending}, {4 * second, 2, at(pending, 2), active}}, 1, 4},
		"a restart, already enforced":                                  {[]step{{second, 1, at(active, 1), active}}, 0, 0},
		"a restart, already enforced, in trouble later":                {[]step{{second, 1, at(active, 1), degraded}, {second, 1, at(degraded, 1), active}}, 0, 0},
		"a restart before the first generation was enforced":           {[]step{{second, 1, at(pending, 1), pending}, {second, 1, at(pending, 1), active}}, 1, 2},
		"a restart before a later one was: nobody knows its age":       {[]step{{second, 5, at(pending, 5), pending}, {second, 5, at(pending, 5), active}}, 0, 0},
		"a change while nobody looked counts from when it was seen":    {[]step{{60 * second, 5, at(active, 4), pending}, {second, 5, at(pending, 5), active}}, 1, 1},
		"a clock behind that of the API server makes no negative time": {[]step{{-2 * second, 1, unseen, active}}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			object := f.subscription("gold").Object
			for _, s := range tc.steps {
				f.pass(s.after)
				object.SetGeneration(s.generation)
				f.Reported(metrics.Report{Kind: v1alpha1.KindMaaSSubscription, Object: object, Before: s.before, After: at(s.phase, s.generation)})
			}
			count, seconds := f.delays(t, v1alpha1.KindMaaSSubscription)
			if count != tc.wantCount || seconds != tc.wantSeconds {
				t.Errorf("%d delays of %g s together, want %d of %g s", count, seconds, tc.wantCount, tc.wantSeconds)
			}
		})
	}
}

func TestARecreatedObjectIsMeasuredAgain(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(fixture){
		"its deletion was seen":     func(f fixture) { f.Gone(v1alpha1.KindMaaSSubscription, key("tenant", "gold")) },
		"its deletion was not seen": func(fixture) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			first := f.subscription("gold")
			first.After.Phase = v1alpha1.PhaseActive
			f.pass(time.Second)
			f.Reported(first)
			between(f)
			second := f.subscription("gold")
			second.After.Phase = v1alpha1.PhaseActive
			second.Object.(*metav1.ObjectMeta).UID = "another"
			f.pass(3 * time.Second)
			f.Reported(second)
			if count, seconds := f.delays(t, v1alpha1.KindMaaSSubscription); count != 2 || seconds != 4 {
				t.Errorf("%d delays of %g s together, want 2 of 4 s", count, seconds)
			}
		})
	}
}
