// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/contract"
	"github.com/opendatahub-io/maas-operator/test/service"
)

const keysPath = "/v1/api-keys"

// lifetime is how long a new key lives.
func lifetime(k service.CreatedKey) time.Duration {
	GinkgoHelper()
	begin := must(time.Parse(time.RFC3339, k.CreatedAt))
	return must(time.Parse(time.RFC3339, k.ExpiresAt)).Sub(begin)
}

var _ = Describe("A new key", func() {
	It("belongs to the caller, with the groups of now and the subscription of the highest priority (E-1, E-2, E-24, E-41, E-45, E-102)", func(ctx SpecContext) {
		user := unique("maker")
		maker := api.Client().As(user, commonGroup, specialGroup)
		first := must(maker.Create(ctx, service.CreateKey{Name: "my-key"}))
		second := must(maker.Create(ctx, service.CreateKey{Name: "my-key"}))
		Expect(second).To(And(Not(HaveField("Key", first.Key)), Not(HaveField("ID", first.ID))), "names need not be unique")
		Expect(first.Key).To(MatchRegexp(`^sk-oai-[0-9A-Za-z]{12,}_[0-9A-Za-z]+$`))
		Expect(first.KeyPrefix).To(Equal(first.Key[:len("sk-oai-")+12] + "..."))
		Expect(first.Subscription).To(Equal(specialName))
		Expect(lifetime(first)).To(Equal(90*24*time.Hour), "the longest there is")

		Expect(count(ctx, `SELECT count(*) FROM api_keys WHERE id = $1 AND key_hash = $2 AND username = $3 AND subscription = $4 AND tenant = $5
			AND status = 'active' AND user_groups = $6 AND labels IS NULL AND NOT ephemeral`,
			first.ID, hashOf(first.Key), user, specialName, service.Tenant, []string{"system:authenticated", commonGroup, specialGroup})).To(Equal(1))
		for _, shown := range []service.Response{
			get(ctx, maker, keysPath+"/"+first.ID), post(ctx, maker, keysPath+"/search", `{}`),
		} {
			Expect(string(shown.Body)).NotTo(Or(ContainSubstring("sk-oai-"), ContainSubstring(hashOf(first.Key))), "it is shown only once")
		}
	})

	It("is bound to the subscription that is named, bare or with its namespace (E-25)", func(ctx SpecContext) {
		maker := api.Client().As(unique("maker"), commonGroup, specialGroup)
		for _, name := range []string{commonName, service.Tenant + "/" + commonName, "  " + commonName + "\t"} {
			Expect(must(maker.Create(ctx, service.CreateKey{Name: "bound", Subscription: name})).Subscription).To(Equal(commonName))
		}
	})

	It("is not made for a subscription that the caller does not own, and why is one secret (E-26)", func(ctx SpecContext) {
		maker, user := member()
		homeless := api.Client().As(user)
		for _, refused := range []service.Response{
			post(ctx, maker, keysPath, service.CreateKey{Name: "x", Subscription: "no-such-thing"}),
			post(ctx, maker, keysPath, service.CreateKey{Name: "x", Subscription: specialName}),
			post(ctx, maker, keysPath, service.CreateKey{Name: "x", Subscription: "elsewhere/" + commonName}),
			post(ctx, maker, keysPath, service.CreateKey{Name: "x", Subscription: `'; DROP TABLE api_keys; --`}),
			post(ctx, homeless, keysPath, service.CreateKey{Name: "x"}),
		} {
			Expect(refused).To(exactly(http.StatusBadRequest,
				`{"error":"Unable to resolve a subscription for this API key","code":"invalid_subscription"}`))
		}
		Expect(count(ctx, `SELECT count(*) FROM api_keys WHERE username = $1`, user)).To(BeZero())
	})

	It("is bound by the state of the subscription, the same whether it was named or chosen (E-27, W-9 fixed)", func(ctx SpecContext) {
		group := unique("phased")
		phased := func(phase v1alpha1.Phase) *builder.SubscriptionBuilder {
			return builder.Subscription(service.Tenant, unique("phased")).Owners([]string{group}, nil).Unlimited(commonModel).Phase(phase)
		}
		active, degraded, pending := phased(v1alpha1.PhaseActive).Obj(), phased(v1alpha1.PhaseDegraded).Obj(), phased(v1alpha1.PhasePending).Obj()
		failed, invalid := phased(v1alpha1.PhaseFailed).Priority(90).Obj(), phased(v1alpha1.PhaseInvalid).Obj()
		unreconciled := phased("").Priority(80).Obj()
		unreconciled.Status = v1alpha1.MaaSSubscriptionStatus{}
		leaving := phased(v1alpha1.PhaseActive).Priority(99).Obj()
		leaving.Finalizers = []string{"example.com/stay"}
		publish(ctx, active, degraded, pending, failed, invalid, unreconciled, leaving)
		Expect(on.Admin.Delete(ctx, leaving)).To(Succeed())
		settle(ctx)

		maker := api.Client().As(unique("maker"), group)
		for _, good := range []*v1alpha1.MaaSSubscription{active, degraded, pending} {
			Expect(must(maker.Create(ctx, service.CreateKey{Name: "x", Subscription: good.Name})).Subscription).To(Equal(good.Name))
		}
		named := func(s *v1alpha1.MaaSSubscription) service.Response {
			return post(ctx, maker, keysPath, service.CreateKey{Name: "x", Subscription: s.Name})
		}
		Expect(named(failed)).To(answer(http.StatusForbidden, "Failed phase", `"code":"subscription_not_ready"`))
		Expect(named(unreconciled)).To(answer(http.StatusBadRequest, "unreconciled", `"code":"subscription_not_ready"`))
		Expect(named(invalid)).To(answer(http.StatusBadRequest, "Invalid phase", `"code":"subscription_not_ready"`), "an earlier release took it")
		Expect(named(leaving)).To(answer(http.StatusBadRequest, "being deleted", `"code":"subscription_not_ready"`), "an earlier release took it")
		Expect(must(maker.Create(ctx, service.CreateKey{Name: "x"})).Subscription).
			To(BeElementOf(active.Name, degraded.Name, pending.Name), "those of higher priority are not fit")
	})

	DescribeTable("has a name (E-28, E-29, E-31)", func(ctx SpecContext, body, want string) {
		maker, _ := member()
		Expect(post(ctx, maker, keysPath, body)).To(answer(http.StatusBadRequest, want))
	},
		Entry("that is given", `{}`, "name is required"),
		Entry("that is more than space", `{"name":" \t\n "}`, "whitespace only"),
		Entry("that is more than space for an ephemeral key too", `{"ephemeral":true,"name":"  "}`, "whitespace only"),
		Entry("without a line break", `{"name":"a\nb"}`, "control characters"),
		Entry("of at most 128 characters", `{"name":"`+strings.Repeat("é", 129)+`"}`, "exceed 128"),
	)

	It("has any other name, trimmed (E-29)", func(ctx SpecContext) {
		maker, _ := member()
		for _, name := range []string{"x", "😀 Ключ مفتاح κλειδί.:", strings.Repeat("é", 128), `<b>"'; --`} {
			Expect(must(maker.Create(ctx, service.CreateKey{Name: "  " + name + " "})).Name).To(Equal(name))
		}
	})

	It("lives for an hour at most when it is ephemeral, and needs no name then (E-30, E-32)", func(ctx SpecContext) {
		maker, _ := member()
		short := must(maker.Create(ctx, service.CreateKey{Ephemeral: true}))
		Expect(short.Name).To(HavePrefix("ephemeral-"))
		Expect(short.Ephemeral).To(BeTrue())
		Expect(lifetime(short)).To(Equal(time.Hour))
		Expect(verdict(ctx, api, short.Key)).To(HaveField("Subscription", commonName))
		Expect(lifetime(must(maker.Create(ctx, service.CreateKey{Ephemeral: true, ExpiresIn: "30m"})))).To(Equal(30 * time.Minute))
		Expect(post(ctx, maker, keysPath, `{"ephemeral":true,"expiresIn":"2h"}`)).To(answer(http.StatusBadRequest, "cannot exceed 1h0m0s"))
	})

	It("lives for as long as this replica allows (E-33, A87)", func(ctx SpecContext) {
		maker := peer.Client().As(unique("maker"), commonGroup)
		Expect(lifetime(newKey(ctx, maker))).To(Equal(peerDays * 24 * time.Hour))
		Expect(lifetime(must(maker.Create(ctx, service.CreateKey{Name: "x", ExpiresIn: "30d"})))).To(Equal(30 * 24 * time.Hour))
		Expect(post(ctx, maker, keysPath, `{"name":"x","expiresIn":"60d"}`)).To(answer(http.StatusBadRequest, "exceeds maximum allowed", "30 days"))
		Expect(get(ctx, maker, keysPath+"/config")).To(exactly(http.StatusOK, `{"max_expiration_days":30,"ephemeral_max_expiration":"1h0m0s"}`))
		Expect(get(ctx, api.Client().As(unique("maker")), keysPath+"/config")).To(answer(http.StatusOK, `"max_expiration_days":90`))
	})

	DescribeTable("lives for the time that is asked for (E-35, E-36)", func(ctx SpecContext, expiresIn string, want time.Duration) {
		maker, _ := member()
		made := post(ctx, maker, keysPath, `{"name":"x","expiresIn":`+expiresIn+`}`)
		Expect(made).To(answer(http.StatusCreated))
		var key service.CreatedKey
		Expect(made.Into(&key)).To(Succeed())
		Expect(lifetime(key)).To(BeNumerically("~", want, time.Second))
	},
		Entry("in days", `"1.5d"`, 36*time.Hour), Entry("in a form of decimals", `"1e1d"`, 240*time.Hour),
		Entry("in Go's form", `"2h30m"`, 150*time.Minute), Entry("in seconds", `3600`, time.Hour),
		Entry("in parts of a second", `0.5`, 500*time.Millisecond), Entry("by default", `null`, 90*24*time.Hour),
	)

	DescribeTable("is not made to live for what is no time (E-35, E-36, E-37)", func(ctx SpecContext, expiresIn, want string) {
		maker, user := member()
		Expect(post(ctx, maker, keysPath, `{"name":"x","expiresIn":`+expiresIn+`}`)).To(answer(http.StatusBadRequest, want))
		Expect(count(ctx, `SELECT count(*) FROM api_keys WHERE username = $1`, user)).To(BeZero())
	},
		Entry("zero", `0`, "expiration must be positive"), Entry("nothing", `""`, "expiration must be positive"),
		Entry("less than nothing", `"-1h"`, "expiration must be positive"), Entry("a truth", `true`, "invalid duration"),
		Entry("days and hours", `"1d12h"`, "invalid duration"), Entry("hours and days", `"12h1d"`, "invalid duration"),
		Entry("a leading space", `" 30d"`, "invalid duration"), Entry("no number of days", `"NaNd"`, "invalid duration"),
		Entry("endless days", `"Infd"`, "invalid duration"), Entry("more than there is", `1e300`, "invalid duration"),
	)

	It("takes groups that the gateway passes on, and names the fault of others (E-38, E-39, W-11 fixed: 500)", func(ctx SpecContext) {
		maker, user := member()
		Expect(must(maker.As(user, commonGroup, "/team/a", "a:b.c_d-e").Create(ctx, service.CreateKey{Name: "x"})).Name).To(Equal("x"))
		for _, group := range []string{"a b", `a"b`, `a\b`, "a,b", "a;b", "a{b}", "a$b", "a@b", "a\tb", "grüße"} {
			Expect(post(ctx, maker.As(user, commonGroup, group), keysPath, `{"name":"x"}`)).
				To(And(answer(http.StatusBadRequest, `"code":"invalid_group"`), Not(answer(http.StatusBadRequest, group))), group)
		}
	})

	It("has no text with the character NUL (E-40 fixed: 500)", func(ctx SpecContext) {
		maker, _ := member()
		Expect(post(ctx, maker, keysPath, `{"name":"x","description":"a\u0000b"}`)).To(answer(http.StatusBadRequest, "NUL"))
	})

	It("has labels, which it echoes (E-41, A79)", func(ctx SpecContext) {
		maker, _ := member()
		many := map[string]string{"example.com/team": "search", "a.b_c-d": strings.Repeat("v", 1024)}
		for i := len(many); i < 50; i++ {
			many[fmt.Sprintf("label%d", i)] = "😀"
		}
		key := must(maker.Create(ctx, service.CreateKey{Name: "x", Labels: many}))
		Expect(key.Labels).To(Equal(many))
		Expect(must(maker.Get(ctx, key.ID)).Labels).To(Equal(many))
		bare := post(ctx, maker, keysPath, `{"name":"x","labels":{}}`)
		Expect(bare).To(And(answer(http.StatusCreated), Not(answer(http.StatusCreated, "labels"))))
	})

	DescribeTable("has no labels of another form (E-42)", func(ctx SpecContext, labels, want string) {
		maker, _ := member()
		Expect(post(ctx, maker, keysPath, `{"ephemeral":true,"labels":`+labels+`}`)).To(answer(http.StatusBadRequest, want))
	},
		Entry("an empty name", `{"":"v"}`, "cannot be empty"), Entry("an empty value", `{"k":""}`, "cannot be empty"),
		Entry("a long name", `{"`+strings.Repeat("k", 129)+`":"v"}`, "exceeds 128"),
		Entry("a long value", `{"k":"`+strings.Repeat("v", 1025)+`"}`, "exceeds 1024"),
		Entry("two slashes", `{"a/b/c":"v"}`, "invalid characters"), Entry("a line break", `{"k":"a\nb"}`, "control characters"),
		Entry("too many", `{`+manyLabels(51)+`}`, "cannot exceed 50"),
	)

	It("is counted by what came of it (E-43)", func(ctx SpecContext) {
		of := func(result string) float64 {
			return series(ctx, api, "maas_api_token_mint_total", `result="`+result+`"`)
		}
		success, rejected, failure := of("success"), of("rejected"), of("failure")
		maker, _ := member()
		newKey(ctx, maker)
		post(ctx, maker, keysPath, `{"name":"x","expiresIn":0}`)
		post(ctx, maker, keysPath, `{"name":"x","subscription":"no-such-thing"}`)
		post(ctx, maker, keysPath, `{}`)
		Expect(of("success")).To(Equal(success + 1))
		Expect(of("rejected")).To(Equal(rejected+2), "a missing name is none of them")
		Expect(of("failure")).To(Equal(failure))
	})

	It("is not the one too many of its owner (W-14 fixed)", func(ctx SpecContext) {
		maker := peer.Client().As(unique("maker"), commonGroup)
		var last service.CreatedKey
		for range peerKeys {
			last = newKey(ctx, maker)
		}
		Expect(post(ctx, maker, keysPath, `{"name":"x"}`)).To(answer(http.StatusForbidden, "4 active API keys", `"code":"key_limit_reached"`))
		must(maker.Revoke(ctx, last.ID))
		newKey(ctx, maker)
	})

	It("is bound to the subscription of the key that its maker comes with", func(ctx SpecContext) {
		user := unique("maker")
		maker := api.Client().As(user, commonGroup, specialGroup)
		key := must(maker.Create(ctx, service.CreateKey{Name: "x", Subscription: commonName}))
		holder := api.Client().AsKey(key, user, commonGroup, specialGroup)
		Expect(newKey(ctx, holder).Subscription).To(Equal(commonName), "not the one of the highest priority")
		Expect(post(ctx, holder, keysPath, service.CreateKey{Name: "x", Subscription: specialName})).To(answer(http.StatusBadRequest, "invalid_subscription"))
		Expect(post(ctx, holder.With(service.HeaderSubscription), keysPath, `{"name":"x"}`)).To(answer(http.StatusBadRequest, "invalid_subscription"))
	})

	It("does not outlive the key that its maker comes with, which must be the maker's", func(ctx SpecContext) {
		user := unique("maker")
		maker := api.Client().As(user, commonGroup)
		short := must(maker.Create(ctx, service.CreateKey{Name: "x", ExpiresIn: "1h"}))
		holder := api.Client().AsKey(short, user, commonGroup)
		Expect(lifetime(newKey(ctx, holder))).To(BeNumerically("~", time.Hour, time.Minute), "not the usual one")
		Expect(post(ctx, holder, keysPath, `{"name":"x","expiresIn":"2h"}`)).To(answer(http.StatusBadRequest, "outlive"))
		Expect(post(ctx, api.Client().AsKey(short, unique("thief"), commonGroup), keysPath, `{"name":"x"}`)).To(answer(http.StatusForbidden, "not valid for its caller"))
		must(maker.Revoke(ctx, short.ID))
		Expect(post(ctx, holder, keysPath, `{"name":"x"}`)).To(answer(http.StatusForbidden, "not valid for its caller"))
	})

	It("may be asked for with members that nobody knows", func(ctx SpecContext) {
		maker, _ := member()
		outside := contract.Outside(ctx)
		Expect(must(maker.Do(outside, http.MethodPost, keysPath, `{"name":"x","surprise":{"a":[1]},"ephemeral":null} trailing`))).
			To(answer(http.StatusCreated))
	})
})

func manyLabels(n int) string {
	pairs := make([]string, 0, n)
	for i := range n {
		pairs = append(pairs, fmt.Sprintf(`"k%d":"v"`, i))
	}
	return strings.Join(pairs, ",")
}
