// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

var _ = Describe("A model with policies of somebody else on its route", func() {
	var m governed

	BeforeEach(func(ctx SpecContext) { m = newModel(ctx) })

	DescribeTable("says so when somebody else's newer policy is enforced on its route, and no longer once that is gone",
		func(ctx SpecContext, kind schema.GroupVersionKind, spec map[string]any) {
			m.allow("team", "engineers")
			m.subscribe("sub", rated(1, "1m"))
			applied := m.condition(v1alpha1.ConditionPoliciesApplied)
			Eventually(m.enforced).Should(BeTrue())
			Eventually(applied).Should(HaveField("Status", metav1.ConditionTrue))

			theirs := m.rival(kind, "open-door", spec)
			Expect(suite.Admin.Create(ctx, theirs)).To(Succeed())
			Eventually(applied).Should(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", string(v1alpha1.ReasonOverridden)),
				HaveField("Message", ContainSubstring("Delete or retarget: "+kind.Kind+" "+m.namespace+"/open-door."))))
			Expect(suite.Admin.Delete(ctx, theirs)).To(Succeed())
			Eventually(applied).Should(HaveField("Reason", string(v1alpha1.ReasonPoliciesApplied)))
		},
		Entry("an AuthPolicy", kuadrant.AuthPolicy, anybody()),
		Entry("a TokenRateLimitPolicy", kuadrant.TokenRateLimitPolicy, map[string]any{"limits": map[string]any{
			"many": map[string]any{"rates": []any{map[string]any{"limit": int64(1000000), "window": "1s"}}},
		}}),
	)

	It("says so when overrides of the Gateway are enforced on its route", func(ctx SpecContext) {
		m.allow("team", "engineers")
		m.subscribe("sub", rated(1, "1m"))
		Eventually(m.enforced).Should(BeTrue())
		theirs := m.rival(kuadrant.AuthPolicy, "forced", map[string]any{"overrides": anybody()})
		theirs.SetNamespace(gatewayNamespace)
		Expect(unstructured.SetNestedMap(theirs.Object, map[string]any{"group": gwapiv1.GroupName, "kind": "Gateway", "name": gatewayName}, "spec", "targetRef")).To(Succeed())
		Expect(suite.Admin.Create(ctx, theirs)).To(Succeed())
		DeferCleanup(func() { Expect(client.IgnoreNotFound(suite.Admin.Delete(m.ctx, theirs))).To(Succeed()) })
		applied := m.condition(v1alpha1.ConditionPoliciesApplied)
		Eventually(applied).Should(And(HaveField("Reason", string(v1alpha1.ReasonOverridden)),
			HaveField("Message", ContainSubstring("AuthPolicy "+gatewayNamespace+"/forced"))))
		Expect(suite.Admin.Delete(ctx, theirs)).To(Succeed())
		Eventually(applied).Should(HaveField("Reason", string(v1alpha1.ReasonPoliciesApplied)))
	})

	It("says nothing of somebody else's policy that is not enforced", func(ctx SpecContext) {
		// It is older, or at least comes first by name.
		Expect(suite.Admin.Create(ctx, m.rival(kuadrant.AuthPolicy, "before", anybody()))).To(Succeed())
		auth := m.allow("team", "engineers")
		m.subscribe("sub", rated(1, "1m"))
		Eventually(func(g Gomega) {
			ours := m.authPolicy()
			g.Expect(ours).NotTo(BeNil())
			g.Expect(kuadrant.InForce(ours)).To(BeTrue())
		}).Should(Succeed())
		Eventually(m.condition(v1alpha1.ConditionPoliciesApplied)).Should(HaveField("Status", metav1.ConditionTrue))
		Expect(meta.IsStatusConditionTrue(reload(ctx, auth).Status.Conditions, string(v1alpha1.ConditionConflictingAuthPolicy))).To(BeTrue())
	})

	It("says so when it has no AuthPolicy and somebody else's stands on its route", func(ctx SpecContext) {
		applied := m.condition(v1alpha1.ConditionPoliciesApplied)
		Eventually(applied).Should(HaveField("Reason", string(v1alpha1.ReasonNoPolicies)))
		theirs := m.rival(kuadrant.AuthPolicy, "open-door", anybody())
		Expect(suite.Admin.Create(ctx, theirs)).To(Succeed())
		Eventually(applied).Should(And(HaveField("Reason", string(v1alpha1.ReasonOverridden)), HaveField("Message", ContainSubstring(m.namespace+"/open-door"))))
		Expect(suite.Admin.Delete(ctx, theirs)).To(Succeed())
		Eventually(applied).Should(HaveField("Reason", string(v1alpha1.ReasonNoPolicies)))
	})
})
