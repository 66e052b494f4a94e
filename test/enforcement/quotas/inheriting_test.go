// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// Subscriptions of one model with the same limit of 20 an hour.
const (
	older, newer, newest = "older", "newer", "newest"
)

// inheriting is about limits with the two kinds of counters: those of an earlier
// release, and ours.
func inheriting() {
	g := NewGomega(Fail)

	It("counts each kind once, and no arrival or departure resets what is counted (W-06)", func(ctx SpecContext) {
		model := at.tenant.Model("old")
		same := func(name string) *builder.SubscriptionBuilder {
			return at.subscription(name).Limit(model.Key(), 20, "1h")
		}
		legacy := same(older).Obj()
		legacy.Finalizers = []string{v1alpha1.FinalizerSubscriptionCleanup}
		Expect(at.publish(ctx, []*v1alpha1.MaaSSubscription{legacy}, model)).To(Succeed())
		Expect(identities(ctx)).To(HaveKeyWithValue(older, v1alpha1.RateLimitIdentityLegacy))

		afresh(ctx, g)
		of := func(name string) asking { return at.at(model, at.alice.by(name)) }
		use := func(name string) {
			answer := send(ctx, g, of(name).chat(1))
			Expect(answer.tokens).To(Equal(uint64(upstreamCost)), answer.String)
			Expect(limitsOf(answer.Decision)).To(HaveLen(1), "each request is held against one limit")
		}
		use(older)
		Expect(counted(ctx, g, of(older))).To(Equal([]uint64{5}))

		By("another one of our own, with the same limit")
		Expect(at.subscribe(ctx, same(newer).Obj())).To(Succeed())
		Expect(identities(ctx)).To(HaveKeyWithValue(newer, v1alpha1.RateLimitIdentityShort))
		Expect(counted(ctx, g, of(older))).To(Equal([]uint64{5}))
		use(newer)
		use(newer)
		Expect(counted(ctx, g, of(older))).To(Equal([]uint64{5, 10}))

		By("a third one")
		Expect(at.subscribe(ctx, same(newest).Obj())).To(Succeed())
		Expect(counted(ctx, g, of(older))).To(Equal([]uint64{5, 10}))

		By("the older one leaves")
		remove(ctx, older)
		awaitRefused(ctx, of(older))
		use(newer)
		Expect(counted(ctx, g, of(newer))).To(ContainElement(uint64(15)))

		By("the older one comes again under its name: it is a new one")
		Expect(at.subscribe(ctx, same(older).Obj())).To(Succeed())
		Expect(identities(ctx)).To(HaveKeyWithValue(older, v1alpha1.RateLimitIdentityShort))
		use(newer)
		Expect(counted(ctx, g, of(newer))).To(ContainElement(uint64(20)))
		refused(ctx, g, of(newer).chat(1))
	}, SpecTimeout(specTimeout))
}

// upstreamCost is what the world's upstream tells to have used.
const upstreamCost = 5

// identities are those of all subscriptions of the tenant.
func identities(ctx context.Context) map[string]v1alpha1.RateLimitIdentity {
	GinkgoHelper()
	list := &v1alpha1.MaaSSubscriptionList{}
	Expect(on.Admin.List(ctx, list)).To(Succeed())
	all := map[string]v1alpha1.RateLimitIdentity{}
	for _, s := range list.Items {
		all[s.Name] = s.Status.RateLimitIdentity
	}
	return all
}

// remove deletes a subscription.
func remove(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(on.Admin.Delete(ctx, at.subscription(name).Obj())).To(Succeed())
}

// awaitRefused waits until somebody may no longer use a model.
func awaitRefused(ctx context.Context, a asking) {
	GinkgoHelper()
	Expect(on.AwaitAnswer(ctx, a.list(), func(answer world.Answer) bool { return answer.Status == 403 })).To(Succeed())
}
