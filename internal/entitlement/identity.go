// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// DecideIdentity returns how a subscription's requests are matched to limits.
// It is decided once and never changes, so that live quotas do not reset: a
// recorded identity stays; without one, evidence of an earlier release (a
// phase, its historical finalizer, or membership in a generated policy) makes
// it legacy, and everything else is short. listed tells whether an existing
// policy, as an earlier release generated it, names the subscription.
func DecideIdentity(subscription *v1alpha1.MaaSSubscription, listed bool) v1alpha1.RateLimitIdentity {
	switch {
	case subscription.Status.RateLimitIdentity != "":
		return subscription.Status.RateLimitIdentity
	case subscription.Status.Phase != "",
		slices.Contains(subscription.Finalizers, v1alpha1.FinalizerSubscriptionCleanup),
		listed:
		return v1alpha1.RateLimitIdentityLegacy
	default:
		return v1alpha1.RateLimitIdentityShort
	}
}

// cutShort ends a list of contributors that is not complete.
const cutShort = "..."

// List joins the names of contributors for a policy's annotation, see [Join].
func List(keys []types.NamespacedName, limit int) string {
	names := make([]string, 0, len(keys))
	for _, key := range keys {
		names = append(names, key.String())
	}
	return Join(names, limit)
}

// Join sorts and joins the items of an annotation that lists something per
// contributor. A list of more than limit bytes ends early and says so, see
// [CutShort].
func Join(names []string, limit int) string {
	slices.Sort(names)
	size := 0
	for i, name := range names {
		if size += len(name) + 1; size > limit {
			names = append(names[:i], cutShort)
			break
		}
	}
	return strings.Join(names, ",")
}

// CutShort tells whether a list of contributors is not complete.
func CutShort(annotation string) bool {
	return annotation == cutShort || strings.HasSuffix(annotation, ","+cutShort)
}

// Listed tells whether a policy's list of contributors names an object. The
// list is comma-separated <namespace>/<name>. The earliest releases wrote bare
// names, and they wrote whole lists: a bare name beside a qualified one is none
// of theirs and names nobody, for it could stand for an object of any namespace.
func Listed(annotation string, key types.NamespacedName) bool {
	wanted := key.String()
	if !strings.Contains(annotation, "/") {
		wanted = key.Name
	}
	for item := range strings.SplitSeq(annotation, ",") {
		if strings.TrimSpace(item) == wanted {
			return true
		}
	}
	return false
}
