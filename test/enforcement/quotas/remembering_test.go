// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"context"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/service"
)

const (
	// defaultTTL is how long the gateway remembers what maas-api said, shortTTL how long
	// in the specs that wait for it.
	defaultTTL = 60 * time.Second
	shortTTL   = 3 * time.Second
	// learning is how long maas-api and the engines may take to learn of a change on a
	// busy machine.
	learning = 5 * time.Second
)

// watch asks with keys that are revoked.
type watch struct {
	done chan struct{}
	// served are how long after each revocation the last request was sent that was
	// served.
	served []time.Duration
	err    error
}

// watchRevoked begins to, with keys that the gateway remembers. Authorino forgets
// everything when it looks at a policy again, which it may do for a while after a policy
// has changed: then another key is tried.
func (f *fixture) watchRevoked(ctx context.Context) {
	const tries = 10
	f.revoked = &watch{done: make(chan struct{})}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	DeferCleanup(func() {
		cancel()
		<-f.revoked.done
	})
	go func() {
		defer close(f.revoked.done)
		for try := 0; try < tries && !f.revoked.remembered() && f.revoked.err == nil; try++ {
			f.revoked.err = f.revoked.look(background, f)
		}
	}()
}

// remembered tells whether a key was good for longer than can be had otherwise.
func (w *watch) remembered() bool {
	return len(w.served) > 0 && w.served[len(w.served)-1] > shortTTL+learning
}

// look revokes a key, and asks again and again until it is refused.
func (w *watch) look(ctx context.Context, f *fixture) error {
	key, created, err := f.key(ctx, f.alice, service.CreateKey{Name: "kept", Subscription: lasting})
	if err != nil {
		return err
	}
	request := f.at(f.kept, key).list()
	if err := on.AwaitServed(ctx, request); err != nil {
		return err
	}
	if err := f.tenant.Revoke(ctx, f.alice.token(), created.ID); err != nil {
		return err
	}
	revoked, served := time.Now(), time.Duration(0)
	tick := time.NewTicker(perToken * 10)
	defer tick.Stop()
	for {
		sent := time.Now()
		answer, err := on.Do(ctx, request)
		if err != nil {
			return err
		}
		if answer.Status != http.StatusOK {
			w.served = append(w.served, served)
			return nil
		}
		served = sent.Sub(revoked)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// remembering is about how soon a change is felt: what maas-api has said is remembered.
func remembering() {
	It("lets a revoked key in for as long as it remembers by default, and not longer", func(ctx SpecContext) {
		Eventually(ctx, at.revoked.done).WithTimeout(3 * defaultTTL).Should(BeClosed())
		Expect(at.revoked.err).NotTo(HaveOccurred())
		AddReportEntry("revoked keys were good for", at.revoked.served)
		Expect(at.revoked.served).To(HaveEach(BeNumerically("<=", defaultTTL+time.Second)))
		Expect(at.revoked.remembered()).To(BeTrue())
	}, SpecTimeout(specTimeout))

	Describe("for a few seconds only", Ordered, ContinueOnFailure, func() {
		brief := func() world.Model { return at.tenant.Model("brief") }
		BeforeAll(func(ctx SpecContext) { rememberBriefly(ctx, brief()) }, NodeTimeout(specTimeout))

		It("lets nobody be unlimited by a subscription that comes", func(ctx SpecContext) { joined(ctx) }, SpecTimeout(specTimeout))

		It("keeps what is counted when anything but the limit changes", func(ctx SpecContext) { keep(ctx) }, SpecTimeout(specTimeout))

		It("refuses a key that is revoked", func(ctx SpecContext) {
			key, created, err := at.key(ctx, at.alice, service.CreateKey{Name: "brief", Subscription: "brief"})
			Expect(err).NotTo(HaveOccurred())
			felt(ctx, at.at(brief(), key), func() { Expect(at.tenant.Revoke(ctx, at.alice.token(), created.ID)).To(Succeed()) })
		}, SpecTimeout(specTimeout))

		It("refuses a key that expires", func(ctx SpecContext) {
			const life = 5 * time.Second
			begin := time.Now()
			key, _, err := at.key(ctx, at.alice, service.CreateKey{Name: "short-lived", Subscription: "brief", ExpiresIn: int(life.Seconds())})
			Expect(err).NotTo(HaveOccurred())
			h := strike(ctx, 1, at.at(brief(), key).list())
			h.settles(ctx, http.StatusForbidden)
			outlived(h.stop(), begin.Add(life))
		}, SpecTimeout(specTimeout))

		It("refuses who owns a subscription no longer", func(ctx SpecContext) {
			felt(ctx, at.at(brief(), at.alice.by("owned")), func() { own(ctx, "owned", "somebody-else") })
		}, SpecTimeout(specTimeout))

		It("remembers a refusal as well", func(ctx SpecContext) {
			h := strike(ctx, 1, at.at(brief(), at.alice.by("owned")).list())
			h.settles(ctx, http.StatusForbidden)
			own(ctx, "owned", staff)
			changed := time.Now()
			h.settles(ctx, http.StatusOK)
			late := h.stop().with(http.StatusForbidden).lastAfter(changed)
			AddReportEntry("refused after the change for", late)
			Expect(late).To(BeNumerically("<=", shortTTL+learning))
		}, SpecTimeout(specTimeout))

		It("refuses by a subscription that is deleted", func(ctx SpecContext) {
			felt(ctx, at.at(brief(), at.alice.by("gone")), func() { remove(ctx, "gone") })
		}, SpecTimeout(specTimeout))

		It("counts against a limit that becomes another", func(ctx SpecContext) {
			request := at.at(brief(), at.alice.by("shrinking")).chat(1)
			h := strike(ctx, 1, request)
			h.settles(ctx, http.StatusOK)
			Expect(world.Change(ctx, on, at.subscription("shrinking").Obj(), func(s *v1alpha1.MaaSSubscription) {
				s.Spec.ModelRefs[0].TokenRateLimits[0].Limit = 1
			})).To(Succeed())
			changed := time.Now()
			h.settles(ctx, http.StatusTooManyRequests)
			outlived(h.stop(), changed)
		}, SpecTimeout(specTimeout))

		It("refuses with a new token who has left the group, at once, and with what was made before until it ends", func(ctx SpecContext) {
			before, err := at.user(ctx, "dora", staff)
			Expect(err).NotTo(HaveOccurred())
			key, _, err := at.key(ctx, before, service.CreateKey{Name: "before", Subscription: "brief"})
			Expect(err).NotTo(HaveOccurred())
			g := NewGomega(Fail)
			served(ctx, g, at.at(brief(), before.by("brief")).list())
			after, err := at.user(ctx, "dora", "others")
			Expect(err).NotTo(HaveOccurred())
			Expect(send(ctx, g, at.at(brief(), after.by("brief")).list()).Status).To(Equal(http.StatusForbidden))
			served(ctx, g, at.at(brief(), before.by("brief")).list())
			served(ctx, g, at.at(brief(), key).list())
		}, SpecTimeout(specTimeout))

		It("refuses whose group a policy no longer names", func(ctx SpecContext) {
			felt(ctx, at.at(brief(), at.alice.by("brief")), func() {
				policy := builder.AuthPolicy(at.tenant.Namespace, "use-"+brief().Name).Obj()
				Expect(world.Change(ctx, on, policy, func(p *v1alpha1.MaaSAuthPolicy) { p.Spec.Subjects.Groups[0].Name = "somebody-else" })).To(Succeed())
			})
		}, SpecTimeout(specTimeout))
	})
}

// rememberBriefly starts the operator again with other settings, and returns when they
// are in force for a model that is new.
func rememberBriefly(ctx context.Context, m world.Model) {
	GinkgoHelper()
	Expect(on.Stage.Operator.Stop()).To(Succeed())
	seconds := int(shortTTL.Seconds())
	on.Stage.Operator.Configure(fmt.Sprintf("--metadata-cache-ttl=%d", seconds), fmt.Sprintf("--authz-cache-ttl=%d", seconds))
	Expect(on.Stage.Operator.Start(ctx)).To(Succeed())
	var all []*v1alpha1.MaaSSubscription
	for _, name := range []string{"brief", "owned", "gone", "shrinking"} {
		all = append(all, at.subscription(name).Limit(m.Key(), plenty, "1h").Obj())
	}
	Expect(at.publish(ctx, all, m)).To(Succeed())
	Expect(on.AwaitEnforced(ctx, kuadrant.TokenRateLimitPolicy, m.Policies()[kuadrant.TokenRateLimitPolicy])).To(Succeed())
}

// felt makes a change by which somebody loses access while he asks without a pause, and
// judges how long he is still served.
func felt(ctx context.Context, a asking, change func()) {
	GinkgoHelper()
	h := strike(ctx, 1, a.list())
	h.settles(ctx, http.StatusOK)
	change()
	changed := time.Now()
	h.settles(ctx, http.StatusForbidden)
	outlived(h.stop(), changed)
}

// outlived judges for how long after a moment somebody was served.
func outlived(shots volley, end time.Time) {
	GinkgoHelper()
	late := shots.with(http.StatusOK).lastAfter(end)
	AddReportEntry("served after the change for", late)
	Expect(late).To(BeNumerically("<=", shortTTL+learning))
}

// own gives a subscription to a group.
func own(ctx context.Context, subscription, group string) {
	GinkgoHelper()
	s := at.subscription(subscription).Obj()
	Expect(world.Change(ctx, on, s, func(s *v1alpha1.MaaSSubscription) { s.Spec.Owner.Groups[0].Name = group })).To(Succeed())
}
