// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"fmt"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// claimOn is the claim on a Gateway with nothing but its name.
func claimOn(gateway string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: stage.AITenantNamespace, Name: tenancy.GatewayClaim(stage.GatewayNamespace, gateway),
	}}
}

// holderOf is the AITenant that owns the claim on a Gateway; empty when there is none.
func holderOf(ctx context.Context, gateway string) string {
	claim := claimOn(gateway)
	if !exists(ctx, claim) {
		return ""
	}
	owner := metav1.GetControllerOf(claim)
	if owner == nil {
		return "nobody"
	}
	return owner.Name
}

// leftBehind is a claim of a tenant as an earlier release made it, without an owner.
func leftBehind(gateway string, t tenantOf) *corev1.ConfigMap {
	claim := claimOn(gateway)
	claim.Labels = map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, v1alpha1.LabelGatewayClaim: "true", v1alpha1.LabelManagedByAITenant: "true",
	}
	claim.Annotations = map[string]string{v1alpha1.AnnotationAITenantName: string(t), v1alpha1.AnnotationAITenantNamespace: stage.AITenantNamespace}
	claim.Data = map[string]string{"gatewayNamespace": stage.GatewayNamespace, "gatewayName": gateway}
	return claim
}

var _ = Describe("a Gateway", Ordered, func() {
	const (
		first, second = tenantOf("first"), tenantOf("second")
		shared        = "contested"
	)
	asking := func(t tenantOf, gateway string) *v1alpha1.AITenant {
		o := t.object()
		o.Spec.Gateway = &v1alpha1.AITenantGatewayRef{Name: gateway}
		return o
	}

	It("belongs to one tenant, which the next one is told (E-37, E-68, A82)", func(ctx SpecContext) {
		create(ctx, gateway(shared), asking(first, shared))
		work(ctx, first)
		Expect(read(ctx, first.object()).Status.GatewayRef.Name).To(Equal(shared))
		before, owner := pictureOf(ctx, first)(), read(ctx, first.object()).ResourceVersion
		create(ctx, second.gateway(), asking(second, shared))
		Eventually(second.state(ctx)).Should(Equal("Failed GatewayClaimFailed"))
		Expect(second.trouble(ctx)).To(And(ContainSubstring(shared), ContainSubstring("AITenant first"), ContainSubstring("spec.gateway.name")))
		Expect(exists(ctx, second.config())).To(BeFalse())
		Expect(differs(before, pictureOf(ctx, first))()).To(BeEmpty())
		Expect(read(ctx, first.object()).ResourceVersion).To(Equal(owner))
	})

	It("is claimed by an object that names its owner, also one of an earlier release (E-69, E-70)", func(ctx SpecContext) {
		edit(ctx, claimOn(shared), func(c *corev1.ConfigMap) { c.OwnerReferences = nil })
		Eventually(func() string { return holderOf(ctx, shared) }).Should(Equal("first"))
		version := read(ctx, claimOn(shared)).ResourceVersion
		edit(ctx, first.object(), func(t *v1alpha1.AITenant) { setAnnotation(t, "example.com/seen", "yes") })
		Consistently(func() string { return read(ctx, claimOn(shared)).ResourceVersion }).Should(Equal(version))
	})

	It("is left for another one, with everything that was on it (E-65)", func(ctx SpecContext) {
		before := namesOf(objectsOf(ctx, first))
		create(ctx, first.gateway())
		first.move(ctx, string(first))
		Eventually(func() string { return holderOf(ctx, string(first)) }).Should(Equal("first"))
		Eventually(func() string { return holderOf(ctx, shared) }).Should(Equal("second"))
		work(ctx, first, second)
		Expect(read(ctx, first.object()).Status.GatewayRef.Name).To(Equal("first"))
		Eventually(func() []string { return namesOf(objectsOf(ctx, first)) }).Should(Equal(before))
		for _, o := range objectsOf(ctx, first) {
			delete(o.Object, "status") // Kuadrant may still speak of the other one.
			content, err := o.MarshalJSON()
			Expect(err).NotTo(HaveOccurred())
			Expect(string(content)).NotTo(ContainSubstring(shared), nameOf(&o))
		}
		first.move(ctx, shared)
		Eventually(first.state(ctx)).Should(Equal("Failed GatewayClaimFailed"))
		Expect(read(ctx, first.object()).Status.GatewayRef.Name).To(Equal("first"), "it stays where it works")
		first.move(ctx, string(first))
		work(ctx, first)
	})

	It("is not taken by forging the marks of a claim; its owner counts (E-71)", func(ctx SpecContext) {
		genuine := read(ctx, claimOn(string(first))).UID
		edit(ctx, claimOn(string(first)), func(c *corev1.ConfigMap) { setAnnotation(c, v1alpha1.AnnotationAITenantName, string(second)) })
		second.move(ctx, string(first))
		Eventually(second.state(ctx)).Should(Equal("Failed GatewayClaimFailed"))
		Expect(second.trouble(ctx)).To(ContainSubstring("AITenant first"))
		second.move(ctx, shared)
		work(ctx, first, second)
		Expect(read(ctx, claimOn(string(first))).UID).To(Equal(genuine))
	})

	It("is free again after its tenant is gone, whatever claims were left (E-72)", func(ctx SpecContext) {
		create(ctx, leftBehind("left-behind", second))
		remove(ctx, second.object())
		Eventually(second.state(ctx)).Should(Equal("gone"))
		Expect(holderOf(ctx, shared)).To(BeEmpty())
		Expect(exists(ctx, claimOn("left-behind"))).To(BeFalse())
		Expect(objectsOf(ctx, second)).To(BeEmpty())
		Expect(exists(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: second.namespace()}})).To(BeTrue(), "the users' namespace stays")
	})
})

var _ = Describe("a Gateway that two tenants name at once", Ordered, func() {
	// rounds is how often; what races is decided anew each time.
	const rounds = 10
	outcome := func(ctx context.Context, gateway string, pair [2]tenantOf) func(Gomega) {
		return func(g Gomega) {
			holder := holderOf(ctx, gateway)
			g.Expect(holder).To(Or(Equal(string(pair[0])), Equal(string(pair[1]))))
			winner, loser := pair[0], pair[1]
			if holder == string(pair[1]) {
				winner, loser = pair[1], pair[0]
			}
			g.Expect(winner.state(ctx)()).To(Equal(active))
			g.Expect(read(ctx, winner.object()).Status.GatewayRef.Name).To(Equal(gateway))
			g.Expect(loser.state(ctx)()).To(Equal("Failed GatewayClaimFailed"))
			g.Expect(loser.trouble(ctx)).To(ContainSubstring("AITenant " + string(winner) + ":"))
		}
	}
	atOnce := func(pair [2]tenantOf, do func(tenantOf) error) {
		GinkgoHelper()
		start, errs := make(chan struct{}), [2]error{}
		var wg sync.WaitGroup
		for i, t := range pair {
			wg.Go(func() { <-start; errs[i] = do(t) })
		}
		close(start)
		wg.Wait()
		Expect(errs).To(HaveEach(BeNil()))
	}

	It("gets exactly one of them when both are new (A82)", func(ctx SpecContext) {
		var pairs [rounds][2]tenantOf
		for i := range rounds {
			pairs[i] = [2]tenantOf{tenantOf(fmt.Sprintf("left-%d", i)), tenantOf(fmt.Sprintf("right-%d", i))}
			create(ctx, gateway(fmt.Sprintf("between-%d", i)))
		}
		for i, pair := range pairs {
			atOnce(pair, func(t tenantOf) error {
				o := t.object()
				o.Spec.Gateway = &v1alpha1.AITenantGatewayRef{Name: fmt.Sprintf("between-%d", i)}
				return on.Admin.Create(ctx, o)
			})
		}
		for i, pair := range pairs {
			Eventually(outcome(ctx, fmt.Sprintf("between-%d", i), pair)).Should(Succeed())
			for _, t := range pair {
				remove(ctx, t.object())
			}
		}
		for _, pair := range pairs { // What goes on would be taken for something that other specs caused.
			for _, t := range pair {
				Eventually(t.state(ctx)).Should(Equal("gone"), string(t))
			}
		}
	})

	It("gets exactly one of them when both move to it, and the other stays (A82)", func(ctx SpecContext) {
		pair := [2]tenantOf{"mover-a", "mover-b"}
		setUp(ctx, pair[0], pair[1])
		for i := range 3 {
			target := fmt.Sprintf("goal-%d", i)
			create(ctx, gateway(target))
			atOnce(pair, func(t tenantOf) error {
				o := t.object()
				return on.Admin.Patch(ctx, o, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"gateway":{"name":%q}}}`, target)))
			})
			Eventually(outcome(ctx, target, pair)).Should(Succeed())
		}
		Expect(objectsOf(ctx, pair[0])).To(HaveLen(len(objectsOf(ctx, pair[1]))))
	})
})
