// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package standins_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
)

var _ = Describe("The gateway stand-in", func() {
	var s scene

	BeforeEach(func(ctx SpecContext) {
		s = newScene(ctx)
	})

	It("programs a gateway and counts its routes", func(ctx SpecContext) {
		create(ctx, s.route("route", "gateway"))
		Eventually(func(g Gomega) {
			gateway := &gwapiv1.Gateway{}
			g.Expect(suite.client.Get(ctx, client.ObjectKeyFromObject(s.gateway("gateway", className)), gateway)).To(Succeed())
			g.Expect(meta.IsStatusConditionTrue(gateway.Status.Conditions, "Accepted")).To(BeTrue())
			g.Expect(meta.IsStatusConditionTrue(gateway.Status.Conditions, "Programmed")).To(BeTrue())
			g.Expect(gateway.Status.Addresses).To(HaveLen(1))
			g.Expect(gateway.Status.Listeners).To(HaveLen(1))
			g.Expect(meta.IsStatusConditionTrue(gateway.Status.Listeners[0].Conditions, "Programmed")).To(BeTrue())
			g.Expect(gateway.Status.Listeners[0].AttachedRoutes).To(BeEquivalentTo(1))
		}).Should(Succeed())
	})

	It("accepts a route for the parents that exist", func(ctx SpecContext) {
		route := s.route("route", "gateway")
		route.Spec.ParentRefs = append(route.Spec.ParentRefs, gwapiv1.ParentReference{Name: "nowhere"})
		create(ctx, route)
		Eventually(func(g Gomega) {
			g.Expect(suite.client.Get(ctx, client.ObjectKeyFromObject(route), route)).To(Succeed())
			g.Expect(route.Status.Parents).To(HaveLen(1))
			parent := route.Status.Parents[0]
			g.Expect(parent.ControllerName).To(BeEquivalentTo("istio.io/gateway-controller"))
			g.Expect(meta.IsStatusConditionTrue(parent.Conditions, "Accepted")).To(BeTrue())
			g.Expect(meta.IsStatusConditionTrue(parent.Conditions, "ResolvedRefs")).To(BeTrue())
		}).Should(Succeed())
	})

	It("refuses a route whose hostname no listener has", func(ctx SpecContext) {
		route := s.route("route", "gateway")
		route.Spec.Hostnames = []gwapiv1.Hostname{"maas.example.org"}
		create(ctx, route)
		Eventually(func(g Gomega) {
			g.Expect(suite.client.Get(ctx, client.ObjectKeyFromObject(route), route)).To(Succeed())
			g.Expect(route.Status.Parents).To(HaveLen(1))
			c := meta.FindStatusCondition(route.Status.Parents[0].Conditions, "Accepted")
			g.Expect(c).NotTo(BeNil())
			g.Expect(c.Reason).To(Equal("NoMatchingListenerHostname"))
		}).Should(Succeed())
	})

	It("leaves gateways of other classes alone", func(ctx SpecContext) {
		foreign := s.gateway("foreign", "other-class")
		create(ctx, foreign)
		before, err := resourceVersion(foreign)(ctx)
		Expect(err).NotTo(HaveOccurred())
		Consistently(ctx, resourceVersion(foreign)).WithTimeout(500 * time.Millisecond).Should(Equal(before))
	})

	It("writes nothing while a status is right", func(ctx SpecContext) {
		route := s.route("route", "gateway")
		create(ctx, route)
		Eventually(func(g Gomega) {
			g.Expect(suite.client.Get(ctx, client.ObjectKeyFromObject(route), route)).To(Succeed())
			g.Expect(route.Status.Parents).NotTo(BeEmpty())
		}).Should(Succeed())
		Consistently(ctx, resourceVersion(route)).WithTimeout(500 * time.Millisecond).Should(Equal(route.ResourceVersion))
	})
})
