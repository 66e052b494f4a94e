// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/internal/enforced"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

const (
	shortProperty  = "auth.identity.selected_subscription_id"
	legacyProperty = "auth.identity.selected_subscription_key"
	userProperty   = "auth.identity.userid"
	notDiscovery   = ` && !(request.method == "GET" && request.url_path.endsWith("/v1/models"))`
)

// shortID is computed here from the documented rule, not by the product.
func shortID(s *v1alpha1.MaaSSubscription, model types.NamespacedName) string {
	sum := sha256.Sum256([]byte(modelScopedKey(s, model)))
	return hex.EncodeToString(sum[:])[:16]
}

func modelScopedKey(s *v1alpha1.MaaSSubscription, model types.NamespacedName) string {
	return fmt.Sprintf("%s/%s@%s/%s", s.Namespace, s.Name, model.Namespace, model.Name)
}

// limits reads the generated limits of a model by name, for Eventually.
func (w world) limits(model types.NamespacedName) func() []enforced.Limit {
	return func() []enforced.Limit {
		GinkgoHelper()
		policy := w.limitPolicy(model)
		if policy == nil {
			return nil
		}
		var spec struct {
			Limits map[string]struct {
				When     []struct{ Predicate string }
				Counters []struct{ Expression string }
			}
		}
		raw, err := json.Marshal(policy.Object["spec"])
		Expect(err).NotTo(HaveOccurred())
		Expect(json.Unmarshal(raw, &spec)).To(Succeed())
		Expect(spec.Limits).To(HaveKey("nobody"), "who gets nothing")
		delete(spec.Limits, "nobody")
		var out []enforced.Limit
		for _, name := range slices.Sorted(maps.Keys(spec.Limits)) {
			l := enforced.Limit{Name: name}
			Expect(spec.Limits[name].When).To(HaveLen(1), "one condition")
			l.Predicate = spec.Limits[name].When[0].Predicate
			for _, counter := range spec.Limits[name].Counters {
				l.Counters = append(l.Counters, counter.Expression)
			}
			out = append(out, l)
		}
		return out
	}
}

func limit(name, predicate string, counters ...string) any {
	return Equal(enforced.Limit{Name: name, Predicate: predicate, Counters: counters})
}

func rate(limit int64, window string) v1alpha1.TokenRateLimit {
	return v1alpha1.TokenRateLimit{Limit: limit, Window: window}
}

var _ = Describe("The limits of a model", func() {
	It("are one limit with one condition for one subscription: no group, no header, nothing denied (9.5.95, A.3)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		gold := w.subscription("gold").Limit(model, 100, "1m").Obj()
		w.create(gold)
		Eventually(w.limits(model)).Should(HaveExactElements(limit("tokens-100-per-1m",
			fmt.Sprintf("%s == %q", shortProperty, shortID(gold, model))+notDiscovery, shortProperty, userProperty)))
	})

	It("are shared by subscriptions of equal rates, whatever the order of rates and members (A.1, A.3)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		a := w.subscription("a").Rates(model, rate(99999, "1s"), rate(1000, "1h")).Obj()
		b := w.subscription("b").Rates(model, rate(1000, "1h"), rate(99999, "1s")).Obj()
		w.create(b, a)
		ids := []string{shortID(a, model), shortID(b, model)}
		if ids[0] > ids[1] {
			ids[0], ids[1] = ids[1], ids[0]
		}
		Eventually(w.limits(model)).Should(HaveExactElements(limit("tokens-1000-per-1h-99999-per-1s",
			fmt.Sprintf("(%s == %q || %s == %q)", shortProperty, ids[0], shortProperty, ids[1])+notDiscovery, shortProperty, userProperty)))
	})

	It("are named by strings: 10 sorts before 9, and 1m is not 60s (A.1)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		w.create(
			w.subscription("two").Rates(model, rate(9, "1m"), rate(10, "1m")).Obj(),
			w.subscription("minute").Limit(model, 5, "1m").Obj(),
			w.subscription("seconds").Limit(model, 5, "60s").Obj(),
		)
		Eventually(w.limitNames(model)).Should(ConsistOf("tokens-10-per-1m-9-per-1m", "tokens-5-per-1m", "tokens-5-per-60s"))
	})

	It("have windows exactly as written (9.5.99, A.6)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		for _, window := range []string{"30s", "5m", "24h", "8784h"} {
			w.create(w.subscription("in-"+window).Limit(model, 100, window).Obj())
		}
		w.create(w.subscription("gold").Limit(model, 1, "9999s").Obj())
		Eventually(w.limitNames(model)).Should(ConsistOf("tokens-100-per-30s", "tokens-100-per-5m", "tokens-100-per-24h", "tokens-100-per-8784h", "tokens-1-per-9999s"))
	})

	It("hold unlimited subscriptions in one limit without rates and counters (S-06)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		free := w.subscription("free").Unlimited(model).Obj()
		w.create(free)
		Eventually(w.limits(model)).Should(HaveExactElements(And(HaveField("Name", "tokens-unlimited"),
			HaveField("Predicate", fmt.Sprintf("%s == %q", shortProperty, shortID(free, model))+notDiscovery), HaveField("Counters", BeEmpty()))))
		Eventually(w.phase(free)).Should(Equal(v1alpha1.PhaseActive))
	})

	It("keep names apart that only look alike when joined (W-36)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		one, other := w.subscription("a-b").Limit(model, 100, "1m").Obj(), w.subscription("a").Limit(model, 100, "1m").Obj()
		w.create(one, other)
		Eventually(w.limits(model)).Should(HaveExactElements(HaveField("Predicate",
			And(ContainSubstring(shortID(one, model)), ContainSubstring(shortID(other, model))))))
	})

	It("test the path without the query, so that ?x=/v1/models exempts nothing (A07, B11, A.9)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		w.create(w.subscription("gold").Limit(model, 1, "1m").Obj())
		Eventually(w.limits(model)).Should(HaveExactElements(HaveField("Predicate",
			And(HaveSuffix(notDiscovery), Not(ContainSubstring("request.path"))))))
	})

	It("are at most six for 500 subscriptions with three sets of rates (A.10)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		mark := audit.Now()
		const count = 500
		for i := range count {
			w.create(w.subscription(fmt.Sprintf("s%03d", i)).Limit(model, int64(100+i%3), "1m").Obj())
		}
		Eventually(func() int {
			return len(strings.Split(w.limitPolicy(model).GetAnnotations()[v1alpha1.AnnotationSubscriptions], ","))
		}).Should(Equal(count))
		Expect(w.limitNames(model)()).To(ConsistOf("tokens-100-per-1m", "tokens-101-per-1m", "tokens-102-per-1m"))
		Expect(w.writes(mark, "kuadrant.io", "tokenratelimitpolicies")).To(BeNumerically("<=", 20), "writes of the policy while objects came one by one")
	})
})

var _ = Describe("The identity of a subscription in limits", func() {
	It("is short for a new one and stays so; a recreated one is short too (A.4)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		gold := w.subscription("gold").Limit(model, 100, "1m").Obj()
		w.create(gold)
		identity := func() v1alpha1.RateLimitIdentity { return reload(w, gold).Status.RateLimitIdentity }
		Eventually(identity).Should(Equal(v1alpha1.RateLimitIdentityShort))
		Expect(on.Admin.Delete(w.ctx, gold)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(on.Admin.Get(w.ctx, client.ObjectKeyFromObject(gold), gold))
		}).Should(BeTrue())
		gold = w.subscription("gold").Limit(model, 100, "1m").Obj()
		w.create(gold)
		Eventually(identity).Should(Equal(v1alpha1.RateLimitIdentityShort))
	})

	It("is legacy for one that an earlier release knew, and both kinds have a limit of their own (A.2)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		old := w.subscription("old").Limit(model, 100, "1m").Obj()
		old.Finalizers = []string{v1alpha1.FinalizerSubscriptionCleanup}
		fresh := w.subscription("fresh").Limit(model, 100, "1m").Obj()
		w.create(old, fresh)
		Eventually(w.limits(model)).Should(HaveExactElements(
			limit("tokens-100-per-1m", fmt.Sprintf("%s == %q", legacyProperty, modelScopedKey(old, model))+notDiscovery, legacyProperty, userProperty),
			limit("tokens-100-per-1m-id", fmt.Sprintf("%s == %q", shortProperty, shortID(fresh, model))+notDiscovery, shortProperty, userProperty),
		))
		Eventually(func() []string { return reload(w, old).Finalizers }).Should(BeEmpty(), "the finalizer was evidence, and goes")
		Expect(old.Status.RateLimitIdentity).To(Equal(v1alpha1.RateLimitIdentityLegacy))
	})

	It("keeps the short limit's name when the last legacy member leaves: no live quota resets (W-06)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		old := w.subscription("old").Limit(model, 100, "1m").Obj()
		old.Finalizers = []string{v1alpha1.FinalizerSubscriptionCleanup}
		w.create(old, w.subscription("fresh").Limit(model, 100, "1m").Obj())
		Eventually(w.limitNames(model)).Should(ConsistOf("tokens-100-per-1m", "tokens-100-per-1m-id"))
		Expect(on.Admin.Delete(w.ctx, old)).To(Succeed())
		Eventually(w.limitNames(model)).Should(ConsistOf("tokens-100-per-1m-id"))
		Expect(on.Admin.Create(w.ctx, w.subscription("later").Limit(model, 100, "1m").Obj())).To(Succeed())
		Eventually(func() string { return w.limitPolicy(model).GetAnnotations()[v1alpha1.AnnotationSubscriptions] }).Should(ContainSubstring("later"))
		Expect(w.limitNames(model)()).To(ConsistOf("tokens-100-per-1m-id"))
	})
})
