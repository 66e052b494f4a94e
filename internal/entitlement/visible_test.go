// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

// shown writes a listing down: subscription, then its models; unusable ones in
// parentheses, unknown ones with a question mark.
func shown(list []entitlement.Visible) []string {
	var out []string
	for _, v := range list {
		line := nameOf(v.Subscription)
		for _, m := range v.Models {
			word := m.Key.String()
			if m.Object == nil {
				word += "?"
			}
			if !m.Usable {
				word = "(" + word + ")"
			}
			line += " " + word
		}
		out = append(out, line)
	}
	return out
}

func TestVisible(t *testing.T) {
	t.Parallel()
	both := func() subscription { return sub("gold").and(qwen, rate(1, "1m")) }
	tests := map[string]struct {
		subscriptions []subscription
		policies      []entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy] // Default: everybody on llama.
		change        func(*entitlement.Facts)
		bound         string
		requested     string
		want          []string
		wantCode      entitlement.Code
	}{
		"Active and Degraded ones, sorted by name": {
			subscriptions: []subscription{
				sub("z").phase(v1alpha1.PhaseDegraded), sub("a").in("z"), sub("pending").phase(v1alpha1.PhasePending),
				sub("failed").phase(v1alpha1.PhaseFailed), sub("fresh").phase(""), sub("dying").deleting(), sub("others").group("others"),
			},
			want: []string{"z/a llm/llama", home + "/z llm/llama"},
		},
		"one owned twice is listed once": {
			subscriptions: []subscription{sub("gold").with(func(s *v1alpha1.MaaSSubscription) {
				s.Spec.Owner = v1alpha1.Owner{Users: []string{"alice", "alice"}, Groups: groupsOf("team", "b", "team")}
			})},
			want: []string{home + "/gold llm/llama"},
		},
		"a model listed twice is shown once, as one that serves nothing": {
			subscriptions: []subscription{sub("gold").with(func(s *v1alpha1.MaaSSubscription) {
				s.Spec.ModelRefs = append(s.Spec.ModelRefs, s.Spec.ModelRefs[0])
			})},
			want: []string{home + "/gold (llm/llama)"},
		},
		"models nobody granted are hidden":          {subscriptions: []subscription{both()}, want: []string{home + "/gold llm/llama"}},
		"a subscription without such models is too": {subscriptions: []subscription{sub("gold").model(qwen, rate(1, "1m"))}},
		"models are granted by all policies together": {
			subscriptions: []subscription{both()},
			policies:      []entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]{ours(grant(everybody(), qwen)), ours(grant(v1alpha1.Subjects{Users: []string{"alice"}}, llama))},
			want:          []string{home + "/gold llm/llama llm/qwen"},
		},
		"a left out model is shown as such": {
			subscriptions: []subscription{both().phase(v1alpha1.PhaseDegraded).with(func(s *v1alpha1.MaaSSubscription) {
				s.Status.TokenRateLimitStatuses[0].Ready = false
			})},
			want: []string{home + "/gold (llm/llama)"},
		},
		"a missing model is shown as such": {
			subscriptions: []subscription{sub("gold")}, change: func(f *entitlement.Facts) { f.Models = nil },
			want: []string{home + "/gold (llm/llama?)"},
		},
		"a model of another tenant is like a missing one": {
			subscriptions: []subscription{sub("gold")}, change: func(f *entitlement.Facts) { f.Models[0].Tenant = "red" },
			want: []string{home + "/gold (llm/llama?)"},
		},
		"the requested one":                         {subscriptions: []subscription{sub("a"), sub("b")}, requested: "b", want: []string{home + "/b llm/llama"}},
		"the requested one has granted models only": {subscriptions: []subscription{both()}, requested: "gold", want: []string{home + "/gold llm/llama"}},
		"a requested one of others":                 {subscriptions: []subscription{sub("a").group("others")}, requested: "a", wantCode: entitlement.CodeAccessDenied},
		"a requested one that failed":               {subscriptions: []subscription{sub("a").phase(v1alpha1.PhaseFailed)}, requested: "a", wantCode: entitlement.CodeModelUnhealthy},
		"a requested one that is going":             {subscriptions: []subscription{sub("a").deleting()}, requested: "a", wantCode: entitlement.CodeModelUnhealthy},
		"a key shows the one it is bound to":        {subscriptions: []subscription{sub("a"), sub("b")}, bound: "b", requested: "a", want: []string{home + "/b llm/llama"}},
		"a key of nothing shows nothing":            {subscriptions: []subscription{sub("a")}, bound: "b", wantCode: entitlement.CodeAccessDenied},
		"nothing":                                   {},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := facts(test.subscriptions...)
			if test.policies != nil {
				f.AuthPolicies = test.policies
			}
			if test.change != nil {
				test.change(&f)
			}
			c := member(t, "team", "b")
			if test.bound != "" {
				c = keyOwner(t, test.bound, "team", "b")
			}
			got, err := entitlement.NewIndex(tenant, f).Visible(c, test.requested)
			if diff := cmp.Diff(test.want, shown(got)); diff != "" || codeOf(err) != test.wantCode {
				t.Errorf("Visible() error %v, want code %q (-want +got):\n%s", err, test.wantCode, diff)
			}
		})
	}
}
