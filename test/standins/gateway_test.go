// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package standins_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/test/standins/gateway"
)

var _ = Describe("The gateway stand-in", func() {
	var s scene

	BeforeEach(func(ctx SpecContext) {
		s = newScene(ctx)
	})

	It("programs a gateway and counts its routes", func(ctx SpecContext) {
		create(ctx, s.route("route", "gateway"))
		Eventually(func(g Gomega) {
			found := &gwapiv1.Gateway{}
			g.Expect(suite.client.Get(ctx, client.ObjectKeyFromObject(s.gateway("gateway", className)), found)).To(Succeed())
			g.Expect(meta.IsStatusConditionTrue(found.Status.Conditions, "Accepted")).To(BeTrue())
			g.Expect(meta.IsStatusConditionTrue(found.Status.Conditions, "Programmed")).To(BeTrue())
			g.Expect(found.Status.Addresses).To(HaveLen(1))
			g.Expect(found.Status.Listeners).To(HaveLen(1))
			g.Expect(meta.IsStatusConditionTrue(found.Status.Listeners[0].Conditions, "Programmed")).To(BeTrue())
			g.Expect(found.Status.Listeners[0].AttachedRoutes).To(BeEquivalentTo(1))
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
		foreign, later := s.gateway("foreign", "other-class"), s.gateway("later", className)
		create(ctx, foreign)
		before := foreign.ResourceVersion
		create(ctx, later) // gateways are looked at one after the other
		Eventually(func(g Gomega) {
			g.Expect(suite.client.Get(ctx, client.ObjectKeyFromObject(later), later)).To(Succeed())
			g.Expect(meta.IsStatusConditionTrue(later.Status.Conditions, "Programmed")).To(BeTrue())
		}).Should(Succeed())
		Expect(resourceVersion(foreign)(ctx)).To(Equal(before))
	})

	It("leaves a route to the test while its annotation says so", func(ctx SpecContext) {
		stalled, later := s.route("stalled", "gateway"), s.route("later", "gateway")
		stalled.Annotations = map[string]string{gateway.AnnotationStall: "true"}
		create(ctx, stalled)
		create(ctx, later) // routes are looked at one after the other
		Eventually(ctx, accepted(later)).Should(BeTrue())
		Expect(suite.client.Get(ctx, client.ObjectKeyFromObject(stalled), stalled)).To(Succeed())
		Expect(stalled.Status.Parents).To(BeEmpty())
	})

	It("writes nothing while a status is right", func(ctx SpecContext) {
		route, refused := s.route("route", "gateway"), s.route("refused", "gateway")
		refused.Spec.Hostnames = []gwapiv1.Hostname{"maas.example.org"}
		create(ctx, route, refused)
		Eventually(ctx, accepted(route)).Should(BeTrue())
		Eventually(ctx, accepted(refused)).Should(BeFalse())
		before, err := resourceVersion(route)(ctx)
		Expect(err).NotTo(HaveOccurred())

		By("giving it a reason to look at both again")
		gateway := s.gateway("gateway", className)
		hostname := gwapiv1.Hostname("*.example.org")
		Expect(retry.RetryOnConflict(retry.DefaultRetry, func() error {
			if err := suite.client.Get(ctx, client.ObjectKeyFromObject(gateway), gateway); err != nil {
				return err
			}
			gateway.Spec.Listeners = append(gateway.Spec.Listeners,
				gwapiv1.Listener{Name: "other", Port: 80, Protocol: gwapiv1.HTTPProtocolType, Hostname: &hostname})
			return suite.client.Update(ctx, gateway)
		})).To(Succeed())
		Eventually(ctx, accepted(refused)).Should(BeTrue())

		By("seeing it come to what was created afterwards") // routes are looked at one after the other
		later := s.route("later", "gateway")
		create(ctx, later)
		Eventually(ctx, accepted(later)).Should(BeTrue())
		Expect(resourceVersion(route)(ctx)).To(Equal(before))
	})
})

// accepted reads whether the one parent of a route accepted it; a route without
// a verdict is an error.
func accepted(route *gwapiv1.HTTPRoute) func(SpecContext) (bool, error) {
	return func(ctx SpecContext) (bool, error) {
		fresh := route.DeepCopy()
		if err := suite.client.Get(ctx, client.ObjectKeyFromObject(route), fresh); err != nil {
			return false, err
		}
		if len(fresh.Status.Parents) != 1 {
			return false, fmt.Errorf("%s has %d verdicts", route.Name, len(fresh.Status.Parents))
		}
		return meta.IsStatusConditionTrue(fresh.Status.Parents[0].Conditions, "Accepted"), nil
	}
}
