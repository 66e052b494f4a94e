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

// partlyEnforced is how Kuadrant says, of an AuthPolicy that it calls enforced, that
// others override it on some routes or on a part of one.
// Source: kuadrant-operator 1.5, internal/kuadrant/conditions.go.
const partlyEnforced = "partially enforced"

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
		overriding(enforced)
}

// Displaced tells whether Kuadrant last said of a policy on a route that others are in
// force in its place, on all of the route or on a part. Until it says something else
// that is taken to hold, whatever was changed since.
func Displaced(policy *unstructured.Unstructured) bool {
	if policy == nil {
		return false
	}
	conditions, _ := status(policy)
	enforced := find(conditions, "Enforced")
	switch {
	case enforced == nil:
		return false
	case enforced.Status == metav1.ConditionFalse:
		return overriding(enforced)
	default:
		return strings.Contains(enforced.Message, partlyEnforced)
	}
}

// InForce tells whether Kuadrant last said of a policy that it enforces it somewhere.
func InForce(policy *unstructured.Unstructured) bool {
	conditions, _ := status(policy)
	enforced := find(conditions, "Enforced")
	return enforced != nil && (enforced.Status == metav1.ConditionTrue || strings.Contains(enforced.Message, partlyOverridden))
}

// Overrides tells whether a policy is written to win over those that would win over it
// otherwise: newer ones on the same target, and those on routes over one on a Gateway.
func Overrides(policy *unstructured.Unstructured) bool {
	spec, _ := policy.Object["spec"].(map[string]any)
	return spec["overrides"] != nil
}

// overriding tells whether a condition Enforced does not hold only because of other
// policies.
func overriding(enforced *metav1.Condition) bool {
	return enforced.Reason == "Overridden" || enforced.Reason == "Unknown" && strings.Contains(enforced.Message, partlyOverridden)
}
