// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

const discovery = ` && !(request.method == "GET" && request.url_path.endsWith("/v1/models"))`

var (
	shortCounters  = []string{"auth.identity.selected_subscription_id", "auth.identity.userid"}
	legacyCounters = []string{"auth.identity.selected_subscription_key", "auth.identity.userid"}
	perMinute      = []values.TokenRate{{Limit: 100, Window: "1m"}}
)

func TestLimits(t *testing.T) {
	t.Parallel()
	const (
		goldID    = `auth.identity.selected_subscription_id == "790b74af224deb46"`
		silverID  = `auth.identity.selected_subscription_id == "347e29af6f94d1cd"`
		goldKey   = `auth.identity.selected_subscription_key == "models-as-a-service/gold@llm/my-model"`
		silverKey = `auth.identity.selected_subscription_key == "models-as-a-service/silver@llm/my-model"`
	)
	tests := map[string]struct {
		subscriptions []model.Subscription
		live          []string
		living        []kuadrant.Limit
		want          []values.TokenLimit
	}{
		"one member is a bare equality": {
			subscriptions: []model.Subscription{short("gold", rate(100, "1m"))},
			want:          []values.TokenLimit{{Name: "tokens-100-per-1m", Rates: perMinute, Predicate: goldID + discovery, Counters: shortCounters}},
		},
		"members of equal rates share a limit, in sorted order": {
			subscriptions: []model.Subscription{short("gold", rate(100, "1m")), short("silver", rate(100, "1m"))},
			want:          []values.TokenLimit{{Name: "tokens-100-per-1m", Rates: perMinute, Predicate: "(" + silverID + " || " + goldID + ")" + discovery, Counters: shortCounters}},
		},
		"legacy members keep the key they had": {
			subscriptions: []model.Subscription{legacy("silver", rate(100, "1m")), legacy("gold", rate(100, "1m"))},
			want:          []values.TokenLimit{{Name: "tokens-100-per-1m", Rates: perMinute, Predicate: "(" + goldKey + " || " + silverKey + ")" + discovery, Counters: legacyCounters}},
		},
		"short members beside legacy ones get a limit of their own": {
			subscriptions: []model.Subscription{short("gold", rate(100, "1m")), legacy("silver", rate(100, "1m"))},
			want: []values.TokenLimit{
				{Name: "tokens-100-per-1m", Rates: perMinute, Predicate: silverKey + discovery, Counters: legacyCounters},
				{Name: "tokens-100-per-1m-id", Rates: perMinute, Predicate: goldID + discovery, Counters: shortCounters},
			},
		},
		"a limit that has the -id suffix keeps it when the last legacy member leaves": {
			subscriptions: []model.Subscription{short("gold", rate(100, "1m"))},
			live:          []string{"tokens-100-per-1m", "tokens-100-per-1m-id"},
			want:          []values.TokenLimit{{Name: "tokens-100-per-1m-id", Rates: perMinute, Predicate: goldID + discovery, Counters: shortCounters}},
		},
		"a legacy member who comes to a short group takes nothing from it": {
			subscriptions: []model.Subscription{short("gold", rate(100, "1m")), legacy("silver", rate(100, "1m"))},
			living:        []kuadrant.Limit{{Name: "tokens-100-per-1m", Predicate: goldID + discovery}},
			want: []values.TokenLimit{
				{Name: "tokens-100-per-1m", Rates: perMinute, Predicate: goldID + discovery, Counters: shortCounters},
				{Name: "tokens-100-per-1m-key", Rates: perMinute, Predicate: silverKey + discovery, Counters: legacyCounters},
			},
		},
		"a legacy member who came to a short group keeps its limit when that is gone": {
			subscriptions: []model.Subscription{legacy("silver", rate(100, "1m"))},
			live:          []string{"tokens-100-per-1m-key"},
			want:          []values.TokenLimit{{Name: "tokens-100-per-1m-key", Rates: perMinute, Predicate: silverKey + discovery, Counters: legacyCounters}},
		},
		"a legacy member has a name whose short members are gone": {
			subscriptions: []model.Subscription{legacy("silver", rate(100, "1m"))},
			living:        []kuadrant.Limit{{Name: "tokens-100-per-1m", Predicate: goldID + discovery}},
			want:          []values.TokenLimit{{Name: "tokens-100-per-1m", Rates: perMinute, Predicate: silverKey + discovery, Counters: legacyCounters}},
		},
		"windows count as they are written, numbers sort as text, and of one window the smallest limit decides": {
			subscriptions: []model.Subscription{short("gold", rate(9, "1m"), rate(10, "1m"), rate(9, "1m")), short("silver", rate(9, "60s"), rate(10, "60s"))},
			want: []values.TokenLimit{
				{Name: "tokens-10-per-1m-9-per-1m", Rates: []values.TokenRate{{Limit: 9, Window: "1m"}}, Predicate: goldID + discovery, Counters: shortCounters},
				{Name: "tokens-10-per-60s-9-per-60s", Rates: []values.TokenRate{{Limit: 9, Window: "60s"}}, Predicate: silverID + discovery, Counters: shortCounters},
			},
		},
		"a suffix of other rates does not spread": {
			subscriptions: []model.Subscription{short("gold", rate(100, "1m"))},
			live:          []string{"tokens-200-per-1m-id"},
			want:          []values.TokenLimit{{Name: "tokens-100-per-1m", Rates: perMinute, Predicate: goldID + discovery, Counters: shortCounters}},
		},
		"unlimited members of both generations share one limit without counters": {
			subscriptions: []model.Subscription{unlimited("silver", v1alpha1.RateLimitIdentityLegacy), unlimited("gold", v1alpha1.RateLimitIdentityShort)},
			want:          []values.TokenLimit{{Name: "tokens-unlimited", Predicate: "(" + goldID + " || " + silverKey + ")" + discovery}},
		},
		"every set of rates has its limit": {
			subscriptions: []model.Subscription{
				short("gold", rate(100, "1m")), short("silver", rate(99999, "1s"), rate(1000, "1h")), unlimited("silver", v1alpha1.RateLimitIdentityShort),
			},
			want: []values.TokenLimit{
				{Name: "tokens-100-per-1m", Rates: perMinute, Predicate: goldID + discovery, Counters: shortCounters},
				{Name: "tokens-1000-per-1h-99999-per-1s", Rates: []values.TokenRate{{Limit: 1000, Window: "1h"}, {Limit: 99999, Window: "1s"}}, Predicate: silverID + discovery, Counters: shortCounters},
				{Name: "tokens-unlimited", Predicate: silverID + discovery},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input()
			in.Subscriptions, in.Live.Limits = test.subscriptions, test.living
			for _, name := range test.live {
				in.Live.Limits = append(in.Live.Limits, kuadrant.Limit{Name: name})
			}
			policy := build(t, in).TokenRateLimitPolicy
			if policy == nil {
				t.Fatal("no TokenRateLimitPolicy is wanted")
			}
			if diff := cmp.Diff(test.want, policy.Limits); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhoContributesLimits(t *testing.T) {
	t.Parallel()
	deleted := short("gone", rate(5, "1m"))
	deleted.Object.DeletionTimestamp = &metav1.Time{Time: epoch}
	foreign := short("foreign", rate(5, "1m"))
	foreign.Tenant = "red"
	nobody := short("nobody", rate(5, "1m"))
	nobody.Tenant = ""
	tests := map[string]struct {
		subscription model.Subscription
		listed       string
		limit        string
		want         bool
	}{
		"a valid subscription does":                       {subscription: short("s", rate(5, "1m")), want: true},
		"one being deleted does not":                      {subscription: deleted},
		"one of another tenant does not":                  {subscription: foreign},
		"one of no tenant does not":                       {subscription: nobody},
		"one with an absurd stored limit does not":        {subscription: short("s", rate(9007199254740991, "1m"))},
		"one without rates is not unlimited":              {subscription: short("s")},
		"an undecided new one waits for its first status": {subscription: subscription("s", v1alpha1.ModelSubscription{TokenRateLimits: []v1alpha1.TokenRateLimit{rate(5, "1m")}}, "")},
		"a recreated one keeps the limit that the policy has for its name": {
			subscription: subscription("s", v1alpha1.ModelSubscription{TokenRateLimits: []v1alpha1.TokenRateLimit{rate(5, "1m")}}, ""), listed: tenantNamespace + "/s",
			limit: "auth.identity.selected_subscription_id == \"" + entitlement.ShortID(tenantNamespace+"/s@llm/my-model") + "\"", want: true,
		},
		"an undecided one of an earlier release stays in": {subscription: subscription("s", v1alpha1.ModelSubscription{TokenRateLimits: []v1alpha1.TokenRateLimit{rate(5, "1m")}}, ""), listed: tenantNamespace + "/s", want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input()
			in.Subscriptions = []model.Subscription{test.subscription, short("innocent", rate(7, "1m"))}
			in.Live = model.Live{Subscriptions: test.listed, Limits: []kuadrant.Limit{{Name: "tokens-5-per-1m", Predicate: test.limit}}}
			policy := build(t, in).TokenRateLimitPolicy
			want := tenantNamespace + "/innocent"
			if test.want {
				want += "," + tenantNamespace + "/" + test.subscription.Object.Name
			}
			if got := policy.Meta.Annotations[v1alpha1.AnnotationSubscriptions]; got != want {
				t.Errorf("contributors = %q, want %q", got, want)
			}
		})
	}
}

func TestNoPolicyWithoutContributors(t *testing.T) {
	t.Parallel()
	out := build(t, input())
	if out.AuthPolicy != nil || out.TokenRateLimitPolicy != nil {
		t.Errorf("Build() wants %v and %v, want neither", out.AuthPolicy, out.TokenRateLimitPolicy)
	}
}

func TestLimitsDoNotDependOnOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var all []model.Subscription
		for i := range rapid.IntRange(1, 20).Draw(t, "subscriptions") {
			name := fmt.Sprintf("s%d", i)
			switch r := rate(int64(rapid.IntRange(1, 3).Draw(t, "limit")), "1m"); rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				all = append(all, short(name, r))
			case 1:
				all = append(all, legacy(name, r))
			default:
				all = append(all, unlimited(name, v1alpha1.RateLimitIdentityShort))
			}
		}
		first, second := input(), input()
		first.Subscriptions, second.Subscriptions = all, rapid.Permutation(all).Draw(t, "shuffled")
		a, err := model.Build(first)
		if err != nil {
			t.Fatalf("Build() error = %v", err)
		}
		b, err := model.Build(second)
		if err != nil {
			t.Fatalf("Build() error = %v", err)
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("order changes the policies (-first +second):\n%s", diff)
		}
	})
}

func TestManyMembersAreWrittenAsAList(t *testing.T) {
	t.Parallel()
	for count, operator := range map[int]string{64: " == ", 65: " in ["} {
		in := input()
		for i := range count {
			in.Subscriptions = append(in.Subscriptions, short(fmt.Sprintf("s%04d", i), rate(1, "1m")))
		}
		predicate := build(t, in).TokenRateLimitPolicy.Limits[0].Predicate
		if !strings.Contains(predicate, "auth.identity.selected_subscription_id"+operator) {
			t.Errorf("%d members: predicate %.120s has no %q", count, predicate, operator)
		}
	}
}

func TestPredicatesStayBounded(t *testing.T) {
	t.Parallel()
	for name, member := range map[string]func(string, ...v1alpha1.TokenRateLimit) model.Subscription{"short": short, "legacy": legacy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input()
			const count = 5000
			for i := range count {
				s := member(fmt.Sprintf("subscription-%04d", i), rate(1, "1m"))
				s.Object.CreationTimestamp = metav1.NewTime(epoch.Add(time.Duration(i) * time.Second))
				in.Subscriptions = append(in.Subscriptions, s)
			}
			out := build(t, in)
			if size := utf8.RuneCountInString(out.TokenRateLimitPolicy.Limits[0].Predicate); size >= 50_000 {
				t.Errorf("the predicate has %d code points", size)
			}
			if len(out.Overflow) == 0 {
				t.Fatal("nothing is left out")
			}
			newest := fmt.Sprintf("subscription-%04d", count-len(out.Overflow))
			if got := out.Overflow[0].Name; got != newest {
				t.Errorf("the first one left out is %s, want %s: the oldest stay", got, newest)
			}
			if listed := out.TokenRateLimitPolicy.Meta.Annotations[v1alpha1.AnnotationExcludedSubscriptions]; !strings.HasPrefix(listed, tenantNamespace+"/"+newest) {
				t.Errorf("the policy lists %.80q as left out", listed)
			}
		})
	}
}

func TestTwoThousandSubscriptionsFit(t *testing.T) {
	t.Parallel()
	in := input()
	for i := range 2000 {
		in.Subscriptions = append(in.Subscriptions, short(fmt.Sprintf("s%04d", i), rate(1, "1m")))
	}
	if left := build(t, in).Overflow; len(left) != 0 {
		t.Errorf("%d of 2000 subscriptions are left out", len(left))
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, count := range []int{10, 100, 1000, 2000} {
		b.Run(fmt.Sprintf("subscriptions=%d", count), func(b *testing.B) {
			in := guarded()
			for i := range count {
				in.Subscriptions = append(in.Subscriptions, short(fmt.Sprintf("s%04d", i), rate(int64(i%20+1), "1m")))
			}
			for b.Loop() {
				if _, err := model.Build(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
