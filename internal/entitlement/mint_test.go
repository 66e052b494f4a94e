// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement_test

import (
	"testing"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

func TestMint(t *testing.T) {
	t.Parallel()
	failed := v1alpha1.PhaseFailed
	tests := map[string]struct {
		subscriptions []subscription
		bound         string // Of the API key that is used; none for a token.
		requested     string
		want          string
		wantCode      entitlement.Code
	}{
		"the highest priority is chosen, even with smaller limits": {
			subscriptions: []subscription{
				sub("large").group("b").priority(20).model(llama, rate(20_000, "1m")),
				sub("small").group("team").priority(30).model(llama, rate(10_000, "1m")),
			},
			want: home + "/small",
		},
		"then the largest limit per second": {
			subscriptions: []subscription{sub("a").model(llama, rate(1000, "720h")), sub("z").model(llama, rate(100, "1m"))},
			want:          home + "/z",
		},
		"then the name":                    {subscriptions: []subscription{sub("b"), sub("a")}, want: home + "/a"},
		"those of others are no choice":    {subscriptions: []subscription{sub("a").priority(9).group("others"), sub("b")}, want: home + "/b"},
		"a pending one is good":            {subscriptions: []subscription{sub("a").phase(v1alpha1.PhasePending).priority(1), sub("b")}, want: home + "/a"},
		"a failed one is passed over":      {subscriptions: []subscription{sub("a").phase(failed).priority(9), sub("b")}, want: home + "/b"},
		"one being deleted is passed over": {subscriptions: []subscription{sub("a").priority(9).deleting(), sub("b")}, want: home + "/b"},
		"only failed ones":                 {subscriptions: []subscription{sub("a").phase(failed), sub("b").phase(failed)}, wantCode: entitlement.CodeModelUnhealthy},
		"none at all":                      {subscriptions: []subscription{sub("a").group("others")}, wantCode: entitlement.CodeNotFound},
		"the requested one":                {subscriptions: []subscription{sub("a").priority(9), sub("b")}, requested: "b", want: home + "/b"},
		"the requested one, qualified":     {subscriptions: []subscription{sub("a"), sub("b")}, requested: home + "/b", want: home + "/b"},
		"a requested one that failed":      {subscriptions: []subscription{sub("a"), sub("b").phase(failed)}, requested: "b", wantCode: entitlement.CodeModelUnhealthy},
		"a requested one that is going":    {subscriptions: []subscription{sub("a"), sub("b").deleting()}, requested: "b", wantCode: entitlement.CodeModelUnhealthy},
		"a requested one of others":        {subscriptions: []subscription{sub("a"), sub("b").group("others")}, requested: "b", wantCode: entitlement.CodeAccessDenied},
		"a requested one that is no name":  {subscriptions: []subscription{sub("a")}, requested: "a b", wantCode: entitlement.CodeBadRequest},
		"a key makes keys of its own one":  {subscriptions: []subscription{sub("a").priority(9), sub("b")}, bound: "b", want: home + "/b"},
		"it may name it":                   {subscriptions: []subscription{sub("a"), sub("b")}, bound: "b", requested: home + "/b", want: home + "/b"},
		"it may name no other":             {subscriptions: []subscription{sub("a"), sub("b")}, bound: "b", requested: "a", wantCode: entitlement.CodeAccessDenied},
		"its own one must be good":         {subscriptions: []subscription{sub("a"), sub("b").phase(failed)}, bound: "b", wantCode: entitlement.CodeModelUnhealthy},
		"its own one must be there":        {subscriptions: []subscription{sub("a")}, bound: "b", wantCode: entitlement.CodeAccessDenied},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := member(t, "team", "b")
			if test.bound != "" {
				c = keyOwner(t, test.bound, "team", "b")
			}
			got, err := index(test.subscriptions...).Mint(c, test.requested)
			if nameOf(got) != test.want || codeOf(err) != test.wantCode {
				t.Errorf("Mint() = %q, %v, want %q, code %q", nameOf(got), err, test.want, test.wantCode)
			}
		})
	}
}
