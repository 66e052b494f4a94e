// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

var _ = Describe("A MaaSAuthPolicy", func() {
	It("is Active and lists one enforced AuthPolicy per model (decides 9.4.76, 9.4.83)", func(ctx SpecContext) {
		w := newWorld(ctx)
		a, b := w.model("a"), w.model("b")
		policy := w.authPolicy("everyone", a, b).Obj()
		w.create(policy)
		Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhaseActive))
		Expect(policy.Status.AuthPolicies).To(HaveExactElements(
			And(HaveField("Name", "maas-auth-a"), HaveField("Namespace", w.namespace), HaveField("Ready", true)),
			And(HaveField("Name", "maas-auth-b"), HaveField("Namespace", w.namespace), HaveField("Ready", true)),
		))
		Expect(w.authPolicyOf(builder.Key(stage.TenantNamespace, "a"))).To(BeNil(), "in the namespace of the route, nowhere else")
	})

	It("is Failed when no model exists, Degraded when some do, and names the lost one (9.4.76)", func(ctx SpecContext) {
		w := newWorld(ctx)
		ghost := builder.Key(w.namespace, "ghost")
		none, some := w.authPolicy("none", ghost).Obj(), w.authPolicy("some", w.model("a"), ghost).Obj()
		w.create(none, some)
		Eventually(w.phase(none)).Should(Equal(v1alpha1.PhaseFailed))
		Eventually(w.phase(some)).Should(Equal(v1alpha1.PhaseDegraded))
		Expect(w.ready(some)).To(And(HaveField("Reason", string(v1alpha1.ReasonPartialFailure)), HaveField("Message", ContainSubstring(ghost.String()))))
	})

	It("adds its subjects to those of the others in one policy, sorted and once each (S-09)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.model("granite")
		w.create(
			w.authPolicy("one", model).Subjects([]string{"writers", "engineers"}, []string{"anne"}).Obj(),
			w.authPolicy("two", model).Subjects([]string{"engineers"}, []string{"bob"}).Obj(),
		)
		Eventually(w.subjectRule(model)).Should(And(ContainSubstring(`["anne", "bob"]`), ContainSubstring(`["engineers", "writers"]`)))
	})

	It("takes only its own subjects along, and the policy with the last one (9.4.63, 9.4.64, S-10)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.model("granite")
		one, two := w.authPolicy("one", model).Subjects([]string{"first"}, nil).Obj(), w.authPolicy("two", model).Subjects([]string{"second"}, nil).Obj()
		w.create(one, two)
		Eventually(w.subjectRule(model)).Should(And(ContainSubstring("first"), ContainSubstring("second")))
		uid := w.authPolicyOf(model).GetUID()
		Expect(on.Admin.Delete(w.ctx, one)).To(Succeed())
		Eventually(w.subjectRule(model)).ShouldNot(ContainSubstring("first"))
		Expect(w.authPolicyOf(model).GetUID()).To(Equal(uid))
		w.edit(two, func() { two.Spec.ModelRefs = []v1alpha1.ModelReference{{Namespace: w.namespace, Name: "elsewhere"}} })
		Eventually(func() any { return w.authPolicyOf(model) }).Should(BeNil())
	})

	It("leaves the subjects to maas-api above the bound, and the model says so (A25, decision 4)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.model("granite")
		users := make([]string, 0, 200)
		for i := range cap(users) {
			users = append(users, "user-"+string(rune('a'+i%26))+string(rune('a'+i/26)))
		}
		w.create(w.authPolicy("one", model).Subjects(nil, users).Obj())
		Eventually(w.modelCondition(model, v1alpha1.ConditionSubjectsInlined)).Should(HaveField("Status", metav1.ConditionTrue))
		for i := range users {
			users[i] = "x" + users[i]
		}
		w.create(w.authPolicy("two", model).Subjects(nil, users).Obj())
		Eventually(w.modelCondition(model, v1alpha1.ConditionSubjectsInlined)).Should(And(
			HaveField("Status", metav1.ConditionFalse), HaveField("Reason", string(v1alpha1.ReasonTooManySubjects))))
		Expect(w.subjectRule(model)()).To(BeEmpty())
	})
})

var _ = Describe("A foreign AuthPolicy on a model's route (9.4.84, A33)", func() {
	conflict := func(w world, policy *v1alpha1.MaaSAuthPolicy) func() metav1.Condition {
		return func() metav1.Condition {
			return w.condition(reload(w, policy), v1alpha1.ConditionConflictingAuthPolicy)
		}
	}

	It("is reported by name while it is there, also when it comes later", func(ctx SpecContext) {
		w := newWorld(ctx)
		policy := w.authPolicy("everyone", w.model("granite")).Obj()
		w.create(policy)
		Eventually(conflict(w, policy)).Should(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", string(v1alpha1.ReasonNoConflict))))
		Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhaseActive))
		one, two := w.rogue("one", "HTTPRoute", "granite"), w.rogue("two", "HTTPRoute", "granite")
		w.create(one, two)
		Eventually(conflict(w, policy)).Should(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", string(v1alpha1.ReasonConflictDetected)),
			HaveField("Message", ContainSubstring(w.namespace+"/one, "+w.namespace+"/two"))))
		Expect(on.Admin.Delete(w.ctx, one)).To(Succeed())
		Expect(on.Admin.Delete(w.ctx, two)).To(Succeed())
		Eventually(conflict(w, policy)).Should(HaveField("Status", metav1.ConditionFalse))
	})

	It("is enforced when it is newer, and the model and its auth policies say so until it is gone", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.model("granite")
		policy, paid := w.authPolicy("everyone", model).Obj(), w.subscription("gold").Limit(model, 5, "1m").Obj()
		w.create(policy, paid)
		Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhaseActive))
		Eventually(w.phase(paid)).Should(Equal(v1alpha1.PhaseActive))
		rogue := w.rogue("rogue", "HTTPRoute", "granite")
		w.create(rogue)
		Eventually(w.modelCondition(model, v1alpha1.ConditionPoliciesApplied)).Should(And(HaveField("Status", metav1.ConditionFalse),
			HaveField("Reason", string(v1alpha1.ReasonOverridden)), HaveField("Message", ContainSubstring("Delete or retarget: AuthPolicy "+w.namespace+"/rogue."))))
		Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhaseDegraded))
		Eventually(conflict(w, policy)).Should(HaveField("Status", metav1.ConditionTrue))
		Expect(on.Admin.Delete(w.ctx, rogue)).To(Succeed())
		Eventually(w.modelCondition(model, v1alpha1.ConditionPoliciesApplied)).Should(HaveField("Status", metav1.ConditionTrue))
		Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhaseActive))
	})

	It("is none when it targets another route or the Gateway", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.create(w.rogue("other-route", "HTTPRoute", "other"), w.rogue("gateway", "Gateway", "granite"))
		policy := w.authPolicy("everyone", w.model("granite")).Obj()
		w.create(policy)
		Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhaseActive))
		Expect(conflict(w, policy)()).To(HaveField("Status", metav1.ConditionFalse))
	})

	It("is none of an object whose model does not exist", func(ctx SpecContext) {
		w := newWorld(ctx)
		policy := w.authPolicy("everyone", builder.Key(w.namespace, "ghost")).Obj()
		w.create(policy)
		Eventually(conflict(w, policy)).Should(HaveField("Reason", string(v1alpha1.ReasonNoConflict)))
	})
})

// rogue is an AuthPolicy of somebody else.
func (w world) rogue(name, kind, target string) client.Object {
	policy := kuadrant.New(kuadrant.AuthPolicy)
	policy.SetNamespace(w.namespace)
	policy.SetName(name)
	policy.Object["spec"] = map[string]any{
		"targetRef": map[string]any{"group": "gateway.networking.k8s.io", "kind": kind, "name": target},
		"rules":     map[string]any{"authentication": map[string]any{"anyone": map[string]any{"anonymous": map[string]any{}}}},
	}
	return policy
}

// subjectRule is the text of the rule that names the subjects; empty when the
// policy has none.
func (w world) subjectRule(model types.NamespacedName) func() string {
	return func() string {
		GinkgoHelper()
		policy := w.authPolicyOf(model)
		if policy == nil {
			return ""
		}
		patterns, _, err := unstructured.NestedSlice(policy.Object, "spec", "rules", "authorization", "subject-allowed", "patternMatching", "patterns")
		Expect(err).NotTo(HaveOccurred())
		text := ""
		for _, pattern := range patterns {
			text += pattern.(map[string]any)["predicate"].(string)
		}
		return text
	}
}

// modelCondition reads a condition of a MaaSModelRef, for Eventually.
func (w world) modelCondition(model types.NamespacedName, kind v1alpha1.ConditionType) func() metav1.Condition {
	return func() metav1.Condition {
		GinkgoHelper()
		return w.condition(reload(w, builder.ModelRef(model.Namespace, model.Name).Obj()), kind)
	}
}
