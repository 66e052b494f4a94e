// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"testing"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
)

// A selection that the gateway remembers outlives the subscription: its limit is
// gone at once, and what matches no limit is unlimited. So replies are remembered
// for one set of limits only.
func TestSelectionsAreRememberedForOneSetOfLimits(t *testing.T) {
	t.Parallel()
	invalid := short("c", rate(0, "1m"))
	tests := map[string]struct {
		before, after []model.Subscription
		wantSame      bool
	}{
		"one leaves":             {[]model.Subscription{short("a", rate(5, "1m")), short("b", rate(5, "1m"))}, []model.Subscription{short("a", rate(5, "1m"))}, false},
		"the last one leaves":    {[]model.Subscription{short("a", rate(5, "1m"))}, nil, false},
		"one is left out":        {[]model.Subscription{short("a", rate(5, "1m")), short("c", rate(5, "1m"))}, []model.Subscription{short("a", rate(5, "1m")), invalid}, false},
		"their order changes":    {[]model.Subscription{short("a", rate(5, "1m")), short("b", rate(6, "1m"))}, []model.Subscription{short("b", rate(6, "1m")), short("a", rate(5, "1m"))}, true},
		"only a rate is another": {[]model.Subscription{short("a", rate(5, "1m"))}, []model.Subscription{short("a", rate(9, "1m"))}, true},
		"one that never counted": {[]model.Subscription{short("a", rate(5, "1m")), invalid}, []model.Subscription{short("a", rate(5, "1m"))}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := func(subscriptions []model.Subscription) string {
				in := input()
				in.AuthPolicies = []model.AuthPolicy{authPolicy("p", nil, "engineers")}
				in.Subscriptions = subscriptions
				return build(t, in).AuthPolicy.Select.CacheKey
			}
			if same := key(test.before) == key(test.after); same != test.wantSame {
				t.Errorf("the same key before and after: %t, want %t", same, test.wantSame)
			}
		})
	}
}

func TestWhoLeavesWhileItsIdentityIsOpenIsNoMember(t *testing.T) {
	t.Parallel()
	in := input()
	in.Subscriptions = []model.Subscription{subscription("s", v1alpha1.ModelSubscription{TokenRateLimits: []v1alpha1.TokenRateLimit{rate(5, "1m")}}, "")}
	if policy := build(t, in).TokenRateLimitPolicy; policy != nil {
		t.Errorf("a policy although nobody's identity is decided: %v", policy.Limits)
	}
}
