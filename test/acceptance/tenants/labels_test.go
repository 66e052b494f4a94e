// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// selecting makes every listener of a Gateway admit only namespaces with labels: one
// listener for each set.
func selecting(g *gwapiv1.Gateway, sets ...map[string]string) {
	listener := g.Spec.Listeners[0]
	g.Spec.Listeners = nil
	for i, labels := range sets {
		l := *listener.DeepCopy()
		l.Name, l.Port = gwapiv1.SectionName([]string{"https", "other"}[i]), listener.Port+gwapiv1.PortNumber(i)
		l.AllowedRoutes = &gwapiv1.AllowedRoutes{Namespaces: &gwapiv1.RouteNamespaces{
			From: new(gwapiv1.NamespacesFromSelector), Selector: &metav1.LabelSelector{MatchLabels: labels},
		}}
		g.Spec.Listeners = append(g.Spec.Listeners, l)
	}
}

// The specs tell one story of two tenants whose Gateways ask for labels.
var _ = Describe("labels that Gateways ask of the infrastructure namespace", Ordered, func() {
	const north, south = tenantOf("north"), tenantOf("south")
	namespace := func() *corev1.Namespace { return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: infra}} }
	label := func(ctx context.Context, key string) func() string {
		return func() string { return read(ctx, namespace()).Labels[key] }
	}
	// holders are the Gateways recorded for a label.
	holders := func(ctx context.Context, key string) func() []string {
		return func() []string {
			record := map[string][]string{}
			text := read(ctx, namespace()).Annotations[v1alpha1.AnnotationGatewaySelectorLabels]
			if text != "" {
				Expect(json.Unmarshal([]byte(text), &record)).To(Succeed())
			}
			return record[key]
		}
	}
	degraded := func(ctx context.Context, t tenantOf) func() string {
		return func() string {
			return condition(read(ctx, t.object()).Status.Conditions, v1alpha1.ConditionDegraded)
		}
	}
	why := func(ctx context.Context, t tenantOf) string {
		GinkgoHelper()
		return meta.FindStatusCondition(read(ctx, t.object()).Status.Conditions, string(v1alpha1.ConditionDegraded)).Message
	}
	ask := func(ctx context.Context, t tenantOf, sets ...map[string]string) {
		GinkgoHelper()
		edit(ctx, t.gateway(), func(g *gwapiv1.Gateway) { selecting(g, sets...) })
	}
	const failed = "True InfraNamespaceLabelFailed"

	It("are none for Gateways that admit all namespaces (E-74)", func(ctx SpecContext) {
		work(ctx, theDefault)
		Expect(read(ctx, namespace()).Annotations).NotTo(HaveKey(v1alpha1.AnnotationGatewaySelectorLabels))
	})

	It("are set, so that the route is admitted, beside those of others (E-73, E-75)", func(ctx SpecContext) {
		edit(ctx, namespace(), func(ns *corev1.Namespace) { ns.Labels["example.com/mine"] = "kept" })
		g := north.gateway()
		selecting(g, map[string]string{"example.com/gateway": "north", "example.com/zone": "x"})
		create(ctx, g, north.object())
		work(ctx, north)
		Expect(read(ctx, namespace()).Labels).To(And(
			HaveKeyWithValue("example.com/gateway", "north"), HaveKeyWithValue("example.com/zone", "x"), HaveKeyWithValue("example.com/mine", "kept"),
			HaveKeyWithValue(v1alpha1.LabelGeneratedNamespace, "true")))
		Expect(holders(ctx, "example.com/zone")()).To(ConsistOf(ContainSubstring("north")))
	})

	It("are shared by Gateways that want the same (E-75, E-82)", func(ctx SpecContext) {
		g := south.gateway()
		selecting(g, map[string]string{"example.com/zone": "x"})
		create(ctx, g, south.object())
		work(ctx, south)
		Expect(holders(ctx, "example.com/zone")()).To(ConsistOf(ContainSubstring("north"), ContainSubstring("south")))
	})

	It("keep their value when one of two wants another (E-78, E-80)", func(ctx SpecContext) {
		ask(ctx, south, map[string]string{"example.com/zone": "y"})
		Eventually(degraded(ctx, south)).Should(Equal(failed))
		Expect(why(ctx, south)).To(And(ContainSubstring("north"), ContainSubstring("south"), ContainSubstring("example.com/zone")))
		Expect(label(ctx, "example.com/zone")()).To(Equal("x"))
		Expect(north.services(ctx)()).To(Equal(working))
		Eventually(south.services(ctx)).Should(Equal("Pending RouteNotAccepted"), "the rest goes on")
		ask(ctx, south, map[string]string{"example.com/zone": "x"})
		work(ctx, south)
		Eventually(degraded(ctx, south)).Should(Equal("none"))
	})

	It("are not guessed when two listeners disagree (E-76)", func(ctx SpecContext) {
		ask(ctx, south, map[string]string{"example.com/zone": "x"}, map[string]string{"example.com/zone": "y"})
		Eventually(degraded(ctx, south)).Should(Equal(failed))
		Expect(label(ctx, "example.com/zone")()).To(Equal("x"))
		Expect(south.state(ctx)()).To(Equal(active), "the rest goes on")
		ask(ctx, south, map[string]string{"example.com/zone": "x"})
		Eventually(degraded(ctx, south)).Should(Equal("none"))
	})

	It("are not taken from whoever set them by hand (E-81)", func(ctx SpecContext) {
		edit(ctx, namespace(), func(ns *corev1.Namespace) { ns.Labels["example.com/env"] = "production" })
		ask(ctx, south, map[string]string{"example.com/zone": "x", "example.com/env": "test"})
		Eventually(degraded(ctx, south)).Should(Equal(failed))
		Expect(why(ctx, south)).To(ContainSubstring("example.com/env"))
		Expect(label(ctx, "example.com/env")()).To(Equal("production"))
		edit(ctx, namespace(), func(ns *corev1.Namespace) { delete(ns.Labels, "example.com/env") })
		Eventually(label(ctx, "example.com/env")).Should(Equal("test"))
		Eventually(degraded(ctx, south)).Should(Equal("none"))
	})

	It("go when nobody asks for them any more (E-77)", func(ctx SpecContext) {
		ask(ctx, north, map[string]string{"example.com/zone": "x"})
		Eventually(label(ctx, "example.com/gateway")).Should(BeEmpty())
		ask(ctx, south, map[string]string{"example.com/zone": "x"})
		Eventually(label(ctx, "example.com/env")).Should(BeEmpty())
		Expect(label(ctx, "example.com/zone")()).To(Equal("x"))
	})

	It("stay for the other tenant when one is deleted (E-79)", func(ctx SpecContext) {
		remove(ctx, north.object())
		Eventually(north.state(ctx)).Should(Equal("gone"))
		Expect(holders(ctx, "example.com/zone")()).To(ConsistOf(ContainSubstring("south")))
		Expect(label(ctx, "example.com/zone")()).To(Equal("x"))
		Expect(south.services(ctx)()).To(Equal(working))
		edit(ctx, south.gateway(), func(g *gwapiv1.Gateway) { g.Spec.Listeners = south.gateway().Spec.Listeners })
		Eventually(label(ctx, "example.com/zone")).Should(BeEmpty())
		Eventually(func() map[string]string { return read(ctx, namespace()).Annotations }).ShouldNot(HaveKey(v1alpha1.AnnotationGatewaySelectorLabels))
		Expect(label(ctx, "example.com/mine")()).To(Equal("kept"))
		work(ctx, south)
	})
})
