// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/internal/enforced"
)

// These specs follow one request from the objects that users write to the limit
// that counts it. Only the engines are played, by [gateway], and maas-api's
// process, by its decisions.
var _ = Describe("A request for a governed model", func() {
	var (
		w     world
		model types.NamespacedName
	)
	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx)
		model = w.governed("granite")
	})
	// subscribed creates subscriptions and waits until they are in force.
	subscribed := func(subscriptions ...*v1alpha1.MaaSSubscription) {
		GinkgoHelper()
		for _, s := range subscriptions {
			w.create(s)
		}
		for _, s := range subscriptions {
			Eventually(w.phase(s)).Should(Equal(v1alpha1.PhaseActive), s.Name)
		}
	}
	// call serves a completion of a user who is in groups.
	call := func(username string, groups ...any) enforced.Answer {
		GinkgoHelper()
		g := w.gateway(model)
		a := g.Serve(w.asking(token(username, groups...)))
		Expect(g.Failed).To(BeEmpty())
		return a
	}

	It("passes with a subscription and access, without one of them it is 403, without a credential 401 (9.5.105, S-26)", func() {
		subscribed(
			w.subscription("gold").Limit(model, 100, "1m").Obj(),
			w.subscription("strangers").Owners([]string{"strangers"}, nil).Limit(model, 5, "1m").Obj(),
		)
		w.create(w.authPolicy("guests", model).Subjects([]string{"guests"}, nil).Obj())
		Eventually(w.subjectRule(model)).Should(ContainSubstring("guests"))
		Expect(call("anne", "engineers").Status).To(Equal(200))
		Expect(call("gast", "guests")).To(And(HaveField("Status", 403), HaveField("Message", Not(BeEmpty()))), "access, no subscription")
		Expect(call("fremd", "strangers").Status).To(Equal(403), "a subscription, no access")
		Expect(call("nobody").Status).To(Equal(403))
		Expect(w.gateway(model).Serve(w.asking(enforced.Request{Headers: map[string]any{"accept": "*/*"}})).Status).To(Equal(401))
	})

	It("counts for the limit of its subscription; listing models is free, whatever the query says (9.5.104, A07, A.9, B11, W-03)", func() {
		gold := w.subscription("gold").Limit(model, 1, "1m").Obj()
		subscribed(gold)
		const at = "/llm/granite"
		for request, counts := range map[string]bool{
			"POST " + at + "/v1/chat/completions":              true,
			"POST " + at + "/v1/chat/completions?x=/v1/models": true,
			"POST " + at + "/v1/completions?/v1/models":        true,
			"GET " + at + "/v1/models/x":                       true,
			"POST " + at + "/v1/models":                        true,
			"GET " + at + "/v1/models":                         false,
			"GET " + at + "/v1/models?x=1":                     false,
			"GET " + at + "/v1/models?x=/v1/completions":       false,
		} {
			r := w.asking(token("anne", "engineers"))
			r.Method, r.Path, _ = strings.Cut(request, " ")
			a := w.gateway(model).Serve(r)
			Expect(a.Status).To(Equal(200))
			if counts {
				Expect(a.Counted).To(Equal(map[string][]any{"tokens-1-per-1m": {shortID(gold, model), "anne"}}), request)
			} else {
				Expect(a.Counted).To(BeEmpty(), request)
			}
		}
	})

	It("counts for exactly one limit, whatever rates others have, and no two limits have one condition (A11)", func() {
		all := map[string]*v1alpha1.MaaSSubscription{}
		for name, rates := range map[string][]v1alpha1.TokenRateLimit{
			"minute": {rate(100, "1m")}, "both": {rate(100, "1m"), rate(1000, "1h")}, "hour": {rate(1000, "1h")}, "twin": {rate(100, "1m")},
		} {
			all[name] = w.subscription(name).Owners(nil, []string{name}).Rates(model, rates...).Obj()
		}
		all["free"] = w.subscription("free").Owners(nil, []string{"free"}).Unlimited(model).Obj()
		for _, s := range all {
			subscribed(s)
		}
		for name, limit := range map[string]string{
			"minute": "tokens-100-per-1m", "twin": "tokens-100-per-1m", "hour": "tokens-1000-per-1h", "both": "tokens-100-per-1m-1000-per-1h", "free": "tokens-unlimited",
		} {
			r := w.asking(token(name, "engineers"))
			a := w.gateway(model).Serve(r)
			Expect(a.Status).To(Equal(200), name)
			Expect(a.Counted).To(And(HaveLen(1), HaveKey(limit)), name)
		}
		conditions := map[string]string{}
		for _, l := range w.limits(model)() {
			Expect(conditions).NotTo(HaveKey(l.Predicate))
			conditions[l.Predicate] = l.Name
		}
	})

	It("counts for its user alone: what one uses up leaves the others of the group theirs (A96, decision 22)", func() {
		gold := w.subscription("gold").Limit(model, 100, "1m").Obj()
		subscribed(gold)
		Expect(call("anne", "engineers").Counted).To(HaveKeyWithValue("tokens-100-per-1m", []any{shortID(gold, model), "anne"}))
		Expect(call("bob", "engineers").Counted).To(HaveKeyWithValue("tokens-100-per-1m", []any{shortID(gold, model), "bob"}))
	})

	It("has the quota of one subscription, never the sum: with several the caller says which (A20, decision 10)", func() {
		large, small := w.own("large"), w.own("small") // Groups that own nothing else of the tenant.
		gold := w.subscription("gold").Owners([]string{large}, nil).Limit(model, 10_000, "1m").Priority(30).Obj()
		silver := w.subscription("silver").Owners([]string{small}, nil).Limit(model, 20_000, "1m").Priority(20).Obj()
		subscribed(gold, silver)
		Expect(call("anne", "engineers", large, small)).To(And(HaveField("Status", 403), HaveField("Message", ContainSubstring("multiple subscriptions"))))
		for _, s := range []*v1alpha1.MaaSSubscription{gold, silver} {
			r := token("anne", "engineers", large, small)
			r.Headers = with(r.Headers, "x-maas-subscription", s.Name)
			a := w.gateway(model).Serve(w.asking(r))
			Expect(a.Status).To(Equal(200))
			Expect(a.Counted).To(And(HaveLen(1), ContainElement([]any{shortID(s, model), "anne"})))
		}
		minted, err := w.index().Mint(w.caller(map[string]any{"username": "anne", "groups": []any{large, small}}), "")
		Expect(err).NotTo(HaveOccurred())
		Expect(minted.Name).To(Equal(gold.Name), "a new key has the highest priority, also where that is less")
	})

	It("learns nothing of subscriptions that are not the caller's: an unknown name has the same answer (decision 9)", func() {
		theirs := w.subscription("theirs").Owners([]string{"strangers"}, nil).Limit(model, 5, "1m").Obj()
		subscribed(theirs, w.subscription("gold").Limit(model, 100, "1m").Obj())
		asks := func(name string) enforced.Answer {
			r := token("anne", "engineers")
			r.Headers = with(r.Headers, "x-maas-subscription", name)
			return w.gateway(model).Serve(w.asking(r))
		}
		known, unknown := asks(theirs.Name), asks("no-such-subscription")
		Expect(known.Status).To(Equal(403))
		Expect([]any{known.Status, known.Message}).To(Equal([]any{unknown.Status, unknown.Message}))
	})

	It("with a key has the key's subscription, whatever the header asks for (decision 9)", func() {
		gold, silver := w.subscription("gold").Limit(model, 100, "1m").Obj(), w.subscription("silver").Limit(model, 10, "1m").Obj()
		subscribed(gold, silver)
		r := w.asking(enforced.Request{Headers: with(bearer(apiKey), "x-maas-subscription", silver.Name), Validate: validKey("anne", gold.Name, "engineers")})
		Expect(w.gateway(model).Serve(r).Counted).To(Equal(map[string][]any{"tokens-100-per-1m": {shortID(gold, model), "anne"}}))
	})

	It("works at the healthy model of a Degraded subscription; at a Failed one's it is refused (9.5.106)", func() {
		half := w.subscription("half").Limit(model, 100, "1m").Limit(builder.Key(w.namespace, "ghost"), 100, "1m").Obj()
		failed := w.subscription("failed").Owners([]string{"losers"}, nil).Limit(builder.Key(w.namespace, "ghost"), 100, "1m").Obj()
		w.create(half, failed)
		Eventually(w.phase(half)).Should(Equal(v1alpha1.PhaseDegraded))
		Eventually(w.phase(failed)).Should(Equal(v1alpha1.PhaseFailed))
		w.guarded(model)
		Eventually(call).WithArguments("anne", any("engineers")).Should(And(HaveField("Status", 200), HaveField("Counted", HaveLen(1))))
		w.create(w.authPolicy("losers", model).Subjects([]string{"losers"}, nil).Obj())
		Eventually(w.subjectRule(model)).Should(ContainSubstring("losers"))
		Expect(call("lou", "losers").Status).To(Equal(403))
	})

	It("is refused at the model whose limit is not enforced, though others of the subscription are (9.5.106)", func() {
		second := w.governed("second")
		gold := w.subscription("gold").Limit(model, 100, "1m").Limit(second, 100, "1m").Obj()
		subscribed(gold)
		w.annotate(w.limitPolicy(second), "false")
		w.edit(gold, func() { gold.Spec.ModelRefs[1].TokenRateLimits[0].Limit = 200 })
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseDegraded))
		Expect(call("anne", "engineers").Status).To(Equal(200))
		Expect(w.gateway(second).Serve(w.asking(token("anne", "engineers"))).Status).To(Equal(403))
	})

	It("is refused once the last subscription is gone, and its limit is gone too (9.5.107)", func() {
		gold := w.subscription("gold").Limit(model, 100, "1m").Obj()
		subscribed(gold)
		before := call("anne", "engineers")
		Expect(before.Status).To(Equal(200))
		w.removeAll(gold)
		Eventually(func() any { return w.limitPolicy(model) }).Should(BeNil())
		Expect(call("anne", "engineers").Status).To(Equal(403))
		Eventually(func() any { return call("anne", "engineers").Cached["subscription-info"] }).ShouldNot(
			Equal(before.Cached["subscription-info"]), "what the gateway remembers of the subscription no longer counts")
	})

	It("of another tenant's subscriber is refused; who subscribes here does not notice (A.5, W-01)", func() {
		gold := w.subscription("gold").Limit(model, 100, "1m").Obj()
		subscribed(gold)
		version := w.limitPolicy(model).GetResourceVersion()
		red := w.tenant("red")
		policy, foreign := red.pair(red.Namespace(), w.modelRef(model))
		Eventually(w.phase(foreign)).Should(Equal(v1alpha1.PhaseFailed))
		Eventually(func() []v1alpha1.ModelRefStatus { return reload(w, foreign).Status.ModelRefStatuses }).Should(
			HaveExactElements(HaveField("ResourceRefStatus.Reason", v1alpha1.ReasonForeignTenant)))
		Consistently(w.phase(gold)).WithTimeout(quiet).Should(Equal(v1alpha1.PhaseActive))
		Expect(w.limitPolicy(model).GetResourceVersion()).To(Equal(version))
		Expect(call("anne", "engineers").Status).To(Equal(200))
		w.removeAll(policy, foreign)
	})

	It("is decided by names exactly as they are written, whatever characters they have (B13)", func() {
		names := []string{`DOMAIN\alice`, `o'hara "x" ${y} {{z}}`, "系统"}
		w.create(w.authPolicy("odd", model).Subjects(nil, names).Obj())
		subscribed(w.subscription("odd").Owners(nil, names).Limit(model, 100, "1m").Obj())
		Eventually(w.subjectRule(model)).Should(ContainSubstring("hara"))
		for _, name := range names {
			Expect(call(name).Status).To(Equal(200), name)
		}
		Expect(call(`DOMAIN\\alice`).Status).To(Equal(403))
		Expect(call("DOMAINalice").Status).To(Equal(403))
	})
})
