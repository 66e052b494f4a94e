// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// policy is a generated policy at generation 3 with the given status.
func policy(status map[string]any) *unstructured.Unstructured {
	p := kuadrant.New(kuadrant.TokenRateLimitPolicy)
	p.SetGeneration(3)
	if status != nil {
		p.Object["status"] = status
	}
	return p
}

func condition(kind, status, reason string) map[string]any {
	return map[string]any{"type": kind, "status": status, "reason": reason, "message": "because"}
}

func statusOf(observed int64, conditions ...any) map[string]any {
	return map[string]any{"observedGeneration": observed, "conditions": conditions}
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	since := func(ago time.Duration, c map[string]any) map[string]any {
		c["lastTransitionTime"] = now.Add(-ago).Format(time.RFC3339)
		return c
	}
	accepted, enforced := condition("Accepted", "True", "Accepted"), condition("Enforced", "True", "Enforced")
	waiting := kuadrant.Readiness{Waiting: true}
	tests := map[string]struct {
		policy *unstructured.Unstructured
		want   kuadrant.Readiness
	}{
		"a missing policy is waited for":                {nil, waiting},
		"a policy without a status is waited for":       {policy(nil), waiting},
		"accepted and enforced":                         {policy(statusOf(3, accepted, enforced)), kuadrant.Readiness{Enforced: true, Reason: v1alpha1.ReasonAcceptedEnforced}},
		"a status of an older generation is waited for": {policy(statusOf(2, accepted, enforced)), waiting},
		"not accepted":                                  {policy(statusOf(3, condition("Accepted", "False", "TargetNotFound"))), kuadrant.Readiness{Reason: v1alpha1.ReasonNotAccepted}},
		"accepted, not judged further":                  {policy(statusOf(3, accepted)), waiting},
		"enforcement unknown":                           {policy(statusOf(3, accepted, condition("Enforced", "Unknown", "Unknown"))), waiting},
		"overridden by another policy":                  {policy(statusOf(3, accepted, since(time.Second, condition("Enforced", "False", "Overridden")))), kuadrant.Readiness{Reason: v1alpha1.ReasonNotEnforced}},
		"only just not enforced, for no known reason": {
			policy(statusOf(3, accepted, since(10*time.Second, condition("Enforced", "False", "Unknown")))),
			kuadrant.Readiness{Waiting: true, Until: now.Add(20 * time.Second)},
		},
		"not enforced for long, for no known reason": {
			policy(statusOf(3, accepted, since(30*time.Second, condition("Enforced", "False", "Unknown")))),
			kuadrant.Readiness{Reason: v1alpha1.ReasonNotEnforced},
		},
		"only just not enforced, for want of an AuthPolicy": {
			policy(statusOf(3, accepted, since(time.Second, condition("Enforced", "False", "InvalidCelExpression")))),
			kuadrant.Readiness{Waiting: true, Until: now.Add(4 * time.Second)},
		},
		"an invalid expression that stays": {
			policy(statusOf(3, accepted, since(5*time.Second, condition("Enforced", "False", "InvalidCelExpression")))),
			kuadrant.Readiness{Reason: v1alpha1.ReasonNotEnforced},
		},
		"a status of a strange shape is waited for": {policy(map[string]any{"conditions": "none"}), waiting},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := kuadrant.ReadinessOf(test.policy, now)
			if (got.Enforced || got.Waiting) == (got.Message != "") {
				t.Errorf("message = %q, enforced = %t, waiting = %t: exactly trouble needs words", got.Message, got.Enforced, got.Waiting)
			}
			got.Message, got.Until = "", got.Until.UTC()
			test.want.Until = test.want.Until.UTC()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("ReadinessOf() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTroubleIsDescribedTheSameWhateverKuadrantSays(t *testing.T) {
	t.Parallel()
	describe := func(words string) string {
		c := condition("Enforced", "False", "Overridden")
		c["message"] = words
		return kuadrant.ReadinessOf(policy(statusOf(3, condition("Accepted", "True", "Accepted"), c)), time.Time{}).Message
	}
	if a, b := describe("rule x by y, rule z by y"), describe("rule z by y, rule x by y"); a != b {
		t.Errorf("%q and %q describe one state", a, b)
	}
}

func TestLimitsOfAPolicy(t *testing.T) {
	t.Parallel()
	p := policy(nil)
	p.Object["spec"] = map[string]any{"limits": map[string]any{
		"two":    map[string]any{"when": []any{map[string]any{"predicate": "a"}, map[string]any{"predicate": "b"}}},
		"none":   map[string]any{},
		"nobody": map[string]any{"when": []any{map[string]any{"predicate": "n"}}},
		"wrong":  "text",
		"odd":    map[string]any{"when": []any{"x", map[string]any{"predicate": int64(7)}}},
	}}
	got := kuadrant.Limits(p)
	names := map[string]string{}
	for _, limit := range got {
		names[limit.Name] = limit.Predicate
	}
	if diff := cmp.Diff(map[string]string{"two": "ab", "none": "", "odd": ""}, names); diff != "" {
		t.Errorf("Limits() (-want +got):\n%s", diff)
	}
	if got := kuadrant.Limits(nil); got != nil {
		t.Errorf("Limits(nil) = %v", got)
	}
}

func TestTargetRoute(t *testing.T) {
	t.Parallel()
	target := func(group, kind, name string) map[string]any {
		return map[string]any{"targetRef": map[string]any{"group": group, "kind": kind, "name": name}}
	}
	const gateways = "gateway.networking.k8s.io"
	tests := map[string]struct {
		spec any
		want string
	}{
		"a route":                    {target(gateways, "HTTPRoute", "r"), "r"},
		"a gateway":                  {target(gateways, "Gateway", "g"), ""},
		"a route of another group":   {target("example.com", "HTTPRoute", "r"), ""},
		"no target":                  {map[string]any{}, ""},
		"a target of a strange kind": {map[string]any{"targetRef": "r"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := policy(nil)
			p.Object["spec"] = test.spec
			if got := kuadrant.TargetRoute(p); got != test.want {
				t.Errorf("TargetRoute() = %q, want %q", got, test.want)
			}
		})
	}
}
