// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// Rank is the place of a subscription in the total order that decides which one
// a new key is bound to. See [Rank.Compare].
type Rank struct {
	priority int32
	rate     perSecond
	key      types.NamespacedName
}

// RankOf returns the place of a subscription. It depends on name and spec alone,
// so that it does not change with the state of models and policies:
//
//   - A priority below 0, which only stored objects of earlier releases can
//     have, counts as 0: nothing may rank below what the API allows.
//   - The rate of an entry is what its user can consume for good: the smallest
//     of its limits per second, for all of them apply. Unlimited beats every
//     limit.
//   - The rate of a subscription is that of its most generous entry. An entry
//     that is not valid grants nothing and does not count.
func RankOf(s *v1alpha1.MaaSSubscription) Rank {
	rank := Rank{
		priority: max(s.Spec.Priority, 0),
		key:      types.NamespacedName{Namespace: s.Namespace, Name: s.Name},
	}
	for i := range s.Spec.ModelRefs {
		if err := validateEntry(&s.Spec.ModelRefs[i]); err != nil {
			continue
		}
		if rate := sustained(&s.Spec.ModelRefs[i]); rate.compare(rank.rate) > 0 {
			rank.rate = rate
		}
	}
	return rank
}

// Compare is negative when r comes before other: the higher priority first, then
// the larger rate per second, then the smaller namespace, then the smaller name.
// Subscriptions that are not the same never compare equal.
func (r Rank) Compare(other Rank) int {
	return cmp.Or(
		cmp.Compare(other.priority, r.priority),
		other.rate.compare(r.rate),
		cmp.Compare(r.key.Namespace, other.key.Namespace),
		cmp.Compare(r.key.Name, other.key.Name),
	)
}

// perSecond is a number of tokens per second as an exact fraction. The zero
// value is none at all.
type perSecond struct {
	tokens, seconds int64
	unlimited       bool
}

// compare never overflows: tokens are at most [MaxLimit], seconds at most
// [MaxWindowSeconds], and their product is below 2^55.
func (p perSecond) compare(other perSecond) int {
	switch {
	case p.unlimited && other.unlimited:
		return 0
	case p.unlimited:
		return 1
	case other.unlimited:
		return -1
	}
	return cmp.Compare(p.tokens*max(other.seconds, 1), other.tokens*max(p.seconds, 1))
}

// sustained is the tightest rate of a valid entry.
func sustained(entry *v1alpha1.ModelSubscription) perSecond {
	tightest := perSecond{unlimited: true}
	for _, rate := range entry.TokenRateLimits {
		seconds, err := WindowSeconds(rate.Window)
		if err != nil {
			continue // Cannot be: the entry is valid.
		}
		if p := (perSecond{tokens: rate.Limit, seconds: seconds}); p.compare(tightest) < 0 {
			tightest = p
		}
	}
	return tightest
}
