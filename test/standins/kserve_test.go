// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package standins_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/test/standins/kserve"
)

var _ = Describe("The KServe stand-in", func() {
	var s scene

	BeforeEach(func(ctx SpecContext) {
		s = newScene(ctx)
	})

	It("creates the route of a service, labelled and owned", func(ctx SpecContext) {
		service := s.service("model", map[string]any{})
		create(ctx, service)
		route := &gwapiv1.HTTPRoute{}
		Eventually(func() error {
			return suite.client.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: "model-kserve-route"}, route)
		}).Should(Succeed())
		Expect(route.Labels).To(Equal(map[string]string{
			"app.kubernetes.io/name":      "model",
			"app.kubernetes.io/component": "llminferenceservice-router",
			"app.kubernetes.io/part-of":   "llminferenceservice",
		}))
		Expect(route.OwnerReferences).To(HaveLen(1))
		Expect(route.OwnerReferences[0].UID).To(Equal(service.GetUID()))
		Expect(*route.Spec.Rules[0].Matches[0].Path.Value).To(Equal("/" + s.namespace + "/model"))
		Eventually(ctx, conditionOf(service, "Ready")).Should(Equal("True"))
	})

	It("publishes the address through the gateway", func(ctx SpecContext) {
		route := s.route("own", "gateway")
		service := s.service("model", map[string]any{"http": map[string]any{"refs": []any{map[string]any{"name": "own"}}}})
		create(ctx, route, service)
		Eventually(ctx, conditionOf(service, "Ready")).Should(Equal("True"))

		Expect(suite.client.Get(ctx, client.ObjectKeyFromObject(service), service)).To(Succeed())
		addresses, _, err := unstructured.NestedSlice(service.Object, "status", "addresses")
		Expect(err).NotTo(HaveOccurred())
		Expect(addresses).To(ConsistOf(map[string]any{"name": "gateway-external", "url": "http://maas.example.com/"}))
		url, _, err := unstructured.NestedString(service.Object, "status", "url")
		Expect(err).NotTo(HaveOccurred())
		Expect(url).To(Equal("http://maas.example.com/"))
	})

	It("creates no route beside one that carries the labels", func(ctx SpecContext) {
		route := s.route("own", "gateway")
		route.Labels = kserve.RouterLabels("model")
		service := s.service("model", map[string]any{})
		create(ctx, route, service)
		Eventually(ctx, conditionOf(service, "Ready")).Should(Equal("True"))
		var routes gwapiv1.HTTPRouteList
		Expect(suite.client.List(ctx, &routes, client.InNamespace(s.namespace))).To(Succeed())
		Expect(routes.Items).To(HaveLen(1))
	})

	It("waits for the route to be accepted", func(ctx SpecContext) {
		service := s.service("model", map[string]any{"http": map[string]any{"refs": []any{map[string]any{"name": "own"}}}})
		create(ctx, service)
		Eventually(ctx, conditionOf(service, "Ready")).Should(Equal("False HTTPRoutesNotReady"))
		create(ctx, s.route("own", "gateway"))
		Eventually(ctx, conditionOf(service, "Ready")).Should(Equal("True"))
	})

	It("fails a service on request", func(ctx SpecContext) {
		service := s.service("model", map[string]any{})
		create(ctx, service)
		Eventually(ctx, conditionOf(service, "Ready")).Should(Equal("True"))
		edit(ctx, service, func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{kserve.AnnotationNotReady: "out of memory"})
		})
		Eventually(ctx, conditionOf(service, "Ready")).Should(Equal("False WorkloadNotReady"))
	})

	It("leaves a service to the test while its annotation says so", func(ctx SpecContext) {
		stalled, later := s.service("model", map[string]any{}), s.service("later", map[string]any{})
		stalled.SetAnnotations(map[string]string{kserve.AnnotationStall: "true"})
		create(ctx, stalled)
		create(ctx, later) // services are looked at one after the other
		Eventually(ctx, conditionOf(later, "Ready")).Should(Equal("True"))
		Expect(conditionOf(stalled, "Ready")(ctx)).NotTo(HavePrefix("True"))

		edit(ctx, stalled, func(u *unstructured.Unstructured) { u.SetAnnotations(nil) })
		Eventually(ctx, conditionOf(stalled, "Ready")).Should(Equal("True"))
	})
})
