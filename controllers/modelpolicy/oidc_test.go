// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

var _ = Describe("The OpenID Connect provider of a tenant", Serial, func() {
	const authenticator = "oidc-identities"

	It("is known to the tenant's models, and stays so when it can no longer be told", func(ctx SpecContext) {
		m := newModel(ctx)
		auth := m.allow("team", "engineers")
		m.subscribe("sub", rated(1, "1m"))
		Eventually(m.authenticators).Should(And(HaveKey("api-keys"), Not(HaveKey(authenticator))))

		settings := metav1.ObjectMeta{Namespace: tenantNamespace, Name: v1alpha1.DefaultTenantConfigName}
		tenant := &v1alpha1.Tenant{ObjectMeta: settings}
		tenant.Spec.ExternalOIDC = &v1alpha1.TenantExternalOIDCConfig{IssuerURL: "https://idp.example.com/realms/hidden", ClientID: "maas"}
		Expect(suite.Admin.Create(ctx, tenant)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(suite.Admin.Delete(ctx, tenant)).To(Succeed()) })
		Eventually(m.authenticators).Should(HaveKey(authenticator))

		By("adding settings beside which the provider does not count")
		config := &v1alpha1.MaasTenantConfig{ObjectMeta: settings}
		Expect(suite.Admin.Create(ctx, config)).To(Succeed())
		Eventually(m.condition(v1alpha1.ConditionPoliciesApplied)).Should(And(
			HaveField("Status", metav1.ConditionFalse), HaveField("Reason", string(v1alpha1.ReasonInvalidOIDC)),
			HaveField("Message", And(ContainSubstring("spec.externalOIDC"), Not(ContainSubstring("hidden"))))))
		changed := auth.DeepCopy()
		changed.Spec.Subjects.Groups[0].Name = "artists"
		Expect(suite.Admin.Patch(ctx, changed, client.MergeFrom(auth))).To(Succeed())
		m.subscribe("more", rated(2, "1m"))
		Eventually(m.limitNames).Should(ConsistOf("tokens-1-per-1m", "tokens-2-per-1m"))
		Expect(m.authenticators()).To(HaveKey(authenticator))
		Expect(m.condition(v1alpha1.ConditionSubjectsInlined)()).To(HaveField("Status", metav1.ConditionTrue))

		By("removing them")
		Expect(suite.Admin.Delete(ctx, config)).To(Succeed())
		Eventually(m.condition(v1alpha1.ConditionPoliciesApplied)).Should(HaveField("Status", metav1.ConditionTrue))
		Expect(m.authenticators()).To(HaveKey(authenticator))
		Expect(fmt.Sprint(m.authPolicy().Object["spec"])).To(ContainSubstring("artists"))

		By("taking the last auth policy away while the provider cannot be told")
		config.ResourceVersion = ""
		Expect(suite.Admin.Create(ctx, config)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(suite.Admin.Delete(ctx, config)).To(Succeed()) })
		Eventually(m.condition(v1alpha1.ConditionPoliciesApplied)).Should(HaveField("Reason", string(v1alpha1.ReasonInvalidOIDC)))
		Expect(suite.Admin.Delete(ctx, changed)).To(Succeed())
		Eventually(m.authPolicy).Should(BeNil())
	})
})

var _ = Describe("A model whose tenant is gone", func() {
	It("keeps its policies, and loses them with the last contributor all the same", func(ctx SpecContext) {
		m := newModel(ctx)
		sub := m.subscribe("sub", rated(1, "1m"))
		Eventually(m.limitPolicy).ShouldNot(BeNil())

		ref := reload(ctx, &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: m.name}})
		before := ref.DeepCopy()
		ref.Spec.TenantRef = "nobody"
		Expect(suite.Admin.Patch(ctx, ref, client.MergeFrom(before))).To(Succeed())
		Eventually(m.condition(v1alpha1.ConditionPoliciesApplied)).Should(HaveField("Reason", string(v1alpha1.ReasonTenantNotFound)))
		Expect(m.limitPolicy()).NotTo(BeNil())

		Expect(suite.Admin.Delete(ctx, sub)).To(Succeed())
		Eventually(m.limitPolicy).Should(BeNil())
	})
})

var _ = Describe("The size of a model's policies", func() {
	It("is told while there are policies", func(ctx SpecContext) {
		m := newModel(ctx)
		sub := m.subscribe("sub", rated(1, "1m"))
		Eventually(m.condition(v1alpha1.ConditionPolicySizeBounded)).Should(HaveField("Reason", string(v1alpha1.ReasonSizeWithinBounds)))
		Expect(suite.Admin.Delete(ctx, sub)).To(Succeed())
		Eventually(m.condition(v1alpha1.ConditionPolicySizeBounded)).Should(BeZero())
	})

	It("warns of subjects before they are too many", func(ctx SpecContext) {
		m := newModel(ctx)
		groups := make([]string, 0, 220)
		for i := range 220 {
			groups = append(groups, fmt.Sprintf("group-%d", i))
		}
		m.allow("team", groups...)
		Eventually(m.condition(v1alpha1.ConditionPolicySizeBounded)).Should(And(
			HaveField("Status", metav1.ConditionTrue), HaveField("Reason", string(v1alpha1.ReasonSizeNearBound)), HaveField("Message", ContainSubstring("the subjects (256)"))))
	})
})
