// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Judged tells whether Kuadrant has said anything of a policy, of whatever generation.
func Judged(policy *unstructured.Unstructured) bool {
	conditions, _ := status(policy)
	return len(conditions) > 0
}

// Unsettled tells whether a policy is not enforced as it stands now, as far as Kuadrant
// has said, and gives what it has said in words that differ when it says something else.
// One that is being deleted is none of its business any more, and a policy of a Gateway
// is meant to be overridden.
func Unsettled(policy *unstructured.Unstructured) (said string, unsettled bool) {
	conditions, observed := status(policy)
	accepted, enforced := find(conditions, "Accepted"), find(conditions, "Enforced")
	holds := func(c *metav1.Condition) bool {
		return c != nil && c.Status == metav1.ConditionTrue && current(policy, c, observed)
	}
	if policy.GetDeletionTimestamp() != nil || holds(accepted) && holds(enforced) || TargetGateway(policy) != "" && Overridden(policy) {
		return "", false
	}
	var words strings.Builder
	fmt.Fprint(&words, observed)
	for _, c := range []*metav1.Condition{accepted, enforced} {
		if c != nil {
			fmt.Fprintf(&words, " %s=%s %s %s", c.Type, c.Status, c.Reason, c.LastTransitionTime.UTC().Format(time.RFC3339))
		}
	}
	return words.String(), true
}
