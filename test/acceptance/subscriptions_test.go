// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

var _ = Describe("A MaaSSubscription", func() {
	It("is Active, with both lists ready, once the gateway enforces its limit (9.5.98)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		gold := w.subscription("gold").Limit(model, 100, "1m").Obj()
		w.create(gold)
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseActive))
		Expect(w.limitNames(model)()).To(ConsistOf("tokens-100-per-1m"))
		Expect(gold.Status.ModelRefStatuses).To(HaveExactElements(HaveField("ResourceRefStatus", And(
			HaveField("Ready", true), HaveField("Reason", v1alpha1.ReasonValid)))))
		Expect(gold.Status.TokenRateLimitStatuses).To(HaveExactElements(HaveField("ResourceRefStatus", And(
			HaveField("Name", "maas-trlp-granite"), HaveField("Ready", true)))))
	})

	It("is Failed when its only model does not exist, and says which (9.5.97, A14)", func(ctx SpecContext) {
		w := newWorld(ctx)
		lost := w.subscription("lost").Limit(builder.Key(w.namespace, "ghost"), 100, "1m").Obj()
		w.create(lost)
		Eventually(w.phase(lost)).Should(Equal(v1alpha1.PhaseFailed))
		Expect(lost.Status.ModelRefStatuses).To(HaveExactElements(HaveField("ResourceRefStatus.Reason", v1alpha1.ReasonNotFound)))
		Expect(w.ready(lost)).To(And(HaveField("Reason", string(v1alpha1.ReasonReconcileFailed)), HaveField("Message", ContainSubstring(w.namespace+"/ghost"))))
	})

	It("is Degraded when one of two models does not exist, and Active when it comes (9.5.97, A14)", func(ctx SpecContext) {
		w := newWorld(ctx)
		there, late := w.governed("there"), builder.Key(w.namespace, "late")
		both := w.subscription("both").Limit(there, 100, "1m").Limit(late, 100, "1m").Obj()
		w.create(both)
		Eventually(w.phase(both)).Should(Equal(v1alpha1.PhaseDegraded))
		Expect(w.ready(both)).To(HaveField("Reason", string(v1alpha1.ReasonPartialFailure)))
		Eventually(w.limitNames(there)).Should(ConsistOf("tokens-100-per-1m"))
		w.governed("late")
		Eventually(w.phase(both)).Should(Equal(v1alpha1.PhaseActive))
	})

	It("is Failed while its model is being deleted (9.5.97)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		gold := w.subscription("gold").Limit(model, 100, "1m").Obj()
		w.create(gold)
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseActive))
		w.holdAndDelete(builder.ModelRef(model.Namespace, model.Name).Obj())
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseFailed))
	})

	It("keeps the policy in place when another one leaves, and takes it along as the last (A03, 9.5.94)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		gold, silver := w.subscription("gold").Limit(model, 100, "1m").Obj(), w.subscription("silver").Limit(model, 10, "1m").Obj()
		w.create(gold, silver)
		Eventually(w.limitNames(model)).Should(ConsistOf("tokens-100-per-1m", "tokens-10-per-1m"))
		uid := w.limitPolicy(model).GetUID()
		Expect(on.Admin.Delete(w.ctx, silver)).To(Succeed())
		Eventually(w.limitNames(model)).Should(ConsistOf("tokens-100-per-1m"))
		Expect(w.limitPolicy(model).GetUID()).To(Equal(uid))
		Expect(on.Admin.Delete(w.ctx, gold)).To(Succeed())
		Eventually(func() any { return w.limitPolicy(model) }).Should(BeNil())
	})

	It("leaves nothing behind at a model it no longer names (A04, 9.5.92)", func(ctx SpecContext) {
		w := newWorld(ctx)
		a, b := w.governed("a"), w.governed("b")
		gold := w.subscription("gold").Limit(a, 100, "1m").Limit(b, 100, "1m").Obj()
		w.create(gold)
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseActive))
		uid := w.limitPolicy(a).GetUID()
		w.edit(gold, func() { gold.Spec.ModelRefs = gold.Spec.ModelRefs[:1] })
		Eventually(func() any { return w.limitPolicy(b) }).Should(BeNil())
		Expect(w.limitPolicy(a).GetUID()).To(Equal(uid))
	})

	It("leaves a model's policy to the others in place when it no longer names it (W-07; decides 9.5.93)", func(ctx SpecContext) {
		w := newWorld(ctx)
		a, b := w.governed("a"), w.governed("b")
		gold, silver := w.subscription("gold").Limit(a, 100, "1m").Limit(b, 100, "1m").Obj(), w.subscription("silver").Limit(b, 10, "1m").Obj()
		w.create(gold, silver)
		Eventually(w.limitNames(b)).Should(HaveLen(2))
		uid := w.limitPolicy(b).GetUID()
		w.edit(gold, func() { gold.Spec.ModelRefs = gold.Spec.ModelRefs[:1] })
		Eventually(w.limitNames(b)).Should(ConsistOf("tokens-10-per-1m"))
		Expect(w.limitPolicy(b).GetUID()).To(Equal(uid))
		Expect(w.limitPolicy(b).GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationSubscriptions, client.ObjectKeyFromObject(silver).String()))
	})

	It("has one policy in the namespace of each model and none in its own (9.5.102)", func(ctx SpecContext) {
		w := newWorld(ctx)
		here := w.governed("granite")
		namespace, err := testenv.NewNamespace(ctx, on.Admin, "llm")
		Expect(err).NotTo(HaveOccurred())
		elsewhere := world{ctx: w.ctx, namespace: namespace}
		there := elsewhere.governed("granite")
		w.create(w.subscription("gold").Limit(here, 100, "1m").Limit(there, 10, "1m").Obj())
		Eventually(w.limitNames(here)).Should(ConsistOf("tokens-100-per-1m"))
		Eventually(w.limitNames(there)).Should(ConsistOf("tokens-10-per-1m"))
		Expect(w.limitPolicy(types.NamespacedName{Namespace: stage.TenantNamespace, Name: "granite"})).To(BeNil())
	})

	It("does not have the policy written again when another one changes nothing (9.5.88, A06)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		gold, silver := w.subscription("gold").Limit(model, 100, "1m").Obj(), w.subscription("silver").Limit(model, 100, "1m").Obj()
		w.create(gold, silver)
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseActive))
		Eventually(w.phase(silver)).Should(Equal(v1alpha1.PhaseActive))
		version, status := w.limitPolicy(model).GetGeneration(), w.ready(gold)
		w.edit(silver, func() { silver.Spec.Priority = 7 })
		Eventually(func() int64 { return reload(w, silver).Status.ObservedGeneration }).Should(Equal(silver.Generation))
		Expect(w.limitPolicy(model).GetGeneration()).To(Equal(version))
		Expect(w.ready(reload(w, gold)).LastTransitionTime).To(Equal(status.LastTransitionTime))
	})
})
