// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

func unlimited(s *v1alpha1.MaaSSubscription) {
	s.Spec.ModelRefs = []v1alpha1.ModelSubscription{{Namespace: "llm", Name: "llama", Unlimited: true}}
}

func TestRank(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ first, second subscription }{
		"10k of priority 30 beats 20k of priority 20": {
			sub("z").priority(30).model(llama, rate(10_000, "1m")),
			sub("a").priority(20).model(llama, rate(20_000, "1m")),
		},
		"the highest priority beats unlimited": {
			sub("z").priority(math.MaxInt32),
			sub("a").priority(math.MaxInt32 - 1).with(unlimited),
		},
		"100 per minute beats 1000 per month": {
			sub("z").model(llama, rate(100, "1m")),
			sub("a").model(llama, rate(1000, "720h")),
		},
		"a larger limit of the same window beats a smaller one": {
			sub("z").model(llama, rate(20, "1m")),
			sub("a").model(llama, rate(10, "1m")),
		},
		"rates are compared exactly at the bounds": {
			sub("z").model(llama, rate(1_000_000_000, "8784h")),
			sub("a").model(llama, rate(999_999_999, "8784h")),
		},
		"unlimited beats the largest limit": {
			sub("z").with(unlimited),
			sub("a").model(llama, rate(1_000_000_000, "1s")),
		},
		"of several rates the tightest counts": {
			sub("z").model(llama, rate(2, "1s")),
			sub("a").model(llama, rate(1_000_000, "1s"), rate(60, "1m")),
		},
		"of several models the most generous counts": {
			sub("z").model(llama, rate(1, "1h")).and(qwen, rate(100, "1s")),
			sub("a").model(llama, rate(99, "1s")),
		},
		"an invalid entry grants nothing": {
			sub("z").model(llama, rate(1, "8784h")),
			sub("a").model(llama, rate(math.MaxInt64, "1s")),
		},
		"an entry of both kinds grants nothing": {
			sub("z").model(llama, rate(1, "8784h")),
			sub("a").with(func(s *v1alpha1.MaaSSubscription) { s.Spec.ModelRefs[0].Unlimited = true }),
		},
		"a negative priority counts as 0": {
			sub("a").priority(-1),
			sub("b").priority(0),
		},
		"equal rates leave it to the namespace": {
			sub("z").in("a").model(llama, rate(60, "1m")),
			sub("a").in("b").model(llama, rate(1, "1s")),
		},
		"namespaces are compared before names": {
			sub("z").in("a"),
			sub("a").in("a-b"),
		},
		"then the name decides": {
			sub("a"),
			sub("b"),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := entitlement.RankOf(test.first.MaaSSubscription), entitlement.RankOf(test.second.MaaSSubscription)
			if first.Compare(second) >= 0 || second.Compare(first) <= 0 {
				t.Errorf("Compare() = %d and %d, want the first before the second", first.Compare(second), second.Compare(first))
			}
		})
	}
}

// ranked draws subscriptions that often share priorities and rates, of which
// some are equal although written differently. Keys are distinct.
func ranked() *rapid.Generator[[]*v1alpha1.MaaSSubscription] {
	one := rapid.Custom(func(t *rapid.T) *v1alpha1.MaaSSubscription {
		s := sub(rapid.StringMatching("[ab-]{1,2}").Draw(t, "name")).in(rapid.StringMatching("[ab-]{1,2}").Draw(t, "namespace"))
		s.Spec.Priority = rapid.SampledFrom([]int32{math.MinInt32, -1, 0, 1, math.MaxInt32}).Draw(t, "priority")
		s.Spec.ModelRefs = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) v1alpha1.ModelSubscription {
			return v1alpha1.ModelSubscription{
				Unlimited: rapid.IntRange(0, 4).Draw(t, "unlimited") == 0,
				TokenRateLimits: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) v1alpha1.TokenRateLimit {
					return rate(rapid.SampledFrom([]int64{0, 1, 60, 3600, 999_999_999, 1_000_000_000}).Draw(t, "limit"),
						rapid.SampledFrom([]string{"1s", "60s", "1m", "1h", "8783h", "8784h", "1d"}).Draw(t, "window"))
				}), 0, 2).Draw(t, "rates"),
			}
		}), 0, 2).Draw(t, "models")
		return s.MaaSSubscription
	})
	return rapid.SliceOfNDistinct(one, 3, 8, nameOf)
}

func TestRankIsAStrictTotalOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		subscriptions := ranked().Draw(t, "subscriptions")
		ranks := make([]entitlement.Rank, 0, len(subscriptions))
		for _, s := range subscriptions {
			ranks = append(ranks, entitlement.RankOf(s))
		}
		for i, a := range ranks {
			for j, b := range ranks {
				if ab, ba := a.Compare(b), b.Compare(a); ab != -ba || (ab == 0) != (i == j) {
					t.Fatalf("Compare(%d, %d) = %d, the other way round %d", i, j, ab, ba)
				}
				for k, c := range ranks {
					if a.Compare(b) < 0 && b.Compare(c) < 0 && a.Compare(c) >= 0 {
						t.Fatalf("%d comes before %d and that before %d, but the first not before the last", i, j, k)
					}
				}
			}
		}
	})
}

func TestRankDoesNotDependOnTheOrderOfTheInput(t *testing.T) {
	t.Parallel()
	sorted := func(list []*v1alpha1.MaaSSubscription) []string {
		list = slices.SortedFunc(slices.Values(list), func(a, b *v1alpha1.MaaSSubscription) int {
			return entitlement.RankOf(a).Compare(entitlement.RankOf(b))
		})
		var out []string
		for _, s := range list {
			out = append(out, nameOf(s))
		}
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		subscriptions := ranked().Draw(t, "subscriptions")
		if diff := cmp.Diff(sorted(subscriptions), sorted(rapid.Permutation(subscriptions).Draw(t, "shuffled"))); diff != "" {
			t.Errorf("another order (-first +second):\n%s", diff)
		}
	})
}
