// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package standins_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
)

var _ = Describe("The Kuadrant stand-in", func() {
	const (
		good = `request.path == "/"`
		bad  = `request.path ==`
	)
	var s scene

	BeforeEach(func(ctx SpecContext) {
		s = newScene(ctx)
	})

	It("enforces policies of both kinds on an accepted route", func(ctx SpecContext) {
		auth := s.authPolicy("auth", "route", good)
		limits := s.limitPolicy("limits", "route", `auth.identity.userid == "x"`)
		create(ctx, s.route("route", "gateway"), auth, limits)
		for _, p := range []*unstructured.Unstructured{auth, limits} {
			Eventually(ctx, conditionOf(p, "Accepted")).Should(Equal("True Accepted"))
			Eventually(ctx, conditionOf(p, "Enforced")).Should(Equal("True Enforced"))
		}
	})

	It("reports a missing target and recovers when it appears", func(ctx SpecContext) {
		auth := s.authPolicy("auth", "route", good)
		create(ctx, auth)
		Eventually(ctx, conditionOf(auth, "Accepted")).Should(Equal("False TargetNotFound"))
		Expect(conditionOf(auth, "Enforced")(ctx)).To(Equal("absent"))

		create(ctx, s.route("route", "gateway"))
		Eventually(ctx, conditionOf(auth, "Enforced")).Should(Equal("True Enforced"))
	})

	It("does not enforce on a route that no gateway accepted", func(ctx SpecContext) {
		auth := s.authPolicy("auth", "route", good)
		create(ctx, s.route("route", "nowhere"), auth)
		Eventually(ctx, conditionOf(auth, "Enforced")).Should(Equal("False Unknown"))
	})

	It("refuses a bad predicate and follows its correction", func(ctx SpecContext) {
		auth := s.authPolicy("auth", "route", bad)
		create(ctx, s.route("route", "gateway"), auth)
		Eventually(ctx, conditionOf(auth, "Enforced")).Should(Equal("False InvalidCelExpression"))
		Expect(conditionOf(auth, "Accepted")(ctx)).To(Equal("True Accepted"))

		edit(ctx, auth, func(u *unstructured.Unstructured) {
			Expect(unstructured.SetNestedSlice(u.Object, []any{map[string]any{"predicate": good}}, "spec", "when")).To(Succeed())
		})
		Eventually(ctx, conditionOf(auth, "Enforced")).Should(Equal("True Enforced"))
	})

	It("knows the identity in limits only behind an auth policy", func(ctx SpecContext) {
		limits := s.limitPolicy("limits", "route", `auth.identity.userid == "x"`)
		create(ctx, s.route("route", "gateway"), limits)
		Eventually(ctx, conditionOf(limits, "Enforced")).Should(Equal("False InvalidCelExpression"))

		create(ctx, s.authPolicy("auth", "route", good))
		Eventually(ctx, conditionOf(limits, "Enforced")).Should(Equal("True Enforced"))
	})

	It("overrides the older policy of a kind until the newer one is gone", func(ctx SpecContext) {
		// Both may come in one second: then the name decides the same.
		older := s.authPolicy("a-older", "route", good)
		newer := s.authPolicy("b-newer", "route", good)
		create(ctx, s.route("route", "gateway"), older)
		Eventually(ctx, conditionOf(older, "Enforced")).Should(Equal("True Enforced"))
		create(ctx, newer)
		Eventually(ctx, conditionOf(newer, "Enforced")).Should(Equal("True Enforced"))
		Eventually(ctx, conditionOf(older, "Enforced")).Should(Equal("False Overridden"))

		Expect(suite.client.Delete(ctx, newer)).To(Succeed())
		Eventually(ctx, conditionOf(older, "Enforced")).Should(Equal("True Enforced"))
	})

	It("writes nothing while a status is right", func(ctx SpecContext) {
		auth := s.authPolicy("auth", "route", good)
		create(ctx, s.route("route", "gateway"), auth)
		Eventually(ctx, conditionOf(auth, "Enforced")).Should(Equal("True Enforced"))

		before, err := resourceVersion(auth)(ctx)
		Expect(err).NotTo(HaveOccurred())
		limits := s.limitPolicy("limits", "route", good)
		create(ctx, limits) // a reason to look at its neighbour again
		Eventually(ctx, conditionOf(limits, "Enforced")).Should(Equal("True Enforced"))
		s.awaitLaterPolicy(ctx)
		Expect(resourceVersion(auth)(ctx)).To(Equal(before))
	})

	It("lags behind a change", func(ctx SpecContext) {
		auth := s.authPolicy(slowPrefix+"auth", "route", good)
		create(ctx, s.route("route", "gateway"))
		created := time.Now()
		create(ctx, auth)
		Eventually(ctx, conditionOf(auth, "Enforced")).Should(Equal("True Enforced"))
		Expect(time.Since(created)).To(BeNumerically(">=", slowLag))

		changed := time.Now()
		edit(ctx, auth, func(u *unstructured.Unstructured) {
			Expect(unstructured.SetNestedSlice(u.Object, []any{map[string]any{"predicate": bad}}, "spec", "when")).To(Succeed())
		})
		Eventually(ctx, conditionOf(auth, "Enforced")).Should(Equal("False InvalidCelExpression"))
		Expect(time.Since(changed)).To(BeNumerically(">=", slowLag))
	})

	It("leaves a policy alone while its annotation says so", func(ctx SpecContext) {
		auth := s.authPolicy("auth", "route", good)
		auth.SetAnnotations(map[string]string{kuadrant.AnnotationStall: "true"})
		create(ctx, s.route("route", "gateway"), auth)
		s.awaitLaterPolicy(ctx)
		Expect(conditionOf(auth, "Enforced")(ctx)).To(Equal("not observed"))

		edit(ctx, auth, func(u *unstructured.Unstructured) { u.SetAnnotations(nil) })
		Eventually(ctx, conditionOf(auth, "Enforced")).Should(Equal("True Enforced"))
	})

	It("stalls and resumes as a whole", Serial, func(ctx SpecContext) {
		suite.standins.Kuadrant.Stall()
		DeferCleanup(suite.standins.Kuadrant.Resume)
		auth, route := s.authPolicy("auth", "route", good), s.route("route", "gateway")
		create(ctx, route, auth)
		Eventually(ctx, accepted(route)).Should(BeTrue())
		Eventually(suite.standins.Kuadrant.Held).Should(ContainElement("AuthPolicy " + client.ObjectKeyFromObject(auth).String()))
		Expect(conditionOf(auth, "Enforced")(ctx)).To(Equal("not observed"))

		suite.standins.Kuadrant.Resume()
		Eventually(ctx, conditionOf(auth, "Enforced")).Should(Equal("True Enforced"))
	})
})

// awaitLaterPolicy creates a policy and waits until it is enforced. Policies are
// looked at one after the other, so by then all created before had their turn.
func (s scene) awaitLaterPolicy(ctx SpecContext) {
	GinkgoHelper()
	later, route := s.authPolicy("later", "later", "true"), s.route("later", "gateway")
	create(ctx, route)
	Eventually(ctx, accepted(route)).Should(BeTrue())
	create(ctx, later)
	Eventually(ctx, conditionOf(later, "Enforced")).Should(Equal("True Enforced"))
}
