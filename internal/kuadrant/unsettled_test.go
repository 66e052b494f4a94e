// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

func TestUnsettled(t *testing.T) {
	t.Parallel()
	accepted, enforced := condition("Accepted", "True", "Accepted"), condition("Enforced", "True", "Enforced")
	overridden := condition("Enforced", "False", "Overridden")
	partly := condition("Enforced", "False", "Unknown")
	partly["message"] = "policy rule(s) overridden: deny-all-by-default by tokenratelimitpolicy.kuadrant.io:llm/maas-trlp-granite"
	leaving := policy(nil)
	leaving.SetDeletionTimestamp(&metav1.Time{Time: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)})
	onGateway := func(p *unstructured.Unstructured) *unstructured.Unstructured {
		p.Object["spec"] = map[string]any{"targetRef": map[string]any{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "g"}}
		return p
	}
	for name, test := range map[string]struct {
		policy                    *unstructured.Unstructured
		wantUnsettled, wantJudged bool
	}{
		"without a word":                    {policy(nil), true, false},
		"with an empty list":                {policy(statusOf(3)), true, false},
		"with a status of a strange shape":  {policy(map[string]any{"conditions": "none"}), true, false},
		"enforced":                          {policy(statusOf(3, accepted, enforced)), false, true},
		"enforced in an earlier generation": {policy(statusOf(2, accepted, enforced)), true, true},
		"not accepted":                      {policy(statusOf(3, condition("Accepted", "False", "TargetNotFound"))), true, true},
		"enforced without being accepted":   {policy(statusOf(3, enforced)), true, true},
		"accepted, not judged further":      {policy(statusOf(3, accepted)), true, true},
		"not enforced for no known reason":  {policy(statusOf(3, accepted, condition("Enforced", "False", "Unknown"))), true, true},
		"overridden":                        {policy(statusOf(3, accepted, overridden)), true, true},
		"of a Gateway, overridden":          {onGateway(policy(statusOf(3, accepted, overridden))), false, true},
		"of a Gateway, partly overridden":   {onGateway(policy(statusOf(3, accepted, partly))), false, true},
		"of a Gateway, once overridden":     {onGateway(policy(statusOf(2, accepted, overridden))), true, true},
		"of a Gateway, without any route":   {onGateway(policy(statusOf(3, accepted, condition("Enforced", "False", "Unknown")))), true, true},
		"being deleted without a word":      {leaving, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, got := kuadrant.Unsettled(test.policy); got != test.wantUnsettled {
				t.Errorf("Unsettled() = %t, want %t", got, test.wantUnsettled)
			}
			if got := kuadrant.Judged(test.policy); got != test.wantJudged {
				t.Errorf("Judged() = %t, want %t", got, test.wantJudged)
			}
		})
	}
}

// What Kuadrant says counts as something else when it changes its mind, and not when it
// finds other words for the same.
func TestWhatKuadrantSaysIsTold(t *testing.T) {
	t.Parallel()
	said := func(observed int64, change func(map[string]any)) string {
		enforced := condition("Enforced", "False", "Unknown")
		enforced["lastTransitionTime"] = "2030-01-01T00:00:00Z"
		change(enforced)
		words, _ := kuadrant.Unsettled(policy(statusOf(observed, condition("Accepted", "True", "Accepted"), enforced)))
		return words
	}
	before := said(3, func(map[string]any) {})
	for name, test := range map[string]struct {
		observed int64
		change   func(map[string]any)
		same     bool
	}{
		"the same":            {3, func(map[string]any) {}, true},
		"other words":         {3, func(c map[string]any) { c["message"] = "otherwise" }, true},
		"another reason":      {3, func(c map[string]any) { c["reason"] = "Overridden" }, false},
		"another status":      {3, func(c map[string]any) { c["status"] = "Unknown" }, false},
		"at another time":     {3, func(c map[string]any) { c["lastTransitionTime"] = "2030-01-01T00:00:01Z" }, false},
		"of a generation ago": {2, func(map[string]any) {}, false},
	} {
		if got := said(test.observed, test.change); (got == before) != test.same {
			t.Errorf("%s: %q after %q, want the same: %t", name, got, before, test.same)
		}
	}
}
