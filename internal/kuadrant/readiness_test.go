// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant_test

import (
	"testing"

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
	accepted, enforced := condition("Accepted", "True", "Accepted"), condition("Enforced", "True", "Enforced")
	tests := map[string]struct {
		policy *unstructured.Unstructured
		want   kuadrant.Readiness
	}{
		"a missing policy is waited for":                {nil, kuadrant.Readiness{Waiting: true, Reason: v1alpha1.ReasonNotFound}},
		"a policy without a status is waited for":       {policy(nil), kuadrant.Readiness{Waiting: true, Reason: v1alpha1.ReasonConditionsNotFound}},
		"accepted and enforced":                         {policy(statusOf(3, accepted, enforced)), kuadrant.Readiness{Enforced: true, Reason: v1alpha1.ReasonAcceptedEnforced}},
		"a status of an older generation is waited for": {policy(statusOf(2, accepted, enforced)), kuadrant.Readiness{Waiting: true, Reason: v1alpha1.ReasonNotAccepted}},
		"not accepted":                                  {policy(statusOf(3, condition("Accepted", "False", "TargetNotFound"))), kuadrant.Readiness{Reason: v1alpha1.ReasonNotAccepted}},
		"accepted, not judged further":                  {policy(statusOf(3, accepted)), kuadrant.Readiness{Waiting: true, Reason: v1alpha1.ReasonNotEnforced}},
		"enforcement unknown":                           {policy(statusOf(3, accepted, condition("Enforced", "Unknown", "Unknown"))), kuadrant.Readiness{Waiting: true, Reason: v1alpha1.ReasonNotEnforced}},
		"overridden by another policy":                  {policy(statusOf(3, accepted, condition("Enforced", "False", "Overridden"))), kuadrant.Readiness{Reason: v1alpha1.ReasonNotEnforced}},
		"a status of a strange shape is waited for":     {policy(map[string]any{"conditions": "none"}), kuadrant.Readiness{Waiting: true, Reason: v1alpha1.ReasonConditionsNotFound}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := kuadrant.ReadinessOf(test.policy)
			if got.Enforced == (got.Message != "") {
				t.Errorf("message = %q, enforced = %t: exactly the others need words", got.Message, got.Enforced)
			}
			got.Message = ""
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("ReadinessOf() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimitsOfAPolicy(t *testing.T) {
	t.Parallel()
	p := policy(nil)
	p.Object["spec"] = map[string]any{"limits": map[string]any{
		"two":   map[string]any{"when": []any{map[string]any{"predicate": "a"}, map[string]any{"predicate": "b"}}},
		"none":  map[string]any{},
		"wrong": "text",
		"odd":   map[string]any{"when": []any{"x", map[string]any{"predicate": int64(7)}}},
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
