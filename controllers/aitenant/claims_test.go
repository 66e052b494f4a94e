// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant_test

import (
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// formerClaim creates a claim on a Gateway for an AITenant, as an earlier release did:
// without an owner.
func (w world) formerClaim(gateway, holder string) *corev1.ConfigMap {
	GinkgoHelper()
	claim := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: aitenantNamespace, Name: tenancy.GatewayClaim(gatewayNamespace, gateway),
			Labels:      map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, v1alpha1.LabelGatewayClaim: "true"},
			Annotations: map[string]string{v1alpha1.AnnotationAITenantName: holder, v1alpha1.AnnotationAITenantNamespace: aitenantNamespace},
		},
		Data: map[string]string{"gatewayNamespace": gatewayNamespace, "gatewayName": gateway},
	}
	Expect(suite.Admin.Create(w.ctx, claim)).To(Succeed())
	return claim
}

var _ = Describe("The Gateway of a tenant", func() {
	// E-68, A82
	It("is one tenant's, however many ask at once, and the next one's when it is released", func(ctx SpecContext) {
		first, second := newWorld(ctx, "race-1"), newWorld(ctx, "race-2")
		first.gateway("race")
		var created sync.WaitGroup
		for _, w := range []world{first, second} {
			created.Go(func() {
				defer GinkgoRecover()
				w.create(at("race"))
			})
		}
		created.Wait()

		winner, loser := first, second
		Eventually(func(g Gomega) {
			if first.says(g) == "Failed/False/GatewayClaimFailed" {
				winner, loser = second, first
			}
			g.Expect(loser.says(g)).To(Equal("Failed/False/GatewayClaimFailed"))
			g.Expect(winner.says(g)).To(Equal("Pending/False/TenantConfigNotReady"))
		}).Should(Succeed())
		Expect(loser.message(Default)).To(And(ContainSubstring(winner.name), ContainSubstring("spec.gateway.name")))
		Expect(loser.tenant(Default).Status.GatewayRef).To(BeNil(), "nothing may be put on the Gateway of another tenant")
		winner.configReady()
		Eventually(winner.says).Should(Equal(active))

		winner.gateway("race-elsewhere")
		winner.edit(at("race-elsewhere"))
		loser.configReady()
		Eventually(loser.says).Should(Equal(active))
		Expect(winner.says(Default)).To(Equal(active))
		Eventually(loser.events).Should(ConsistOf("Warning GatewayClaimFailed", "Normal TenantConfigNotReady", "Normal Reconciled"))
	})

	// E-65, W-35
	It("is given up with its labels only after the next one exists and is claimed", func(ctx SpecContext) {
		w, other := newWorld(ctx, "mover"), newWorld(ctx, "mover-peer")
		other.up()
		w.gateway("mover", map[string]string{"mover-zone": "a"})
		w.create()
		w.configReady()
		Eventually(w.says).Should(Equal(active))
		infra := func(g Gomega) map[string]string { return w.namespaceObject(g, infraNamespace).Labels }
		Expect(infra(Default)).To(HaveKeyWithValue("mover-zone", "a"))

		w.edit(at("mover-next"))
		Eventually(w.says).Should(Equal("Failed/False/GatewayCheckFailed"))
		Expect(w.message(Default)).To(And(ContainSubstring("openshift-ingress/mover-next"), ContainSubstring("stays at Gateway openshift-ingress/mover ")))
		Expect(w.tenant(Default).Status.GatewayRef.Name).To(Equal("mover"))
		Expect(w.claim("mover")(Default)).NotTo(BeNil())

		w.edit(at("mover-peer"))
		Eventually(w.says).Should(Equal("Failed/False/GatewayClaimFailed"))
		Expect(w.tenant(Default).Status.GatewayRef.Name).To(Equal("mover"))
		Eventually(w.claim("mover-next")).Should(BeNil(), "it never got there, and wants it no longer")
		Expect(w.claim("mover")(Default)).NotTo(BeNil())

		w.gateway("mover-next")
		w.edit(at("mover-next"))
		Eventually(w.says).Should(Equal(active))
		Expect(w.tenant(Default).Status.GatewayRef.Name).To(Equal("mover-next"))
		Expect(w.claim("mover-next")(Default)).NotTo(BeNil())
		Expect(w.claim("mover")(Default)).To(BeNil())
		Expect(infra(Default)).NotTo(HaveKey("mover-zone"))
	})

	It("is kept while it leads to the tenant's maas-api", func(ctx SpecContext) {
		w := newWorld(ctx, "leaver")
		w.up()
		route := &gwapiv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: "maas-api-route-" + w.name}}
		route.Spec.ParentRefs = []gwapiv1.ParentReference{{Namespace: new(gwapiv1.Namespace(gatewayNamespace)), Name: "leaver"}}
		Expect(suite.Admin.Create(ctx, route)).To(Succeed())

		w.gateway("leaver-next")
		w.edit(at("leaver-next"))
		Eventually(w.says).Should(Equal("Pending/False/TenantConfigNotReady"))
		Expect(w.message(Default)).To(And(ContainSubstring("HTTPRoute "+infraNamespace+"/maas-api-route-leaver"), ContainSubstring("Gateway "+gatewayNamespace+"/leaver ")))
		Expect(w.tenant(Default).Status.GatewayRef.Name).To(Equal("leaver-next"))
		Expect(w.claim("leaver")(Default)).NotTo(BeNil())
		Expect(w.claim("leaver-next")(Default)).NotTo(BeNil())

		before := route.DeepCopy()
		route.Spec.ParentRefs[0].Name = "leaver-next"
		Expect(suite.Admin.Patch(ctx, route, client.MergeFrom(before))).To(Succeed())
		w.configSays(metav1.ConditionFalse, w.config(Default).Generation) // What a moved route does to the config.
		w.configReady()
		Eventually(w.says).Should(Equal(active))
		Expect(w.claim("leaver")(Default)).To(BeNil())
	})

	// E-69, E-70
	It("stays claimed by a claim of an earlier release, which gets its owner", func(ctx SpecContext) {
		w := newWorld(ctx, "elder")
		before := w.formerClaim("elder", "elder")
		w.up()
		claim := w.claim("elder")(Default)
		Expect(claim.UID).To(Equal(before.UID))
		Expect(metav1.GetControllerOf(claim).UID).To(Equal(w.tenant(Default).UID))
	})

	// E-71
	It("is the owner's of the claim and not that of an annotation", func(ctx SpecContext) {
		holder, w := newWorld(ctx, "holder"), newWorld(ctx, "spoofer")
		holder.up()
		claim := holder.claim("holder")(Default)
		before := claim.DeepCopy()
		claim.Annotations[v1alpha1.AnnotationAITenantName] = w.name
		Expect(suite.Admin.Patch(ctx, claim, client.MergeFrom(before))).To(Succeed())
		w.create(at("holder"))
		Eventually(w.says).Should(Equal("Failed/False/GatewayClaimFailed"))
		Expect(w.message(Default)).To(ContainSubstring("AITenant holder"))
		Eventually(holder.claim("holder")).Should(HaveField("Annotations", HaveKeyWithValue(v1alpha1.AnnotationAITenantName, "holder")))
		Expect(holder.claim("holder")(Default).UID).To(Equal(before.UID))
	})

	// E-98
	It("is free when the tenant that claimed it is gone", func(ctx SpecContext) {
		w := newWorld(ctx, "heir")
		abandoned := w.formerClaim("heir", "no-such-tenant")
		w.up()
		Expect(w.claim("heir")(Default).UID).NotTo(Equal(abandoned.UID))
	})
})

var _ = Describe("The labels by which a Gateway admits routes", func() {
	// E-73, E-75, E-77, W-50
	It("are put on the namespace of maas-api, put back, and taken off", func(ctx SpecContext) {
		w := newWorld(ctx, "picky")
		gateway := w.gateway("picky", map[string]string{"picky-zone": "a"}, map[string]string{"picky-team": "b"})
		w.create()
		w.configReady()
		Eventually(w.says).Should(Equal(active))
		labels := func(g Gomega) map[string]string { return w.namespaceObject(g, infraNamespace).Labels }
		Expect(labels(Default)).To(And(HaveKeyWithValue("picky-zone", "a"), HaveKeyWithValue("picky-team", "b")))
		Expect(w.namespaceObject(Default, infraNamespace).Annotations[v1alpha1.AnnotationGatewaySelectorLabels]).To(ContainSubstring(`"picky-zone":["openshift-ingress/picky"]`))

		ns := w.namespaceObject(Default, infraNamespace)
		before := ns.DeepCopy()
		delete(ns.Labels, "picky-zone")
		Expect(suite.Admin.Patch(ctx, ns, client.MergeFrom(before))).To(Succeed())
		Eventually(labels).Should(HaveKeyWithValue("picky-zone", "a"))

		changed := gateway.DeepCopy()
		changed.Spec.Listeners = changed.Spec.Listeners[:1]
		Expect(suite.Admin.Patch(ctx, changed, client.MergeFrom(gateway))).To(Succeed())
		Eventually(labels).ShouldNot(HaveKey("picky-team"))
		Expect(labels(Default)).To(HaveKeyWithValue("picky-zone", "a"))
	})

	// E-76
	It("are said to contradict each other, and the tenant works all the same", func(ctx SpecContext) {
		w := newWorld(ctx, "torn")
		gateway := w.gateway("torn", map[string]string{"torn-zone": "a"}, map[string]string{"torn-zone": "b"})
		w.create()
		w.configReady()
		Eventually(w.says).Should(Equal(active))
		degraded := w.condition(v1alpha1.ConditionDegraded)
		Expect(degraded(Default)).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", "InfraNamespaceLabelFailed"), HaveField("Message", ContainSubstring("torn-zone"))))

		changed := gateway.DeepCopy()
		changed.Spec.Listeners = changed.Spec.Listeners[:1]
		Expect(suite.Admin.Patch(ctx, changed, client.MergeFrom(gateway))).To(Succeed())
		Eventually(degraded).Should(BeZero())
	})
})
