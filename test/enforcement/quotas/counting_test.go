// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/service"
)

func counting() {
	for _, c := range quotaCases() {
		It(c.title(), func(ctx SpecContext) {
			g := NewGomega(Fail)
			afresh(ctx, g)
			c.run(ctx, g)
		}, SpecTimeout(specTimeout))
	}
}

// quotaCases are what a subscription's limits promise.
func quotaCases() []quotaCase {
	return []quotaCase{
		{name: "serves the request that crosses a limit and refuses the next one", rows: []string{"B01"}, run: crossing},
		{name: "counts exactly what callers are told", run: exactly},
		{name: "refuses as a client expects it", run: politely},
		{name: "gives each user of a subscription a quota of his own", rows: []string{"A96", "B49"}, run: perUser},
		{name: "gives one user a quota in each of his subscriptions", run: perSubscription},
		{name: "gives a user one quota in a subscription whatever he calls with", run: perCredential},
		{name: "gives a subscription a quota at each of its models", rows: []string{"B49"}, run: perModel},
		{name: "holds a request against each of several windows", rows: []string{"A11", "B22"}, run: perWindow},
		{name: "holds a request against the smaller of two limits of one window", rows: []string{"A11", "B22"}, run: oneWindow},
		{name: "begins a window with the first request in it", run: fixedWindow},
		{name: "never refuses who has no limits", run: withoutLimits},
		{name: "asks for no limit before it knows the caller", run: beforehand},
	}
}

func crossing(ctx context.Context, g Gomega) {
	alice := at.at(at.chat, at.alice.by(small))
	for range 3 {
		g.Expect(served(ctx, g, alice.chat(1))).To(Equal(cost(1)))
	}
	g.Expect(refused(ctx, g, alice.chat(1))).To(HaveLen(1))
	g.Expect(counted(ctx, g, alice)).To(Equal([]uint64{21}), "a limit of 20 is crossed by the third request of 7")
}

func exactly(ctx context.Context, g Gomega) {
	alice := at.at(at.chat, at.alice.by(roomy))
	told := uint64(0)
	for words := range 9 {
		told += served(ctx, g, alice.chat(words+1))
	}
	g.Expect(told).To(Equal(uint64(9*5 + 2*45)))
	g.Expect(counted(ctx, g, alice)).To(Equal([]uint64{told}))
}

func politely(ctx context.Context, g Gomega) {
	alice := at.at(at.chat, at.alice.by(small))
	exhaust(ctx, g, alice, 20)
	for what, request := range map[string]world.Request{"a question": alice.chat(1), "a stream": alice.stream(1, withUsage)} {
		answer := send(ctx, g, request)
		g.Expect(answer.Status).To(Equal(http.StatusTooManyRequests), what)
		g.Expect(answer.Body).To(Equal("Too Many Requests\n"), what)
		g.Expect(answer.Header.Get("Content-Type")).To(HavePrefix("text/plain"), what)
		g.Expect(answer.Header).NotTo(HaveKey("Retry-After"), what)
		g.Expect(answer.Reason()).To(BeEmpty(), what)
	}
}

func perUser(ctx context.Context, g Gomega) {
	alice, bob := at.at(at.chat, at.alice.by(small)), at.at(at.chat, at.bob.by(small))
	exhaust(ctx, g, alice, 20)
	g.Expect(counted(ctx, g, bob)).To(BeEmpty())
	served(ctx, g, bob.chat(1))
	g.Expect(counted(ctx, g, bob)).To(Equal([]uint64{7}))
	refused(ctx, g, alice.chat(1))
}

func perSubscription(ctx context.Context, g Gomega) {
	poor, rich := at.at(at.chat, at.alice.by(small)), at.at(at.chat, at.alice.by(large))
	exhaust(ctx, g, poor, 20)
	exhaust(ctx, g, rich, 40)
	g.Expect(counted(ctx, g, poor)).To(Equal([]uint64{21, 42}))
	refused(ctx, g, poor.chat(1))
}

func perCredential(ctx context.Context, g Gomega) {
	token := at.at(at.chat, at.alice.by(small))
	var keys []asking
	for _, subscription := range []string{small, small, large} {
		key, _, err := at.key(ctx, at.alice, service.CreateKey{Name: "of " + subscription, Subscription: subscription})
		g.Expect(err).NotTo(HaveOccurred())
		keys = append(keys, at.at(at.chat, key))
	}
	served(ctx, g, token.chat(1))
	served(ctx, g, keys[0].chat(1))
	served(ctx, g, keys[1].chat(1))
	for _, same := range []asking{token, keys[0], keys[1]} {
		refused(ctx, g, same.chat(1))
	}
	served(ctx, g, keys[2].chat(1))
	g.Expect(counted(ctx, g, token)).To(Equal([]uint64{7, 21}))
}

func perModel(ctx context.Context, g Gomega) {
	chat, code := at.at(at.chat, at.alice.by(small)), at.at(at.code, at.alice.by(small))
	exhaust(ctx, g, chat, 20)
	g.Expect(counted(ctx, g, code)).To(BeEmpty())
	exhaust(ctx, g, code, 20)
}

// The limits of this subscription are 20 a minute and 50 an hour.
func perWindow(ctx context.Context, g Gomega) {
	alice := at.at(at.chat, at.alice.by(windows))
	exhausted := func() (seconds []int) {
		for _, u := range refused(ctx, g, alice.chat(1)) {
			seconds = append(seconds, u.Seconds)
		}
		return seconds
	}
	for minute := range 2 {
		later(ctx, g, time.Duration(minute)*61*time.Second)
		exhaust(ctx, g, alice, 20)
		g.Expect(exhausted()).To(Equal([]int{60}), "the tighter limit stops first")
	}
	later(ctx, g, 2*61*time.Second)
	served(ctx, g, alice.chat(1))
	served(ctx, g, alice.chat(1))
	g.Expect(exhausted()).To(Equal([]int{3600}), "56 of 50 in this hour, 14 of 20 in this minute")
	later(ctx, g, 3*61*time.Second)
	g.Expect(exhausted()).To(Equal([]int{3600}), "the longer one stays when the shorter one begins anew")
	later(ctx, g, time.Hour+time.Second)
	served(ctx, g, alice.chat(1))
	g.Expect(counted(ctx, g, alice)).To(Equal([]uint64{7, 7}))
}

// The limits of this subscription are 100 for "1m" and 20 for "60s".
func oneWindow(ctx context.Context, g Gomega) {
	exhaust(ctx, g, at.at(at.chat, at.alice.by(twice)), 20)
}

func fixedWindow(ctx context.Context, g Gomega) {
	alice := at.at(at.chat, at.alice.by(windows))
	served(ctx, g, alice.chat(1))
	later(ctx, g, 50*time.Second)
	served(ctx, g, alice.chat(1))
	served(ctx, g, alice.chat(1))
	refused(ctx, g, alice.chat(1))
	later(ctx, g, 61*time.Second)
	exhaust(ctx, g, alice, 20) // 42 within twelve seconds: a window does not slide.
}

func withoutLimits(ctx context.Context, g Gomega) {
	alice := at.at(at.chat, at.alice.by(unlimited))
	for range 10 {
		answer := send(ctx, g, alice.chat(1))
		g.Expect(answer.Status).To(Equal(http.StatusOK), answer.String)
		g.Expect(answer.Decision.Identity()).To(HaveKeyWithValue("selected_subscription", unlimited))
		g.Expect(limitsOf(answer.Decision)).To(BeEmpty())
	}
	g.Expect(counted(ctx, g, alice)).To(BeEmpty())
}

func beforehand(ctx context.Context, g Gomega) {
	stranger, err := at.user(ctx, "mallory")
	g.Expect(err).NotTo(HaveOccurred())
	alice := at.at(at.chat, at.alice.by(small))
	for what, refusal := range map[string]struct {
		by     caller
		status int
	}{
		"nobody":                               {caller{name: "alice"}, http.StatusUnauthorized},
		"a key that does not exist":            {caller{name: "alice", headers: world.Bearer("sk-oai-0123456789abcdef_x")}, http.StatusForbidden},
		"somebody of no group":                 {stranger.by(small), http.StatusForbidden},
		"a subscription that does not exist":   {at.alice.by("nothing"), http.StatusForbidden},
		"no choice between several":            {at.alice, http.StatusForbidden},
		"an identity that the client claims":   {caller{"alice", append(world.Headers("X-MaaS-Username", "alice"), at.alice.by(small).headers...)}, http.StatusForbidden},
		"a subscription without the model":     {at.alice.by(lasting), http.StatusForbidden},
		"a token that is none of the tenant's": {caller{"alice", append(world.Bearer("a.b.c"), world.Headers(headerSubscription, small)...)}, http.StatusUnauthorized},
	} {
		answer := send(ctx, g, at.at(at.chat, refusal.by).chat(1))
		g.Expect(answer.Status).To(Equal(refusal.status), what+": "+answer.String())
		g.Expect(answer.Decision.Outcome).To(Equal(world.Denied), what)
		g.Expect(answer.Decision.StepsOf("ratelimit-check")).To(BeEmpty(), what)
	}
	g.Expect(counted(ctx, g, alice)).To(BeEmpty())
}
