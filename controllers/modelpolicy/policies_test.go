// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy_test

import (
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

var _ = Describe("A governed model", func() {
	var m governed

	BeforeEach(func(ctx SpecContext) { m = newModel(ctx) })

	It("gets one limit per set of rates, and everybody becomes Active", func(ctx SpecContext) {
		auth := []client.Object{m.allow("team", "engineers"), m.allow("others", "researchers")}
		subs := []client.Object{
			m.subscribe("gold", rated(1000, "1m")), m.subscribe("gold2", rated(1000, "1m")),
			m.subscribe("silver", rated(100, "1m")), m.subscribe("admin", v1alpha1.ModelSubscription{Unlimited: true}),
		}
		Eventually(m.limitNames).Should(ConsistOf("tokens-1000-per-1m", "tokens-100-per-1m", "tokens-unlimited"))
		for _, object := range append(auth, subs...) {
			Eventually(phaseOf(ctx, object)).Should(Equal(v1alpha1.PhaseActive), object.GetName())
		}
		Expect(m.authPolicy().GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationAuthPolicies,
			fmt.Sprintf("%[1]s/others-%[2]s,%[1]s/team-%[2]s", tenantNamespace, m.namespace)))
		Expect(reload(ctx, subs[0]).(*v1alpha1.MaaSSubscription).Status.RateLimitIdentity).To(Equal(v1alpha1.RateLimitIdentityShort))
	})

	It("has its policies changed in place and removed with the last contributor", func(ctx SpecContext) {
		first, second := m.subscribe("first", rated(1, "1m")), m.subscribe("second", rated(2, "1m"))
		Eventually(m.limitNames).Should(ConsistOf("tokens-1-per-1m", "tokens-2-per-1m"))
		uid := m.limitPolicy().GetUID()

		Expect(suite.Admin.Delete(ctx, first)).To(Succeed())
		Eventually(m.limitNames).Should(ConsistOf("tokens-2-per-1m"))
		Expect(m.limitPolicy().GetUID()).To(Equal(uid))

		Expect(suite.Admin.Delete(ctx, second)).To(Succeed())
		Eventually(m.limitPolicy).Should(BeNil())
	})

	It("keeps its policies while it has no route, and loses them with the last contributor all the same", func(ctx SpecContext) {
		sub := m.subscribe("sub", rated(1, "1m"))
		Eventually(m.limitPolicy).ShouldNot(BeNil())
		ref := &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: m.name}}
		before := reload(ctx, ref).DeepCopy()
		ref.Status.HTTPRouteName, ref.Status.HTTPRouteNamespace = "", ""
		Expect(suite.Admin.Status().Patch(ctx, ref, client.MergeFrom(before))).To(Succeed())
		Eventually(m.condition(v1alpha1.ConditionPoliciesApplied)).Should(HaveField("Reason", string(v1alpha1.ReasonRouteNotFound)))
		Expect(m.limitPolicy()).NotTo(BeNil())

		Expect(suite.Admin.Delete(ctx, sub)).To(Succeed())
		Eventually(m.limitPolicy).Should(BeNil())
	})

	It("follows every edit of rates and subjects", func(ctx SpecContext) {
		sub, auth := m.subscribe("sub", rated(1, "1m")), m.allow("team", "engineers")
		Eventually(phaseOf(ctx, sub)).Should(Equal(v1alpha1.PhaseActive))
		edit := sub.DeepCopy()
		edit.Spec.ModelRefs[0].TokenRateLimits[0].Limit = 7
		Expect(suite.Admin.Patch(ctx, edit, client.MergeFrom(sub))).To(Succeed())
		Eventually(m.limitNames).Should(ConsistOf("tokens-7-per-1m"))

		changed := auth.DeepCopy()
		changed.Spec.Subjects.Groups[0].Name = "artists"
		Expect(suite.Admin.Patch(ctx, changed, client.MergeFrom(auth))).To(Succeed())
		Eventually(func() string { return fmt.Sprint(m.authPolicy().Object["spec"]) }).Should(And(ContainSubstring("artists"), Not(ContainSubstring("engineers"))))
		Eventually(phaseOf(ctx, auth)).Should(Equal(v1alpha1.PhaseActive))
	})

	It("loses the limits of a subscription that no longer names it", func(ctx SpecContext) {
		other := m
		other.name = "other-model"
		m.addModel(other.name, "other-route")
		sub := m.subscribe("sub", rated(1, "1m"))
		edit := reload(ctx, sub).DeepCopy()
		edit.Spec.ModelRefs = append(edit.Spec.ModelRefs, v1alpha1.ModelSubscription{Namespace: m.namespace, Name: other.name, TokenRateLimits: []v1alpha1.TokenRateLimit{{Limit: 1, Window: "1m"}}})
		Expect(suite.Admin.Patch(ctx, edit, client.MergeFrom(sub))).To(Succeed())
		Eventually(other.limitNames).ShouldNot(BeEmpty())

		Eventually(func() error {
			reload(ctx, sub)
			edit := sub.DeepCopy()
			edit.Spec.ModelRefs = edit.Spec.ModelRefs[:1]
			return suite.Admin.Patch(ctx, edit, client.MergeFrom(sub))
		}).Should(Succeed())
		Eventually(other.limitPolicy).Should(BeNil())
		Expect(m.limitPolicy()).NotTo(BeNil())
	})

	It("has an injected anonymous rule removed", func(ctx SpecContext) {
		m.allow("team", "engineers")
		Eventually(m.authPolicy).ShouldNot(BeNil())
		inject := []byte(`{"spec":{"rules":{"authentication":{"anyone":{"anonymous":{}}}}}}`)
		Expect(suite.Admin.Patch(ctx, m.authPolicy(), client.RawPatch(types.MergePatchType, inject))).To(Succeed())
		Eventually(func() map[string]any {
			rules, _, _ := unstructured.NestedMap(m.authPolicy().Object, "spec", "rules", "authentication")
			return rules
		}).Should(And(HaveKey("api-keys"), Not(HaveKey("anyone"))))
	})

	It("gets a deleted policy back", func(ctx SpecContext) {
		m.allow("team", "engineers")
		Eventually(m.authPolicy).ShouldNot(BeNil())
		deleted := m.authPolicy()
		Expect(suite.Admin.Delete(ctx, deleted)).To(Succeed())
		Eventually(func() types.UID {
			if p := m.authPolicy(); p != nil {
				return p.GetUID()
			}
			return deleted.GetUID()
		}).ShouldNot(Equal(deleted.GetUID()))
	})

	It("leaves an opted-out policy alone on edit and on deletion, and says so", func(ctx SpecContext) {
		sub := m.subscribe("sub", rated(1, "1m"))
		Eventually(m.limitPolicy).ShouldNot(BeNil())
		optOut := []byte(`{"metadata":{"annotations":{"opendatahub.io/managed":"false"}},"spec":{"limits":{"mine":{"when":[{"predicate":"true"}]}}}}`)
		Expect(suite.Admin.Patch(ctx, m.limitPolicy(), client.RawPatch(types.MergePatchType, optOut))).To(Succeed())
		m.subscribe("more", rated(2, "1m"))
		Eventually(m.condition(v1alpha1.ConditionPoliciesApplied)).Should(HaveField("Reason", string(v1alpha1.ReasonOptedOut)))
		Expect(m.limitNames()).To(ConsistOf("tokens-1-per-1m", "mine"))

		Expect(suite.Admin.Delete(ctx, sub)).To(Succeed())
		Consistently(m.limitNames, "1s").Should(ConsistOf("tokens-1-per-1m", "mine"))
	})

	It("does not take over a policy of somebody else under the same name", func(ctx SpecContext) {
		theirs := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "kuadrant.io/v1", "kind": "AuthPolicy",
			"metadata": map[string]any{"namespace": m.namespace, "name": "maas-auth-" + m.name},
			"spec": map[string]any{
				"targetRef": map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "elsewhere"},
				"rules":     map[string]any{"authentication": map[string]any{"anyone": map[string]any{"anonymous": map[string]any{}}}},
			},
		}}
		Expect(suite.Admin.Create(ctx, theirs)).To(Succeed())
		m.allow("team", "engineers")
		Eventually(m.condition(v1alpha1.ConditionPoliciesApplied)).Should(And(
			HaveField("Reason", string(v1alpha1.ReasonForeignObject)), HaveField("Message", ContainSubstring("maas-auth-"+m.name))))
		Expect(m.authPolicy().GetLabels()).To(BeEmpty())

		Expect(suite.Admin.Delete(ctx, theirs)).To(Succeed())
		Eventually(m.condition(v1alpha1.ConditionPoliciesApplied)).Should(HaveField("Status", metav1.ConditionTrue))
		Expect(m.authPolicy()).NotTo(BeNil())
	})

	It("reports a foreign policy on its route while there is one", func(ctx SpecContext) {
		auth := m.allow("team", "engineers")
		Eventually(phaseOf(ctx, auth)).Should(Equal(v1alpha1.PhaseActive))
		conflict := func() metav1.Condition {
			if found := meta.FindStatusCondition(reload(ctx, auth).Status.Conditions, string(v1alpha1.ConditionConflictingAuthPolicy)); found != nil {
				return *found
			}
			return metav1.Condition{}
		}
		Expect(conflict().Status).To(Equal(metav1.ConditionFalse))

		theirs := m.rival(kuadrant.AuthPolicy, "open-door", anybody())
		Expect(suite.Admin.Create(ctx, theirs)).To(Succeed())
		Eventually(conflict).Should(And(HaveField("Status", metav1.ConditionTrue), HaveField("Message", ContainSubstring(m.namespace+"/open-door"))))
		Expect(suite.Admin.Delete(ctx, theirs)).To(Succeed())
		Eventually(conflict).Should(HaveField("Status", metav1.ConditionFalse))
	})

	It("keeps its route from a second model that nobody governs, whatever its name", func() {
		m.allow("team", "engineers")
		m.subscribe("sub", rated(1, "1m"))
		Eventually(m.limitPolicy).ShouldNot(BeNil())
		uid := m.limitPolicy().GetUID()
		earlier := m
		earlier.name = "a-model"
		m.addModel(earlier.name, "my-route")
		Eventually(earlier.condition(v1alpha1.ConditionRouteUnique)).Should(HaveField("Status", metav1.ConditionFalse))
		Expect(m.limitPolicy().GetUID()).To(Equal(uid))
	})

	It("yields its route to a governed model that comes first by name, without a gap", func(ctx SpecContext) {
		m.allow("team", "engineers")
		sub := m.subscribe("sub", rated(1, "1m"))
		Eventually(m.authPolicy).ShouldNot(BeNil())
		Eventually(m.limitPolicy).ShouldNot(BeNil())
		earlier := m
		earlier.name = "a-model"
		m.addModel(earlier.name, "my-route")
		earlier.allow("team2", "engineers")
		earlier.subscribe("sub2", rated(2, "1m"))
		Eventually(func(g Gomega) {
			// At every moment one of the two guards the route: the one that goes is read
			// first, because the one that comes stays.
			loser := m.authPolicy()
			winner := earlier.authPolicy()
			if winner == nil && loser == nil {
				StopTrying("no AuthPolicy is on the route").Now()
			}
			g.Expect(loser).To(BeNil())
			g.Expect(earlier.limitPolicy()).NotTo(BeNil())
		}).Should(Succeed())
		Eventually(m.limitPolicy).Should(BeNil())
		Eventually(m.condition(v1alpha1.ConditionRouteUnique)).Should(HaveField("Status", metav1.ConditionFalse))
		Eventually(phaseOf(ctx, sub)).Should(Equal(v1alpha1.PhaseFailed))
		Expect(sub.Status.TokenRateLimitStatuses[0].Reason).To(Equal(v1alpha1.ReasonRouteConflict))
	})

	It("leaves out a subscription of another tenant, whose own status says why", func(ctx SpecContext) {
		m.subscribe("ours", rated(1, "1m"))
		foreign := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "foreign"}}
		foreign.Spec.Owner.Users = []string{"mallory"}
		entry := rated(9, "1m")
		entry.Namespace, entry.Name = m.namespace, m.name
		foreign.Spec.ModelRefs = []v1alpha1.ModelSubscription{entry}
		Expect(suite.Admin.Create(ctx, foreign)).To(Succeed())
		Eventually(phaseOf(ctx, foreign)).Should(Equal(v1alpha1.PhaseFailed))
		Expect(foreign.Status.ModelRefStatuses[0].Reason).To(Equal(v1alpha1.ReasonTenantNotReady))
		Eventually(m.limitNames).Should(ConsistOf("tokens-1-per-1m"))
	})
})

// condition reads a condition off the model.
func (g governed) condition(kind v1alpha1.ConditionType) func() metav1.Condition {
	return func() metav1.Condition {
		ref := &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: g.name}}
		if found := meta.FindStatusCondition(reload(g.ctx, ref).Status.Conditions, string(kind)); found != nil {
			return *found
		}
		return metav1.Condition{}
	}
}

var _ = Describe("A model that shares a route", func() {
	It("takes the route over when the first model leaves", func(ctx SpecContext) {
		first := newModel(ctx)
		first.allow("team", "engineers")
		first.subscribe("sub", rated(1, "1m"))
		second := first
		second.name = "second-model"
		first.addModel(second.name, "my-route")
		second.subscribe("sub2", rated(2, "1m"))
		Eventually(second.condition(v1alpha1.ConditionRouteUnique)).Should(HaveField("Status", metav1.ConditionFalse))

		Expect(suite.Admin.Delete(ctx, &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: first.namespace, Name: first.name}})).To(Succeed())
		Eventually(second.limitNames).Should(ConsistOf("tokens-2-per-1m"))
		Eventually(second.condition(v1alpha1.ConditionRouteUnique)).Should(HaveField("Status", metav1.ConditionTrue))
	})
})

var _ = Describe("A tenant's namespace", func() {
	It("has its subscriptions counted while it is labelled, and no longer afterwards", func(ctx SpecContext) {
		const tenant, namespace = "red", "ai-tenant-red"
		for _, name := range []string{"ai-tenants", namespace} {
			Expect(suite.Admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
		}
		owner := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: "ai-tenants", Name: tenant}}
		Expect(suite.Admin.Create(ctx, owner)).To(Succeed())
		ready := owner.DeepCopy()
		ready.Status.GatewayRef = &v1alpha1.TenantGatewayRef{Namespace: gatewayNamespace, Name: gatewayName}
		Expect(suite.Admin.Status().Patch(ctx, ready, client.MergeFrom(owner))).To(Succeed())
		Expect(suite.Admin.Create(ctx, &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: v1alpha1.DefaultTenantConfigName,
			Labels:      map[string]string{v1alpha1.LabelManagedByAITenant: "true", v1alpha1.LabelTenantName: tenant, v1alpha1.LabelTenantNamespace: namespace},
			Annotations: map[string]string{v1alpha1.AnnotationAITenantName: tenant, v1alpha1.AnnotationAITenantNamespace: "ai-tenants"},
		}})).To(Succeed())

		m := newModel(ctx)
		ref := &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: m.name}}
		before := reload(ctx, ref).DeepCopy()
		ref.Spec.TenantRef = tenant
		Expect(suite.Admin.Patch(ctx, ref, client.MergeFrom(before))).To(Succeed())
		sub := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sub"}}
		sub.Spec.Owner.Users = []string{"alice"}
		entry := rated(3, "1m")
		entry.Namespace, entry.Name = m.namespace, m.name
		sub.Spec.ModelRefs = []v1alpha1.ModelSubscription{entry}
		Expect(suite.Admin.Create(ctx, sub)).To(Succeed())
		Eventually(phaseOf(ctx, sub)).Should(Equal(v1alpha1.PhaseFailed))

		label := func(value any) []byte {
			patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{v1alpha1.LabelTenant: value}}})
			Expect(err).NotTo(HaveOccurred())
			return patch
		}
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		Expect(suite.Admin.Patch(ctx, object, client.RawPatch(types.MergePatchType, label(tenant)))).To(Succeed())
		Eventually(m.limitNames).Should(ConsistOf("tokens-3-per-1m"))
		Eventually(phaseOf(ctx, sub)).ShouldNot(Equal(v1alpha1.PhaseFailed))

		Expect(suite.Admin.Patch(ctx, object, client.RawPatch(types.MergePatchType, label(nil)))).To(Succeed())
		Eventually(m.limitPolicy).Should(BeNil())
		Eventually(phaseOf(ctx, sub)).Should(Equal(v1alpha1.PhaseFailed))
	})
})
