// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// guarded waits until a model has both policies.
func (w world) guarded(model types.NamespacedName) {
	GinkgoHelper()
	Eventually(func() bool { return w.authPolicyOf(model) != nil && w.limitPolicy(model) != nil }).Should(BeTrue(), "%s has no policies", model)
}

// unguarded waits until a model has no policies: what was written while it went is
// removed when it has gone.
func (w world) unguarded(model types.NamespacedName) {
	GinkgoHelper()
	Eventually(w.authPolicyOf).WithArguments(model).Should(BeNil())
	Eventually(w.limitPolicy).WithArguments(model).Should(BeNil())
}

// annotate sets the opt-out annotation of a generated policy.
func (w world) annotate(policy *unstructured.Unstructured, managed string) {
	GinkgoHelper()
	w.edit(policy, func() { policy.SetAnnotations(map[string]string{v1alpha1.AnnotationManaged: managed}) })
}

var _ = Describe("Deleting a model", func() {
	var w world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	It("takes its policies along, also one annotated as managed, and leaves backend, subscription and auth policy (9.1.16)", func() {
		granite := w.model("granite")
		policy, paid := w.pair(granite)
		w.guarded(granite)
		w.annotate(w.authPolicyOf(granite), "true")

		w.removeAll(w.modelRef(granite))
		w.unguarded(granite)
		Expect(on.Admin.Get(w.ctx, granite, builder.ModelServer(w.namespace, "granite"))).To(Succeed())
		Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhaseFailed))
		Eventually(w.phase(paid)).Should(Equal(v1alpha1.PhaseFailed))
	})

	It("leaves an opted-out policy behind, and says so (9.1.17)", func() {
		granite := w.model("granite")
		w.pair(granite)
		w.guarded(granite)
		w.annotate(w.authPolicyOf(granite), "false")
		Eventually(w.modelVerdict(granite, v1alpha1.ConditionPoliciesApplied)).Should(Equal("False/OptedOut"))

		w.removeAll(w.modelRef(granite))
		Expect(w.authPolicyOf(granite)).NotTo(BeNil())
		Eventually(w.limitPolicy).WithArguments(granite).Should(BeNil())
		Eventually(w.reported(granite)).Should(ContainElement("Warning OptedOut"))
	})

	It("leaves the policies of a model of the same name in another namespace (9.1.33)", func(ctx SpecContext) {
		there := newWorld(ctx)
		granite, other := w.model("granite"), there.model("granite")
		w.pair(granite)
		there.pair(other)
		w.guarded(granite)
		there.guarded(other)
		w.removeAll(w.modelRef(granite))
		Expect(there.authPolicyOf(other)).NotTo(BeNil())
		Expect(there.limitPolicy(other)).NotTo(BeNil())
	})

	It("ends although route and backend are gone (2.8)", func() {
		route, server := w.modelRoute("granite").Obj(), builder.ModelServer(w.namespace, "granite")
		w.create(route, server)
		granite := w.publish("granite")
		w.pair(granite)
		w.guarded(granite)
		w.removeAll(route, server)
		w.removeAll(w.modelRef(granite))
		w.unguarded(granite)
	})
})

var _ = Describe("The protection of a model", func() {
	var w world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	DescribeTable("does not depend on what its namespace is called (W-08)", func(namespace string) {
		w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		there := world{ctx: w.ctx, namespace: namespace}
		granite := there.model("granite")
		there.pair(granite)
		there.guarded(granite)
		Eventually(there.modelVerdict(granite, v1alpha1.ConditionPoliciesApplied)).Should(Equal("True/PoliciesApplied"))
	},
		Entry("like a version of the API", "v1"),
		Entry("like the service that manages keys", "maas-api"),
	)

	It("is given to one of two governed models on one route; the other says what is wrong and has no policies (A10)", func() {
		w.model("server")
		w.create(builder.ModelRef(w.namespace, "adapter").Backend(v1alpha1.BackendLLMInferenceService, "server").Obj())
		first, second := builder.Key(w.namespace, "adapter"), builder.Key(w.namespace, "server")
		w.pair(first, second)
		w.guarded(first)
		Eventually(w.modelVerdict(second, v1alpha1.ConditionRouteUnique)).Should(Equal("False/RouteConflict"))
		Expect(w.modelVerdict(second, v1alpha1.ConditionPoliciesApplied)()).To(Equal("False/RouteConflict"))
		Expect(w.modelWords(second, v1alpha1.ConditionRouteUnique)()).To(ContainSubstring("route of its own"))
		Eventually(func() bool { return w.authPolicyOf(second) == nil && w.limitPolicy(second) == nil }).Should(BeTrue())
		Eventually(w.modelVerdict(first, v1alpha1.ConditionRouteUnique)).Should(Equal("True/RouteUnique"))
	})

	It("does not wait for somebody's policy with a name like ours (W-37)", func() {
		theirs := kuadrant.New(kuadrant.AuthPolicy)
		theirs.SetNamespace(w.namespace)
		theirs.SetName("maas-auth-something")
		theirs.Object["spec"] = map[string]any{
			"targetRef": map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "something"},
			"rules":     map[string]any{"authentication": map[string]any{"anyone": map[string]any{"anonymous": map[string]any{}}}},
		}
		w.create(theirs)
		granite := w.model("granite")
		policy, paid := w.pair(granite)
		Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhaseActive))
		Eventually(w.phase(paid)).Should(Equal(v1alpha1.PhaseActive))
	})

	It("is found by the model's labels, in the namespace of its route (decision 1)", func() {
		granite := w.model("granite")
		w.pair(granite)
		w.guarded(granite)
		for _, policy := range []*unstructured.Unstructured{w.authPolicyOf(granite), w.limitPolicy(granite)} {
			Expect(policy.GetLabels()).To(And(HaveKeyWithValue(v1alpha1.LabelModel, "granite"), HaveKeyWithValue(v1alpha1.LabelModelNamespace, w.namespace)))
			Expect(policy.GetNamespace()).To(Equal(w.namespace))
			Expect(policy.GetOwnerReferences()).To(BeEmpty())
		}
		Expect(stage.TenantNamespace).NotTo(Equal(w.namespace))
	})
})
