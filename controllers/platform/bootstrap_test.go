// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

var _ = Describe("the default tenant", func() {
	AfterEach(uninstall)

	marked := func(ctx context.Context) func(Gomega) string {
		return func(g Gomega) string { return config(ctx)(g).Annotations[bootstrapped] }
	}
	// unmarked holds although the controller has looked at the tenant as it is now.
	unmarked := func(ctx context.Context) {
		GinkgoHelper()
		annotate(ctx, "look", time.Now().String())
		Consistently(marked(ctx)).WithTimeout(400 * time.Millisecond).Should(BeEmpty())
	}

	It("counts as made once it is ready, and is not made again when somebody deletes it", func(ctx SpecContext) { // E-10, E-13, E-16
		install(ctx)
		settle(ctx)
		tenantSays(ctx, v1alpha1.AITenantPhasePending, metav1.ConditionFalse)
		unmarked(ctx)
		tenantSays(ctx, v1alpha1.AITenantPhaseActive, metav1.ConditionTrue)
		Eventually(marked(ctx)).Should(Equal("true"))

		Expect(suite.Admin.Delete(ctx, now(tenant(ctx)))).To(Succeed())
		Consistently(tenant(ctx)).WithTimeout(500 * time.Millisecond).Should(BeNil())
	})

	It("is made again when it is deleted before it ever worked", func(ctx SpecContext) {
		install(ctx)
		settle(ctx)
		first := now(tenant(ctx)).UID
		Expect(suite.Admin.Delete(ctx, now(tenant(ctx)))).To(Succeed())
		Eventually(tenant(ctx)).Should(And(Not(BeNil()), HaveField("UID", Not(Equal(first)))))
	})

	It("does not count as made while it goes", func(ctx SpecContext) { // E-11, E-12, A81
		install(ctx)
		settle(ctx)
		tenantSays(ctx, v1alpha1.AITenantPhaseTerminating, metav1.ConditionTrue)
		unmarked(ctx)
		hold(ctx, now(tenant(ctx)), "maas.opendatahub.io/aitenant-cleanup")
		Expect(suite.Admin.Delete(ctx, now(tenant(ctx)))).To(Succeed())
		tenantSays(ctx, v1alpha1.AITenantPhaseActive, metav1.ConditionTrue)
		unmarked(ctx)
		Expect(now(tenant(ctx)).DeletionTimestamp).NotTo(BeNil())
		letGo(ctx, now(tenant(ctx)), "maas.opendatahub.io/aitenant-cleanup")
		Eventually(tenant(ctx)).Should(And(Not(BeNil()), HaveField("DeletionTimestamp", BeNil())))
	})

	It("does not count as made for a Config that it does not belong to", func(ctx SpecContext) {
		install(ctx)
		settle(ctx)
		first := uidOf(now(config(ctx)))
		tenantSays(ctx, v1alpha1.AITenantPhaseActive, metav1.ConditionTrue)
		Eventually(marked(ctx)).Should(Equal("true"))

		Expect(suite.Admin.Delete(ctx, now(config(ctx)))).To(Succeed())
		Eventually(config(ctx)).Should(And(Not(BeNil()), HaveField("UID", Not(Equal(first)))))
		unmarked(ctx)
		Expect(now(tenant(ctx)).OwnerReferences).To(HaveLen(1), "the garbage collector is to delete it")

		Expect(suite.Admin.Delete(ctx, now(tenant(ctx)))).To(Succeed()) // As the garbage collector does.
		Eventually(func(g Gomega) []string {
			t := tenant(ctx)(g)
			g.Expect(t).NotTo(BeNil())
			return ownersOf(t)
		}).Should(Equal([]string{"Config default"}))
		Expect(now(tenant(ctx)).OwnerReferences[0].UID).To(Equal(uidOf(now(config(ctx)))))
	})

	It("inherits the gateway and the provider of an earlier release", func(ctx SpecContext) { // E-8, E-9
		legacy := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: tenantNamespace, Name: "default-tenant"}}
		legacy.Spec.GatewayRef = &v1alpha1.TenantGatewayRef{Namespace: "elsewhere", Name: "own-gateway"}
		legacy.Spec.ExternalOIDC = &v1alpha1.TenantExternalOIDCConfig{IssuerURL: "https://idp.example.com/realms/maas", ClientID: "maas", TTL: 600}
		Expect(suite.Admin.Create(ctx, legacy)).To(Succeed())
		install(ctx)
		settle(ctx)
		made := now(tenant(ctx))
		Expect(made.Spec.Gateway.Name).To(Equal("own-gateway"))
		Expect(made.Spec.OIDC).To(Equal(legacy.Spec.ExternalOIDC))
		Expect(ownersOf(made)).To(Equal([]string{"Config default"}))
		unmarked(ctx)
	})

	It("says what to correct when it cannot inherit", func(ctx SpecContext) {
		legacy := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: tenantNamespace, Name: "default-tenant"}}
		legacy.Spec.GatewayRef = &v1alpha1.TenantGatewayRef{Name: "No Name"}
		Expect(suite.Admin.Create(ctx, legacy)).To(Succeed())
		install(ctx)
		Eventually(says(ctx, "Ready")).Should(Equal("False/LegacyTenantMigrationFailed"))
		Expect(now(message(ctx))).To(And(ContainSubstring("models-as-a-service/default-tenant"), ContainSubstring("spec.gatewayRef.name")))
		Expect(now(policy(ctx, egressPolicy))).NotTo(BeNil(), "the shared objects do not wait")
	})
})
