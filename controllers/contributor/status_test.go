// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package contributor_test

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

var _ = Describe("The status of a contributor", func() {
	var m governed

	BeforeEach(func(ctx SpecContext) { m = newModel(ctx) })

	It("is Active when every entry is accepted and enforced, with both lists ready (98, B10)", func(ctx SpecContext) {
		auth, sub := m.allow("team"), m.subscribe("sub")
		Eventually(phaseOf(ctx, auth)).Should(Equal(v1alpha1.PhaseActive))
		Eventually(phaseOf(ctx, sub)).Should(Equal(v1alpha1.PhaseActive))
		Expect(sub.Status.ModelRefStatuses).To(HaveExactElements(And(HaveField("Ready", true), HaveField("Reason", v1alpha1.ReasonValid))))
		Expect(sub.Status.TokenRateLimitStatuses).To(HaveExactElements(And(
			HaveField("Ready", true), HaveField("Reason", v1alpha1.ReasonAcceptedEnforced), HaveField("Name", "maas-trlp-"+m.name), HaveField("Model", m.name))))
		Expect(reload(ctx, auth).Status.AuthPolicies).To(HaveExactElements(And(
			HaveField("Ready", true), HaveField("Name", "maas-auth-"+m.name), HaveField("ModelNamespace", m.namespace))))
	})

	It("names a missing model and what to do, and is Failed when all are missing, Degraded when one is (76, 97, A14, W-24)", func(ctx SpecContext) {
		m.allow("team")
		twin := m // A model of the same name, in another namespace.
		twin.namespace = "no-such-" + m.namespace
		for name, object := range map[string]client.Object{
			"subscription": create(ctx, builder.Subscription(tenantNamespace, m.named("lost")).Limit(twin.key(), 1, "1m").Obj()),
			"auth policy":  create(ctx, builder.AuthPolicy(tenantNamespace, m.named("lost"), twin.key()).Obj()),
		} {
			Eventually(phaseOf(ctx, object)).Should(Equal(v1alpha1.PhaseFailed), name)
			Expect(conditionOf(ctx, object, v1alpha1.ConditionReady)()).To(And(
				HaveField("Status", metav1.ConditionFalse), HaveField("Reason", string(v1alpha1.ReasonReconcileFailed)),
				HaveField("Message", And(ContainSubstring("%s does not exist", twin.key()), ContainSubstring("create it")))), name)
		}

		both := create(ctx, m.subscription("both").Limit(twin.key(), 1, "1m").Obj())
		Eventually(phaseOf(ctx, both)).Should(Equal(v1alpha1.PhaseDegraded))
		Eventually(func() []v1alpha1.TokenRateLimitStatus { return reload(ctx, both).Status.TokenRateLimitStatuses }).Should(HaveExactElements(
			And(HaveField("Namespace", m.namespace), HaveField("Ready", true)),
			And(HaveField("Namespace", twin.namespace), HaveField("Ready", false), HaveField("Reason", v1alpha1.ReasonNotFound))))
		Expect(both.Status.ModelRefStatuses).To(HaveExactElements(HaveField("Ready", true), HaveField("Ready", false)))
		half := create(ctx, builder.AuthPolicy(tenantNamespace, m.named("half"), m.key(), twin.key()).Obj())
		Eventually(phaseOf(ctx, half)).Should(Equal(v1alpha1.PhaseDegraded))
	})

	It("treats a model that is being deleted as missing (97)", func(ctx SpecContext) {
		m.allow("team")
		sub := m.subscribe("sub")
		Eventually(phaseOf(ctx, sub)).Should(Equal(v1alpha1.PhaseActive))
		held := reload(ctx, m.ref())
		before := held.DeepCopy()
		held.Finalizers = append(held.Finalizers, "test.example.com/hold")
		Expect(suite.Admin.Patch(ctx, held, client.MergeFrom(before))).To(Succeed())
		Expect(suite.Admin.Delete(ctx, held)).To(Succeed())
		Eventually(phaseOf(ctx, sub)).Should(Equal(v1alpha1.PhaseFailed))
		Expect(sub.Status.ModelRefStatuses).To(HaveExactElements(HaveField("Reason", v1alpha1.ReasonNotFound)))

		before = reload(ctx, held).DeepCopy()
		held.Finalizers = nil
		Expect(suite.Admin.Patch(ctx, held, client.MergeFrom(before))).To(Succeed())
		Eventually(gone(ctx, held)).ShouldNot(Succeed())
		m.addRef()
		Eventually(phaseOf(ctx, sub)).Should(Equal(v1alpha1.PhaseActive))
		Eventually(eventsOf(ctx, sub)).Should(HaveExactElements("Warning ReconcileFailed", "Normal Reconciled"))
	})

	It("says that another model has the route, also when the policies are not touched by it", func(ctx SpecContext) {
		sub := m.subscribe("sub")
		m.allow("team")
		Eventually(phaseOf(ctx, sub)).Should(Equal(v1alpha1.PhaseActive))
		late := m
		late.name = "the-later-model"
		late.addRefOn(m.name)
		other := create(ctx, builder.Subscription(tenantNamespace, m.named("late")).Limit(late.key(), 1, "1m").Obj())
		Eventually(phaseOf(ctx, other)).Should(Equal(v1alpha1.PhaseFailed))
		Expect(other.Status.TokenRateLimitStatuses).To(HaveExactElements(HaveField("Reason", v1alpha1.ReasonRouteConflict)))
	})

	It("is not Active until the generation with its change is accepted and enforced, and served by its former limits (A31)", func(ctx SpecContext) {
		auth, sub, other := m.allow("team"), m.subscribe("sub"), m.subscribe("other")
		for _, object := range []client.Object{auth, sub, other} {
			Eventually(phaseOf(ctx, object)).Should(Equal(v1alpha1.PhaseActive))
		}
		suite.kuadrant.Stall()
		DeferCleanup(suite.kuadrant.Resume)
		before := sub.DeepCopy()
		sub.Spec.ModelRefs[0].TokenRateLimits[0].Limit = 77
		Expect(suite.Admin.Patch(ctx, sub, client.MergeFrom(before))).To(Succeed())
		Eventually(suite.kuadrant.Held).Should(ContainElement(ContainSubstring(m.namespace)))
		Eventually(phaseOf(ctx, sub)).Should(Equal(v1alpha1.PhaseDegraded))
		Consistently(phaseOf(ctx, sub)).Should(Equal(v1alpha1.PhaseDegraded))
		Expect(sub.Status.TokenRateLimitStatuses).To(HaveExactElements(And(HaveField("Ready", true), HaveField("Reason", v1alpha1.ReasonAccepted), HaveField("Message", ContainSubstring("former limits")))))
		Expect(phaseOf(ctx, other)()).To(Equal(v1alpha1.PhaseActive), "what was enforced stays so while others change")
		suite.kuadrant.Resume()
		Eventually(phaseOf(ctx, sub)).Should(Equal(v1alpha1.PhaseActive))
	})

	It("notices that the gateway enforces its policy no longer, and says once that it fails and once that it works again (W-35, W-14)", func(ctx SpecContext) {
		auth, sub := m.allow("team"), m.subscribe("sub")
		Eventually(phaseOf(ctx, sub)).Should(Equal(v1alpha1.PhaseActive))
		Expect(suite.Admin.Delete(ctx, auth)).To(Succeed()) // The limits read what the AuthPolicy finds out.
		Eventually(phaseOf(ctx, sub)).Should(Equal(v1alpha1.PhaseDegraded))
		Expect(sub.Status.TokenRateLimitStatuses).To(HaveExactElements(And(
			HaveField("Ready", false), HaveField("Reason", v1alpha1.ReasonNotEnforced), HaveField("Message", ContainSubstring("InvalidCelExpression")))))
		Eventually(eventsOf(ctx, sub)).Should(HaveExactElements("Warning PartialFailure"))
		m.allow("again")
		Eventually(phaseOf(ctx, sub)).Should(Equal(v1alpha1.PhaseActive))
		Eventually(eventsOf(ctx, sub)).Should(HaveExactElements("Warning PartialFailure", "Normal Reconciled"))
		quiet()
		Expect(eventsOf(ctx, sub)()).To(HaveLen(2))
	})

	It("says that an opted-out policy does not hold it, and survives both (91, A18)", func(ctx SpecContext) {
		m.allow("team")
		first := m.subscribe("first")
		Eventually(phaseOf(ctx, first)).Should(Equal(v1alpha1.PhaseActive))
		policy := m.limitPolicy()
		before := policy.DeepCopy()
		annotations := policy.GetAnnotations()
		annotations[v1alpha1.AnnotationManaged] = "false"
		policy.SetAnnotations(annotations)
		Expect(suite.Admin.Patch(ctx, policy, client.MergeFrom(before))).To(Succeed())
		second := m.subscribe("second")
		Eventually(phaseOf(ctx, second)).Should(Equal(v1alpha1.PhaseFailed))
		Expect(second.Status.TokenRateLimitStatuses).To(HaveExactElements(And(
			HaveField("Reason", v1alpha1.ReasonOptedOut), HaveField("Message", ContainSubstring("remove its annotation")))))
		Expect(phaseOf(ctx, first)()).To(Equal(v1alpha1.PhaseActive))
		for _, s := range []client.Object{first, second} {
			Expect(suite.Admin.Delete(ctx, s)).To(Succeed())
			Eventually(gone(ctx, s)).ShouldNot(Succeed())
		}
		quiet()
		Expect(m.limitPolicy().GetUID()).To(Equal(policy.GetUID()))
	})

	It("takes the finalizer of an earlier release for evidence before it is dropped", func(ctx SpecContext) {
		mark := mark()
		old := m.subscription("old").Obj()
		old.Finalizers = []string{v1alpha1.FinalizerSubscriptionCleanup}
		create(ctx, old)
		Eventually(func() []string { return reload(ctx, old).Finalizers }).Should(BeEmpty())
		Expect(old.Status.RateLimitIdentity).To(Equal(v1alpha1.RateLimitIdentityLegacy))
		writes := written(mark, "maassubscriptions")
		mine := slices.DeleteFunc(writes, func(e audit.Event) bool { return e.Name != old.Name })
		Expect(mine[0].Subresource).To(Equal("status"))
	})

	It("says in a namespace of no tenant that it counts for nothing, and goes all the same (W-17, 109)", func(ctx SpecContext) {
		plain, err := testenv.NewNamespace(ctx, suite.Admin, "plain-")
		Expect(err).NotTo(HaveOccurred())
		sub := builder.Subscription(plain, "sub").Limit(m.key(), 1, "1m").Obj()
		sub.Finalizers = []string{v1alpha1.FinalizerSubscriptionCleanup}
		auth := builder.AuthPolicy(plain, "auth", m.key()).Obj()
		auth.Finalizers = []string{v1alpha1.FinalizerAuthPolicyCleanup}
		for _, object := range []client.Object{create(ctx, sub), create(ctx, auth)} {
			Eventually(conditionOf(ctx, object, v1alpha1.ConditionReady)).Should(And(
				HaveField("Status", metav1.ConditionFalse), HaveField("Message", ContainSubstring(plain))))
			Expect(phaseOf(ctx, object)()).To(Equal(v1alpha1.PhaseFailed))
			Expect(conditionOf(ctx, object, v1alpha1.ConditionSpecPriorityDuplicate)()).To(BeZero())
			Expect(suite.Admin.Delete(ctx, object)).To(Succeed())
			Eventually(gone(ctx, object)).ShouldNot(Succeed())
		}
	})

	It("reports foreign policies on the route as they come and go, each change once (84, A33, W-05, W-14)", func(ctx SpecContext) {
		auth := m.allow("team")
		conflict := conditionOf(ctx, auth, v1alpha1.ConditionConflictingAuthPolicy)
		ready := conditionOf(ctx, auth, v1alpha1.ConditionReady)
		Eventually(conflict).Should(HaveField("Reason", string(v1alpha1.ReasonNoConflict)))
		Eventually(ready).Should(HaveField("Status", metav1.ConditionTrue))
		first := m.foreign("rogue")
		Eventually(conflict).Should(And(HaveField("Reason", string(v1alpha1.ReasonConflictDetected)), HaveField("Message", ContainSubstring(m.namespace+"/rogue"))))
		second := m.foreign("stray")
		Eventually(conflict).Should(HaveField("Message", ContainSubstring("%[1]s/rogue, %[1]s/stray", m.namespace)))
		Eventually(ready).Should(HaveField("Reason", string(v1alpha1.ReasonPartialFailure)), "the newer policy is enforced")
		Expect(suite.Admin.Delete(ctx, first)).To(Succeed())
		Expect(suite.Admin.Delete(ctx, second)).To(Succeed())
		Eventually(conflict).Should(HaveField("Reason", string(v1alpha1.ReasonNoConflict)))
		Eventually(eventsOf(ctx, auth)).Should(ConsistOf("Warning ConflictingAuthPolicy", "Warning PartialFailure", "Normal ConflictingAuthPolicyResolved", "Normal Reconciled"))
		quiet()
		Expect(eventsOf(ctx, auth)()).To(HaveLen(4))
	})

	It("fits its message into the schema, however many policies it names (W-21)", func(ctx SpecContext) {
		auth := m.allow("team")
		for i := range 12 {
			m.foreign(fmt.Sprintf("rogue-%02d-%s", i, strings.Repeat("x", 100)))
		}
		Eventually(conditionOf(ctx, auth, v1alpha1.ConditionConflictingAuthPolicy)).Should(HaveField("Message", And(
			HaveLen(conditions.MaxMessage), HaveSuffix("..."), Satisfy(utf8.ValidString))))
	})
})

var _ = Describe("The priority of a subscription", func() {
	It("is reported as shared on both peers, and no longer when one is gone (90)", func(ctx SpecContext) {
		m := newModel(ctx)
		m.allow("team")
		shared := func(s *v1alpha1.MaaSSubscription) func() metav1.Condition {
			return conditionOf(ctx, s, v1alpha1.ConditionSpecPriorityDuplicate)
		}
		first := create(ctx, m.subscription("first").Priority(4711).Obj())
		Eventually(phaseOf(ctx, first)).Should(Equal(v1alpha1.PhaseActive))
		Expect(shared(first)()).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", string(v1alpha1.ReasonNoDuplicatePeers)), HaveField("Message", BeEmpty())))

		second := create(ctx, m.subscription("second").Priority(4711).Obj())
		for _, s := range []*v1alpha1.MaaSSubscription{first, second} {
			Eventually(shared(s)).Should(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", string(v1alpha1.ReasonSharedPriority)),
				HaveField("Message", And(ContainSubstring("spec.priority"), Not(ContainSubstring(m.namespace))))))
		}
		before := second.DeepCopy()
		second.Spec.Priority = 4712
		Expect(suite.Admin.Patch(ctx, second, client.MergeFrom(before))).To(Succeed())
		for _, s := range []*v1alpha1.MaaSSubscription{first, second} {
			Eventually(shared(s)).Should(HaveField("Status", metav1.ConditionFalse))
		}
		Expect(eventsOf(ctx, first)()).To(BeEmpty())
	})
})
