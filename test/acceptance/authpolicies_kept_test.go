// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

var _ = Describe("An AuthPolicy that an earlier release left", func() {
	It("stays as it is when it is opted out, with good conditions too, and lets nobody become Active (9.4.54, decides 9.4.59, A32)", func(ctx SpecContext) {
		w := newWorld(ctx)
		old := w.earlier(kuadrant.AuthPolicy, "maas-auth-granite", map[string]string{v1alpha1.AnnotationManaged: "false"})
		w.create(old)
		model := w.model("granite")
		policy := w.authPolicy("everyone", model).Obj()
		w.create(policy)
		Eventually(w.modelCondition(model, v1alpha1.ConditionPoliciesApplied)).Should(HaveField("Reason", string(v1alpha1.ReasonOptedOut)))
		Eventually(w.enforced(model)).Should(BeTrue(), "Kuadrant is content with it")
		Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhaseFailed))
		now := w.authPolicyOf(model)
		Expect([]any{now.GetUID(), now.GetGeneration()}).To(Equal([]any{old.GetUID(), old.GetGeneration()}))
	})

	It("is replaced in place: never missing, and Pending until the new one is enforced, with maas-api or without (A32, decides 9.4.55 to 9.4.58)", func(ctx SpecContext) {
		w := newWorld(ctx)
		Expect(on.Operator.Kill()).To(Succeed())
		old := w.earlier(kuadrant.AuthPolicy, "maas-auth-granite", nil)
		model := w.model("granite")
		policy := w.authPolicy("everyone", model).Obj()
		w.create(old, policy)
		on.Standins.Kuadrant.Stall()
		DeferCleanup(on.Standins.Kuadrant.Resume)
		Expect(on.Operator.Start(w.ctx)).To(Succeed())
		Eventually(w.subjectRule(model)).Should(ContainSubstring("engineers"))
		Consistently(w.phase(policy)).WithTimeout(quiet).Should(Equal(v1alpha1.PhasePending))
		on.Standins.Kuadrant.Resume()
		Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhaseActive))
		Expect(w.authPolicyOf(model).GetUID()).To(Equal(old.GetUID()), "the same object all the time")
	}, NodeTimeout(startTimeout))

	It("of one model holds nobody up at another (decides 9.4.60)", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.create(w.earlier(kuadrant.AuthPolicy, "maas-auth-granite", map[string]string{v1alpha1.AnnotationManaged: "false"}))
		w.create(w.authPolicy("held", w.model("granite")).Obj())
		policy := w.authPolicy("everyone", w.model("other")).Obj()
		w.create(policy)
		Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhaseActive))
	})
})

var _ = Describe("The AuthPolicy of a model", func() {
	It("does not change in what it rules when a second MaaSAuthPolicy says the same (decides 9.4.61)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.model("granite")
		one, two := w.authPolicy("one", model).Obj(), w.authPolicy("two", model).Obj()
		w.create(one)
		Eventually(w.phase(one)).Should(Equal(v1alpha1.PhaseActive))
		before := w.authPolicyOf(model)
		w.create(two)
		Eventually(w.phase(two)).Should(Equal(v1alpha1.PhaseActive))
		Expect(w.authPolicyOf(model).GetGeneration()).To(Equal(before.GetGeneration()))
	})

	It("is neither written nor reported on again when nothing changed (9.4.82)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.model("granite")
		policy := w.authPolicy("everyone", model).Obj()
		w.create(policy)
		Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhaseActive))
		Eventually(w.modelVerdict(model, v1alpha1.ConditionPoliciesApplied)).Should(HavePrefix("True/"))
		Eventually(w.modelVerdict(model, v1alpha1.ConditionGovernanceAttached)).Should(HavePrefix("False/"))
		mark := audit.Now()
		w.edit(policy, func() { policy.Labels = map[string]string{"touched": "true"} })
		Consistently(func() []audit.Event {
			events, err := on.Env.Audit().After(mark, audit.ByUser(testenv.OperatorUser), audit.IsWrite())
			Expect(err).NotTo(HaveOccurred())
			return slices.DeleteFunc(events, func(e audit.Event) bool {
				return e.Namespace != w.namespace && !strings.Contains(e.Name, w.namespace) // Of this corner only.
			})
		}).WithTimeout(quiet).Should(BeEmpty())
	})

	It("is valid to the letter by the CRDs of Kuadrant, as are the limits, with nothing in it that came after Kuadrant 1.4 (A36)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		w.create(w.subscription("gold").Limit(model, 100, "1m").Obj())
		w.guarded(model)
		for _, live := range []*unstructured.Unstructured{w.authPolicyOf(model), w.limitPolicy(model)} {
			copied := kuadrant.New(live.GroupVersionKind())
			copied.SetNamespace(w.namespace)
			copied.SetName("copy")
			copied.Object["spec"] = live.Object["spec"]
			strict := client.WithFieldValidation(on.Admin, client.FieldValidation(metav1.FieldValidationStrict))
			Expect(strict.Create(w.ctx, copied, client.DryRunAll)).To(Succeed())
			Expect(live.Object["spec"]).To(HaveKeyWithValue("targetRef", HaveKeyWithValue("kind", "HTTPRoute")))
			Expect(fmt.Sprint(live.Object["spec"])).NotTo(ContainSubstring("x509"))
		}
	})

	It("is as large with many subscriptions and long names as with one, and rules the same (A25)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		w.create(w.subscription("first").Limit(model, 100, "1m").Obj())
		w.guarded(model)
		size := func() int {
			raw, err := json.Marshal(w.authPolicyOf(model).Object["spec"])
			Expect(err).NotTo(HaveOccurred())
			return len(raw)
		}
		before, rules := size(), w.gateway(model).Rules["authorization"]
		const count = 60
		for i := range count {
			group := fmt.Sprintf("%03d-%s", i, strings.Repeat("g", 249))
			w.create(w.subscription(fmt.Sprintf("s%03d", i)).Owners([]string{group}, nil).Limit(model, 100, "1m").Obj())
		}
		Eventually(func() int {
			return len(strings.Split(w.limitPolicy(model).GetAnnotations()[v1alpha1.AnnotationSubscriptions], ","))
		}).Should(Equal(count + 1))
		Expect(size()).To(Equal(before))
		Expect(w.gateway(model).Rules["authorization"]).To(Equal(rules))
	})

	It("has no owner: neither its Gateway nor its route takes it along (decides 9.4.80, 9.4.81, decision 11)", func(ctx SpecContext) {
		w := newWorld(ctx)
		red := w.tenant("red")
		model := builder.ModelRef(w.namespace, "granite").Tenant(red.Name).Obj()
		route := red.route("granite").Obj()
		w.create(route, builder.ModelServer(w.namespace, "granite"), model)
		red.pair(red.Namespace(), model)
		granite := client.ObjectKeyFromObject(model)
		w.guarded(granite)
		auth, limits := w.authPolicyOf(granite), w.limitPolicy(granite)
		Expect(auth.GetOwnerReferences()).To(BeEmpty())
		Expect(limits.GetOwnerReferences()).To(BeEmpty())
		w.removeAll(builder.Gateway(red.Gateway, red.host), route)
		Eventually(w.modelSays(granite)).ShouldNot(Equal("Ready/Reconciled"))
		Consistently(func() []any {
			return []any{w.authPolicyOf(granite).GetUID(), w.limitPolicy(granite).GetUID()}
		}).WithTimeout(quiet).Should(Equal([]any{auth.GetUID(), limits.GetUID()}))
	})

	It("stays when the last policy of another tenant on the same Gateway goes (decides 9.4.65)", func(ctx SpecContext) {
		w := newWorld(ctx)
		ours := w.governed("ours")
		red := w.tenant("red")
		red.Gateway = theGateway
		red.settle()
		model := builder.ModelRef(w.namespace, "theirs").Tenant(red.Name).Obj()
		w.create(w.modelRoute("theirs").Obj(), builder.ModelServer(w.namespace, "theirs"), model)
		policy, _ := red.pair(red.Namespace(), model)
		theirs := client.ObjectKeyFromObject(model)
		w.guarded(theirs)
		Eventually(w.enforced(ours)).Should(BeTrue())
		version := w.authPolicyOf(ours).GetResourceVersion()
		w.removeAll(policy)
		Eventually(func() any { return w.authPolicyOf(theirs) }).Should(BeNil())
		Expect(w.authPolicyOf(ours).GetResourceVersion()).To(Equal(version))
	})

	It("goes with the last MaaSAuthPolicy although the tenant's settings went before (decides 9.4.66, W-49)", func(ctx SpecContext) {
		w := newWorld(ctx)
		red := w.tenant("red")
		model := builder.ModelRef(w.namespace, "granite").Tenant(red.Name).Obj()
		w.create(red.route("granite").Obj(), builder.ModelServer(w.namespace, "granite"), model)
		policy, paid := red.pair(red.Namespace(), model)
		granite := client.ObjectKeyFromObject(model)
		w.guarded(granite)
		w.removeAll(red.config, red.registry)
		w.edit(policy, func() { policy.Finalizers = []string{v1alpha1.FinalizerAuthPolicyCleanup} })
		w.removeAll(policy, paid)
		Eventually(func() bool { return w.authPolicyOf(granite) == nil && w.limitPolicy(granite) == nil }).Should(BeTrue())
	})
})

var _ = Describe("A MaaSAuthPolicy or MaaSSubscription that goes at once", func() {
	It("is no error to anybody (9.4.77)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		Eventually(w.enforced(model)).Should(BeTrue())
		before := w.metrics("maas_reconcile_total", `outcome="error"`)
		for i := range 10 {
			policy := w.authPolicy(fmt.Sprintf("brief-%d", i), model).Obj()
			paid := w.subscription(fmt.Sprintf("brief-%d", i)).Limit(model, 5, "1m").Obj()
			w.create(policy, paid)
			Expect(on.Admin.Delete(w.ctx, policy)).To(Succeed())
			Expect(on.Admin.Delete(w.ctx, paid)).To(Succeed())
		}
		Eventually(func() any { return w.limitPolicy(model) }).Should(BeNil())
		Consistently(func() any { return w.limitPolicy(model) }).WithTimeout(quiet).Should(BeNil())
		Expect(w.metrics("maas_reconcile_total", `outcome="error"`)).To(Equal(before))
	})
})

var _ = Describe("A foreign AuthPolicy (9.4.84)", func() {
	conflict := func(w world, policy *v1alpha1.MaaSAuthPolicy) func() metav1.Condition {
		return func() metav1.Condition {
			return w.condition(reload(w, policy), v1alpha1.ConditionConflictingAuthPolicy)
		}
	}

	It("is reported once, though two models share the route", func(ctx SpecContext) {
		w := newWorld(ctx)
		first := w.model("first")
		w.create(builder.ModelServerOn(w.namespace, "second", "first"), builder.ModelRef(w.namespace, "second").Obj(), w.rogue("rogue", "HTTPRoute", "first"))
		policy := w.authPolicy("both", first, builder.Key(w.namespace, "second")).Obj()
		w.create(policy)
		Eventually(conflict(w, policy)).Should(HaveField("Reason", string(v1alpha1.ReasonConflictDetected)))
		Expect(strings.Count(conflict(w, policy)().Message, w.namespace+"/rogue")).To(Equal(1))
	})

	It("is none when it is in another namespace, whatever route it names", func(ctx SpecContext) {
		w, elsewhere := newWorld(ctx), newWorld(ctx)
		elsewhere.create(elsewhere.rogue("rogue", "HTTPRoute", "granite"))
		policy := w.authPolicy("everyone", w.model("granite")).Obj()
		w.create(policy)
		Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhaseActive))
		Expect(conflict(w, policy)()).To(HaveField("Reason", string(v1alpha1.ReasonNoConflict)))
	})
})
