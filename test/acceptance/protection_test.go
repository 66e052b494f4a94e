// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// patch changes a generated policy behind the operator's back.
func (w world) patch(policy *unstructured.Unstructured, merge string) {
	GinkgoHelper()
	Expect(on.Admin.Patch(w.ctx, policy, client.RawPatch(types.MergePatchType, []byte(merge)))).To(Succeed())
}

var _ = Describe("A generated policy", func() {
	It("loses an anonymous rule that somebody added (W-04, A.7)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		Eventually(func() any { return w.authPolicyOf(model) }).ShouldNot(BeNil())
		w.patch(w.authPolicyOf(model), `{"spec":{"rules":{"authentication":{"anyone":{"anonymous":{}}}}}}`)
		Eventually(func() map[string]any {
			rules, _, err := unstructured.NestedMap(w.authPolicyOf(model).Object, "spec", "rules", "authentication")
			Expect(err).NotTo(HaveOccurred())
			return rules
		}).Should(And(HaveKey("api-keys"), Not(HaveKey("anyone"))))
	})

	It("loses a limit that somebody added or that an earlier release left (9.5.87, W-04)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		w.create(w.subscription("gold").Limit(model, 100, "1m").Obj())
		Eventually(w.limitNames(model)).Should(ConsistOf("tokens-100-per-1m"))
		w.patch(w.limitPolicy(model), `{"spec":{"limits":{"old-gold-granite-tokens":{"rates":[{"limit":1,"window":"1m"}],"counters":[{"expression":"auth.identity.userid"}]}}}}`)
		Eventually(w.limitNames(model)).Should(ConsistOf("tokens-100-per-1m"))
	})

	It("comes back at once when somebody deletes it (W-05, A.7)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		w.create(w.subscription("gold").Limit(model, 100, "1m").Obj())
		for _, read := range []func(types.NamespacedName) *unstructured.Unstructured{w.authPolicyOf, w.limitPolicy} {
			Eventually(func() any { return read(model) }).ShouldNot(BeNil())
			gone := read(model)
			Expect(on.Admin.Delete(w.ctx, gone)).To(Succeed())
			Eventually(func() bool { now := read(model); return now != nil && now.GetUID() != gone.GetUID() }).Should(BeTrue())
		}
	})

	It("of an earlier release is taken over in place (9.4.54, A32)", func(ctx SpecContext) {
		w := newWorld(ctx)
		// Everything but the route is there before the operator looks at the policy.
		model := builder.Key(w.namespace, "granite")
		w.create(w.authPolicy("everyone", model).Obj(), builder.ModelRef(w.namespace, "granite").Obj())
		Eventually(w.modelCondition(model, v1alpha1.ConditionPoliciesApplied)).Should(HaveField("Reason", string(v1alpha1.ReasonRouteNotFound)))
		old := w.earlier(kuadrant.AuthPolicy, "maas-auth-granite", nil)
		w.create(old, builder.Route(w.namespace, "granite", stage.GatewayNamespace, stage.GatewayName).Obj(), builder.ModelServer(w.namespace, "granite"))
		Eventually(w.subjectRule(model)).Should(ContainSubstring("engineers"))
		Expect(w.authPolicyOf(model).GetUID()).To(Equal(old.GetUID()))
	})

	It("has labels and annotations repaired, and keeps those of others (W-15)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		Eventually(func() any { return w.authPolicyOf(model) }).ShouldNot(BeNil())
		w.patch(w.authPolicyOf(model), `{"metadata":{"labels":{"maas.opendatahub.io/model":"other","team":"blue"},"annotations":{"maas.opendatahub.io/auth-policies":"x/y"}}}`)
		uid := w.authPolicyOf(model).GetUID()
		Eventually(func() map[string]string { return w.authPolicyOf(model).GetLabels() }).Should(And(
			HaveKeyWithValue(v1alpha1.LabelModel, "granite"), HaveKeyWithValue("team", "blue")))
		Expect(w.authPolicyOf(model).GetUID()).To(Equal(uid), "repaired, not made anew")
		Expect(w.authPolicyOf(model).GetAnnotations()[v1alpha1.AnnotationAuthPolicies]).NotTo(Equal("x/y"))
	})

	It("of another's making under the same name is not touched, and the model says so", func(ctx SpecContext) {
		w := newWorld(ctx)
		foreign := w.rogue("maas-auth-granite", "HTTPRoute", "granite").(*unstructured.Unstructured)
		w.create(foreign)
		model := w.governed("granite")
		Eventually(w.modelCondition(model, v1alpha1.ConditionPoliciesApplied)).Should(And(
			HaveField("Reason", string(v1alpha1.ReasonForeignObject)), HaveField("Message", ContainSubstring("maas-auth-granite"))))
		Expect(w.authPolicyOf(model).Object["spec"]).To(Equal(foreign.Object["spec"]))
	})
})

// optOut takes a policy out of the operator's hands and marks it.
const optOut = `{"metadata":{"annotations":{"opendatahub.io/managed":"false"}},"spec":{"limits":{"mine":{"rates":[{"limit":7,"window":"1m"}]}}}}`

var _ = Describe("A policy that is opted out of management (A18)", func() {
	// open is a model whose limit policy somebody has taken over.
	open := func(ctx SpecContext) (world, types.NamespacedName, *v1alpha1.MaaSSubscription) {
		w := newWorld(ctx)
		model := w.governed("granite")
		gold := w.subscription("gold").Limit(model, 100, "1m").Obj()
		w.create(gold)
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseActive))
		w.patch(w.limitPolicy(model), optOut)
		Eventually(w.modelCondition(model, v1alpha1.ConditionPoliciesApplied)).Should(HaveField("Reason", string(v1alpha1.ReasonOptedOut)))
		return w, model, gold
	}

	It("is not updated, and who no longer stands in it is told (9.5.87, A.7)", func(ctx SpecContext) {
		w, model, gold := open(ctx)
		w.edit(gold, func() { gold.Spec.ModelRefs[0].TokenRateLimits[0].Limit = 200 })
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseFailed))
		Expect(gold.Status.TokenRateLimitStatuses).To(HaveExactElements(HaveField("Reason", v1alpha1.ReasonOptedOut)))
		Expect(w.limitNames(model)()).To(ConsistOf("tokens-100-per-1m", "mine"))
	})

	It("survives the deletion of its last subscription (9.5.91)", func(ctx SpecContext) {
		w, model, gold := open(ctx)
		Expect(on.Admin.Delete(w.ctx, gold)).To(Succeed())
		Eventually(w.modelCondition(model, v1alpha1.ConditionGovernanceAttached)).Should(HaveField("Status", BeEquivalentTo("False")))
		Consistently(w.limitNames(model)).WithTimeout(quiet).Should(ConsistOf("tokens-100-per-1m", "mine"))
	})

	It("survives the deletion of its model (9.1.17)", func(ctx SpecContext) {
		w, model, _ := open(ctx)
		ref := builder.ModelRef(model.Namespace, model.Name).Obj()
		Expect(on.Admin.Delete(w.ctx, ref)).To(Succeed())
		Eventually(func() any { return w.authPolicyOf(model) }).Should(BeNil(), "the one that is managed goes")
		Expect(w.limitNames(model)()).To(ConsistOf("tokens-100-per-1m", "mine"))
	})

	It("survives the deletion of the last MaaSAuthPolicy (9.4.62)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.model("granite")
		policy := w.authPolicy("everyone", model).Obj()
		w.create(policy)
		Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhaseActive))
		w.patch(w.authPolicyOf(model), `{"metadata":{"annotations":{"opendatahub.io/managed":"false"}}}`)
		Eventually(w.modelCondition(model, v1alpha1.ConditionPoliciesApplied)).Should(HaveField("Reason", string(v1alpha1.ReasonOptedOut)))
		Expect(on.Admin.Delete(w.ctx, policy)).To(Succeed())
		Consistently(func() any { return w.authPolicyOf(model) }).WithTimeout(quiet).ShouldNot(BeNil())
	})

	It("is managed again when the annotation says anything else (9.7.115)", func(ctx SpecContext) {
		w, model, _ := open(ctx)
		w.patch(w.limitPolicy(model), `{"metadata":{"annotations":{"opendatahub.io/managed":"FALSE"}}}`)
		Eventually(w.limitNames(model)).Should(ConsistOf("tokens-100-per-1m"))
	})
})

// earlier is a policy as an earlier release left it: its labels, no field of
// ours, an owner that was a client's default name.
func (w world) earlier(kind schema.GroupVersionKind, name string, annotations map[string]string) *unstructured.Unstructured {
	policy := kuadrant.New(kind)
	policy.SetNamespace(w.namespace)
	policy.SetName(name)
	policy.SetAnnotations(annotations)
	policy.SetLabels(map[string]string{
		v1alpha1.LabelModel: "granite", v1alpha1.LabelModelNamespace: w.namespace,
		"app.kubernetes.io/managed-by": v1alpha1.ManagedByValue, "app.kubernetes.io/part-of": v1alpha1.PartOfAuthPolicy,
	})
	policy.Object["spec"] = map[string]any{
		"targetRef": map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "granite"},
		"rules":     map[string]any{"authentication": map[string]any{"old": map[string]any{"anonymous": map[string]any{}}}},
	}
	return policy
}
