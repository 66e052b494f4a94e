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
