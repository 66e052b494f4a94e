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

func TestOverridden(t *testing.T) {
	t.Parallel()
	accepted, overridden := condition("Accepted", "True", "Accepted"), condition("Enforced", "False", "Overridden")
	partly := condition("Enforced", "False", "Unknown")
	partly["message"] = "TokenRateLimitPolicy has encountered some issues: policy rule(s) overridden: deny-all-by-default by tokenratelimitpolicy.kuadrant.io:llm/maas-trlp-granite"
	leaving := policy(statusOf(3, accepted, overridden))
	leaving.SetDeletionTimestamp(&metav1.Time{Time: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)})
	for name, test := range map[string]struct {
		policy *unstructured.Unstructured
		want   bool
	}{
		"accepted and overridden":             {policy(statusOf(3, accepted, overridden)), true},
		"overridden on some routes":           {policy(statusOf(3, accepted, partly)), true},
		"overridden in an earlier generation": {policy(statusOf(2, accepted, overridden)), false},
		"not accepted":                        {policy(statusOf(3, condition("Accepted", "False", "Conflicted"), overridden)), false},
		"not enforced for another reason":     {policy(statusOf(3, accepted, condition("Enforced", "False", "Unknown"))), false},
		"enforced":                            {policy(statusOf(3, accepted, condition("Enforced", "True", "Enforced"))), false},
		"not judged yet":                      {policy(statusOf(3, accepted)), false},
		"being deleted":                       {leaving, false},
		"missing":                             {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := kuadrant.Overridden(test.policy); got != test.want {
				t.Errorf("Overridden() = %t, want %t", got, test.want)
			}
		})
	}
}

func TestDisplaced(t *testing.T) {
	t.Parallel()
	said := func(status, reason, message string) map[string]any {
		c := condition("Enforced", status, reason)
		c["message"] = message
		return c
	}
	for name, test := range map[string]struct {
		policy                     *unstructured.Unstructured
		wantDisplaced, wantInForce bool
	}{
		"enforced":                            {policy(statusOf(3, said("True", "Enforced", "AuthPolicy has been successfully enforced"))), false, true},
		"enforced on a part":                  {policy(statusOf(3, said("True", "Enforced", "AuthPolicy has been partially enforced"))), true, true},
		"overridden":                          {policy(statusOf(3, said("False", "Overridden", "AuthPolicy is overridden by [llm/open-door]"))), true, false},
		"overridden in an earlier generation": {policy(statusOf(2, said("False", "Overridden", "AuthPolicy is overridden by [llm/open-door]"))), true, false},
		"limits overridden on a part":         {policy(statusOf(3, said("False", "Unknown", "TokenRateLimitPolicy has encountered some issues: policy rule(s) overridden: many"))), true, true},
		"not enforced for another reason":     {policy(statusOf(3, said("False", "Unknown", "waiting for the following components to sync"))), false, false},
		"not judged":                          {policy(nil), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := kuadrant.Displaced(test.policy); got != test.wantDisplaced {
				t.Errorf("Displaced() = %t, want %t", got, test.wantDisplaced)
			}
			if got := kuadrant.InForce(test.policy); got != test.wantInForce {
				t.Errorf("InForce() = %t, want %t", got, test.wantInForce)
			}
		})
	}
	if kuadrant.Displaced(nil) {
		t.Error("a policy that does not exist is displaced")
	}
}

func TestOverrides(t *testing.T) {
	t.Parallel()
	plain := policy(nil)
	plain.Object["spec"] = map[string]any{"rules": map[string]any{}}
	forced := policy(nil)
	forced.Object["spec"] = map[string]any{"overrides": map[string]any{"rules": map[string]any{}}}
	if kuadrant.Overrides(plain) || kuadrant.Overrides(&unstructured.Unstructured{Object: map[string]any{}}) || !kuadrant.Overrides(forced) {
		t.Error("overrides are not told from rules")
	}
}
