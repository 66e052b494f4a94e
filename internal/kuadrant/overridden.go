// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// partlyOverridden is how Kuadrant begins to say, in the message of a
// TokenRateLimitPolicy that it calls not enforced for the reason Unknown, that others
// override it on some routes. On the other routes it is in force.
// Source: kuadrant-operator 1.4, internal/controller/tokenratelimitpolicy_status_updater.go.
const partlyOverridden = "policy rule(s) overridden: "

// Overridden tells whether a policy is accepted as it stands now and not enforced only
// because others override it, everywhere or on some routes. A policy of a Gateway is
// meant to be: each route with a policy of its own overrides its defaults, and when
// every route has one nothing is left to it.
func Overridden(policy *unstructured.Unstructured) bool {
	if policy == nil || policy.GetDeletionTimestamp() != nil {
		return false
	}
	conditions, observed := status(policy)
	accepted, enforced := find(conditions, "Accepted"), find(conditions, "Enforced")
	return accepted != nil && accepted.Status == metav1.ConditionTrue && current(policy, accepted, observed) &&
		enforced != nil && enforced.Status == metav1.ConditionFalse && current(policy, enforced, observed) &&
		(enforced.Reason == "Overridden" || enforced.Reason == "Unknown" && strings.Contains(enforced.Message, partlyOverridden))
}
