// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

const (
	plenty  = 1_000_000
	workers = 3
)

// changing is about callers who ask without a pause while subscriptions change, with
// what the gateway remembers by default.
func changing() {
	g := NewGomega(Fail)
	BeforeEach(func(ctx SpecContext) { afresh(ctx, g) })

	for _, c := range departures() {
		It("lets nobody be unlimited for longer than the engines need to learn "+c.name, func(ctx SpecContext) { c.run(ctx) }, SpecTimeout(specTimeout))
	}
}

// departure is a change of a subscription while its caller asks without a pause.
type departure struct {
	name string
	run  func(ctx context.Context)
}

func departures() []departure {
	deleted := func(ctx context.Context, s *v1alpha1.MaaSSubscription) { Expect(on.Admin.Delete(ctx, s)).To(Succeed()) }
	dropped := func(ctx context.Context, s *v1alpha1.MaaSSubscription) {
		Expect(world.Change(ctx, on, s, func(s *v1alpha1.MaaSSubscription) { s.Spec.ModelRefs = s.Spec.ModelRefs[1:] })).To(Succeed())
	}
	return []departure{
		{"that a subscription is deleted and others stay", func(ctx context.Context) { left(ctx, "crowd", true, deleted) }},
		{"that the last subscription of a model is deleted", func(ctx context.Context) { left(ctx, "lonely", false, deleted) }},
		{"that a subscription gives up a model", func(ctx context.Context) { left(ctx, "dropped", true, dropped) }},
		{"that a limit becomes another", tightened},
	}
}

// left has a subscription leave a model of its own, where another one stays or not.
func left(ctx context.Context, name string, accompanied bool, how func(context.Context, *v1alpha1.MaaSSubscription)) {
	GinkgoHelper()
	model := at.tenant.Model(name)
	leaver := at.subscription("leaver-of-"+name).Limit(model.Key(), plenty, "1h").Limit(at.code.Key(), plenty, "1h").Obj()
	all := []*v1alpha1.MaaSSubscription{leaver}
	if accompanied {
		all = append(all, at.subscription("stayer-of-"+name).Limit(model.Key(), plenty, "1h").Obj())
	}
	Expect(at.publish(ctx, all, model)).To(Succeed())
	h := strike(ctx, workers, at.at(model, at.alice.by(leaver.Name)).chat(1))
	h.settles(ctx, http.StatusOK)
	changed := time.Now()
	how(ctx, leaver)
	h.settles(ctx, http.StatusForbidden)
	shots := h.stop()
	shots.bounded(changed)
}

func tightened(ctx context.Context) {
	model := at.tenant.Model("tightened")
	s := at.subscription("tightened").Limit(model.Key(), plenty, "1h").Obj()
	Expect(at.publish(ctx, []*v1alpha1.MaaSSubscription{s}, model)).To(Succeed())
	h := strike(ctx, workers, at.at(model, at.alice.by(s.Name)).chat(1))
	h.settles(ctx, http.StatusOK)
	changed := time.Now()
	Expect(world.Change(ctx, on, s, func(s *v1alpha1.MaaSSubscription) { s.Spec.ModelRefs[0].TokenRateLimits[0].Limit = 20 })).To(Succeed())
	h.settles(ctx, http.StatusTooManyRequests)
	shots := h.stop()
	shots.bounded(changed)
}

func joined(ctx context.Context) {
	model := at.tenant.Model("joined")
	first := at.subscription("first-of-joined").Limit(model.Key(), plenty, "1h").Obj()
	Expect(at.publish(ctx, []*v1alpha1.MaaSSubscription{first}, model)).To(Succeed())
	h := strike(ctx, workers, at.at(model, at.alice.by("joiner")).chat(1))
	h.settles(ctx, http.StatusForbidden)
	changed := time.Now()
	Expect(on.Create(ctx, at.subscription("joiner").Limit(model.Key(), 30, "1h").Obj())).To(Succeed())
	Eventually(ctx, h.last).WithTimeout(2 * world.Soon).Should(HaveEach(http.StatusTooManyRequests)) // What it may use is used up.
	shots := h.stop()
	AddReportEntry("joining", "refused for "+shots.with(http.StatusForbidden).lastAfter(changed).String())
	Expect(shots.free()).To(BeEmpty(), shots.free().String)
	Expect(shots.with(http.StatusOK)).NotTo(BeEmpty())
}

// keep changes everything but the limit of a subscription, and then the limit.
func keep(ctx context.Context) {
	g := NewGomega(Fail)
	model, another := at.tenant.Model("ledger"), at.tenant.Model("annex")
	edited := at.subscription("edited").Limit(model.Key(), 100, "1h").Obj()
	Expect(at.publish(ctx, []*v1alpha1.MaaSSubscription{edited}, model, another)).To(Succeed())
	alice := at.at(model, at.alice.by("edited"))
	afresh(ctx, g)
	send(ctx, g, alice.chat(1))
	for _, c := range harmless(model, another) {
		By(c.name)
		c.change(ctx)
		Expect(counted(ctx, g, alice)).To(Equal([]uint64{upstreamCost}), c.name)
		Expect(counters(ctx, g, alice)[0].Max).To(Equal(uint64(100)))
	}

	By("who is created again under its name goes on where it was, for another subscription has kept the limit")
	bob := at.at(model, at.bob.by("again"))
	for _, want := range []uint64{upstreamCost, 2 * upstreamCost} {
		Expect(at.subscribe(ctx, at.subscription("again").Limit(model.Key(), 100, "1h").Obj())).To(Succeed())
		send(ctx, g, bob.chat(1))
		Expect(counted(ctx, g, bob)).To(Equal([]uint64{want}))
		remove(ctx, "again")
		awaitRefused(ctx, bob)
	}

	By("another limit begins at zero, also one that was there before")
	for _, limit := range []int64{200, 100} {
		Expect(world.Change(ctx, on, edited, func(s *v1alpha1.MaaSSubscription) { s.Spec.ModelRefs[0].TokenRateLimits[0].Limit = limit })).To(Succeed())
		awaitLimit(ctx, alice, uint64(limit))
		Expect(counted(ctx, g, alice)).To(BeEmpty())
		send(ctx, g, alice.chat(1))
		Expect(counted(ctx, g, alice)).To(Equal([]uint64{upstreamCost}))
	}
}

// change is something that must not reset what is counted.
type change struct {
	name   string
	change func(ctx context.Context)
}

// harmless are changes around the subscription "edited" of a model.
func harmless(model, another world.Model) []change {
	edited := func(how func(*v1alpha1.MaaSSubscription)) func(context.Context) {
		return func(ctx context.Context) {
			GinkgoHelper()
			Expect(world.Change(ctx, on, at.subscription("edited").Obj(), how)).To(Succeed())
		}
	}
	arrive := func(name string, limit int64) func(context.Context) {
		return func(ctx context.Context) {
			GinkgoHelper()
			Expect(at.subscribe(ctx, at.subscription(name).Limit(model.Key(), limit, "1h").Obj())).To(Succeed())
		}
	}
	return []change{
		{"another subscription of the same limit comes", arrive("same-limit", 100)},
		{"another subscription of another limit comes", arrive("other-limit", 50)},
		{"the subscription of the same limit leaves", func(ctx context.Context) {
			remove(ctx, "same-limit")
			awaitRefused(ctx, at.at(model, at.alice.by("same-limit")))
		}},
		{"the subscription gets another priority", edited(func(s *v1alpha1.MaaSSubscription) { s.Spec.Priority = 7 })},
		{"the subscription gets another model", func(ctx context.Context) {
			edited(func(s *v1alpha1.MaaSSubscription) {
				s.Spec.ModelRefs = append(s.Spec.ModelRefs, v1alpha1.ModelSubscription{
					Namespace: another.Key().Namespace, Name: another.Name, TokenRateLimits: []v1alpha1.TokenRateLimit{rate(100, "1h")},
				})
			})(ctx)
			Expect(on.AwaitServed(ctx, at.at(another, at.alice.by("edited")).list())).To(Succeed())
		}},
		{"the model's users become others", func(ctx context.Context) {
			policy := builder.AuthPolicy(at.tenant.Namespace, "use-"+model.Name).Obj()
			Expect(world.Change(ctx, on, policy, func(p *v1alpha1.MaaSAuthPolicy) { p.Spec.Subjects.Users = append(p.Spec.Subjects.Users, "carol") })).To(Succeed())
			Eventually(ctx, func() ([]string, error) {
				o := kuadrant.New(kuadrant.AuthPolicy)
				err := on.Admin.Get(ctx, model.Policies()[kuadrant.AuthPolicy], o)
				return []string{o.GetAnnotations()[v1alpha1.AnnotationAuthPolicyGenerations]}, err
			}).Should(ContainElement(ContainSubstring("=2")))
			Expect(on.AwaitEnforced(ctx, kuadrant.AuthPolicy, model.Policies()[kuadrant.AuthPolicy])).To(Succeed())
		}},
		{"the operator starts again", func(ctx context.Context) {
			Expect(on.Stage.Operator.Stop()).To(Succeed())
			Expect(on.Stage.Operator.Start(ctx)).To(Succeed())
			Expect(at.subscribe(ctx, at.subscription("afterwards").Limit(model.Key(), 70, "1h").Obj())).To(Succeed())
		}},
	}
}

// awaitLimit waits until a caller is held against a limit of a size, without counting
// anything.
func awaitLimit(ctx context.Context, a asking, limit uint64) {
	GinkgoHelper()
	request := a.post("/v1/nothing", "")
	request.Method = http.MethodGet // The reply tells no usage.
	Eventually(ctx, func() (uint64, error) {
		answer, err := on.Do(ctx, request)
		if err != nil || len(limitsOf(answer.Decision)) != 1 {
			return 0, client.IgnoreNotFound(err)
		}
		return limitsOf(answer.Decision)[0].Max, nil
	}).Should(Equal(limit))
}
