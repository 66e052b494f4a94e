// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// These specs stop the Kuadrant stand-in, so no other may run beside them; in
// one process none does.
var _ = Describe("What the gateway enforces", func() {
	It("decides whether a subscription is Active, not what was written (A31, W-35)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		Eventually(func() any { return w.authPolicyOf(model) }).ShouldNot(BeNil())
		on.Standins.Kuadrant.Stall()
		DeferCleanup(on.Standins.Kuadrant.Resume)
		gold := w.subscription("gold").Limit(model, 100, "1m").Obj()
		w.create(gold)
		Eventually(w.limitNames(model)).Should(ConsistOf("tokens-100-per-1m"))
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhasePending))
		Consistently(w.phase(gold)).WithTimeout(quiet).Should(Equal(v1alpha1.PhasePending))
		on.Standins.Kuadrant.Resume()
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseActive))
	})

	It("is judged by the current generation: an edited auth policy waits for its own (A31)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.model("granite")
		policy := w.authPolicy("everyone", model).Obj()
		w.create(policy)
		Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhaseActive))
		on.Standins.Kuadrant.Stall()
		DeferCleanup(on.Standins.Kuadrant.Resume)
		w.edit(policy, func() { policy.Spec.Subjects.Groups[0].Name = "others" })
		Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhasePending))
		on.Standins.Kuadrant.Resume()
		Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhaseActive))
	})

	It("serves an edited subscription by its former limits until the new ones hold: an edit is no outage", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		gold := w.subscription("gold").Limit(model, 100, "1m").Obj()
		w.create(gold)
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseActive))
		on.Standins.Kuadrant.Stall()
		DeferCleanup(on.Standins.Kuadrant.Resume)
		w.edit(gold, func() { gold.Spec.ModelRefs[0].TokenRateLimits[0].Limit = 200 })
		Eventually(w.limitNames(model)).Should(ConsistOf("tokens-200-per-1m"))
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseDegraded))
		Expect(w.ready(gold).Status).To(Equal(metav1.ConditionUnknown))
		Expect(gold.Status.TokenRateLimitStatuses).To(HaveExactElements(And(HaveField("Ready", true), HaveField("Reason", v1alpha1.ReasonAccepted))))
		on.Standins.Kuadrant.Resume()
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseActive))
	})

	It("leaves the other models of a subscription alone while one is new", func(ctx SpecContext) {
		w := newWorld(ctx)
		old := w.governed("old")
		gold := w.subscription("gold").Limit(old, 100, "1m").Obj()
		w.create(gold)
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseActive))
		w.create(builder.ModelRef(w.namespace, "routeless").Obj())
		w.edit(gold, func() {
			gold.Spec.ModelRefs = append(gold.Spec.ModelRefs, w.subscription("x").Limit(builder.Key(w.namespace, "routeless"), 5, "1m").Obj().Spec.ModelRefs...)
		})
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseDegraded))
		Eventually(func() []v1alpha1.TokenRateLimitStatus { return reload(w, gold).Status.TokenRateLimitStatuses }).Should(
			ContainElement(And(HaveField("Model", "old"), HaveField("Ready", true))))
	})

	It("is noticed when it is lost, and when it comes back (W-35, B10)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		gold := w.subscription("gold").Limit(model, 100, "1m").Obj()
		w.create(gold)
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseActive))
		on.Standins.Kuadrant.Stall()
		DeferCleanup(on.Standins.Kuadrant.Resume)
		policy := w.limitPolicy(model)
		lost := metav1.Condition{Type: "Enforced", Status: metav1.ConditionFalse, Reason: "Overridden", Message: "the limits are not in place", LastTransitionTime: metav1.Now()}
		accepted := metav1.Condition{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted", LastTransitionTime: metav1.Now()}
		policy.Object["status"] = map[string]any{"observedGeneration": policy.GetGeneration(), "conditions": []any{w.asMap(accepted), w.asMap(lost)}}
		Expect(on.Admin.Status().Update(w.ctx, policy)).To(Succeed())
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseDegraded))
		Expect(gold.Status.TokenRateLimitStatuses).To(HaveExactElements(And(
			HaveField("Reason", v1alpha1.ReasonNotEnforced), HaveField("Message", ContainSubstring("maas-trlp-granite")))))
		on.Standins.Kuadrant.Resume()
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseActive))
	})
})

var _ = Describe("The first status of a subscription", func() {
	It("tells its identity before any policy names it (A.4, decision 7)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		mark := audit.Now()
		w.create(w.subscription("gold").Limit(model, 100, "1m").Obj())
		Eventually(w.limitNames(model)).Should(ConsistOf("tokens-100-per-1m"))
		events, err := on.Env.Audit().After(mark, audit.ByUser(testenv.OperatorUser), audit.IsWrite(), audit.Succeeded())
		Expect(err).NotTo(HaveOccurred())
		var order []string
		for _, e := range events {
			if e.Resource == "maassubscriptions" && strings.Contains(e.Name, w.namespace) || e.Resource == "tokenratelimitpolicies" && e.Namespace == w.namespace {
				order = append(order, e.Resource)
			}
		}
		Expect(order[0]).To(Equal("maassubscriptions"))
		Expect(order).To(ContainElement("tokenratelimitpolicies"))
	})
})

// asMap is a condition as unstructured objects hold it.
func (world) asMap(condition metav1.Condition) map[string]any {
	GinkgoHelper()
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&condition)
	Expect(err).NotTo(HaveOccurred())
	return out
}
