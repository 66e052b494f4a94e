// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// source is what Kuadrant writes before the name of an AuthPolicy into the configuration
// of a gateway, to say which policies an action comes from.
// Source: kuadrant-operator 1.4 and 1.5, internal/wasm/types.go.
const source = "authpolicy.kuadrant.io:"

// Sources are the "<namespace>/<name>" of the AuthPolicies that a configuration of a
// gateway names, in whatever text of JSON it is stored; empty when it names none.
func Sources(stored string) map[string]bool {
	found := map[string]bool{}
	for {
		_, rest, more := strings.Cut(stored, source)
		if !more {
			return found
		}
		if end := strings.IndexAny(rest, `\"`); end >= 0 {
			found[rest[:end]] = true
		}
		stored = rest
	}
}

// Actions is how many actions of an AuthPolicy, "<namespace>/<name>", a configuration of a
// gateway holds: at least one for each rule of the route that the policy guards.
func Actions(stored, policy string) int {
	return strings.Count(stored, source+policy+`"`) + strings.Count(stored, source+policy+`\`)
}

// Unsourced tells whether a configuration of a gateway has actions that do not say which
// policies they come from.
func Unsourced(stored string) bool {
	has := func(key string) bool {
		return strings.Contains(stored, `"`+key+`"`) || strings.Contains(stored, `\"`+key+`\"`)
	}
	return has("scope") && !has("sources")
}

// EnforcedSince is when Kuadrant began to call a policy enforced as it stands now; false
// when it does not.
func EnforcedSince(policy *unstructured.Unstructured) (time.Time, bool) {
	conditions, observed := status(policy)
	enforced := find(conditions, "Enforced")
	if enforced == nil || enforced.Status != metav1.ConditionTrue || !current(policy, enforced, observed) || policy.GetDeletionTimestamp() != nil {
		return time.Time{}, false
	}
	return enforced.LastTransitionTime.Time, true
}
