// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// formerPolicy is an AuthPolicy as an earlier release put it on a Gateway.
func formerPolicy(name, gateway string) *unstructured.Unstructured {
	policy := kuadrant.New(kuadrant.AuthPolicy)
	policy.SetNamespace(gatewayNamespace)
	policy.SetName(name)
	policy.SetLabels(map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, v1alpha1.LabelPartOf: v1alpha1.PartOfGatewayAuth})
	policy.Object["spec"] = map[string]any{
		"targetRef": map[string]any{"group": gwapiv1.GroupName, "kind": "Gateway", "name": gateway},
		"rules":     map[string]any{"authentication": map[string]any{"anyone": map[string]any{"anonymous": map[string]any{}}}},
	}
	return policy
}

func gone(ctx context.Context, object *unstructured.Unstructured) bool {
	return apierrors.IsNotFound(suite.Admin.Get(ctx, client.ObjectKeyFromObject(object), object.DeepCopy()))
}

// verdict is what Kuadrant says of an AuthPolicy, in the generation that is older by
// some: whether it is accepted, and why it is enforced or not.
type verdict struct {
	older              int64
	accepted, enforced metav1.ConditionStatus
	reason             string
}

func judge(ctx context.Context, key types.NamespacedName, v verdict) {
	GinkgoHelper()
	policy := kuadrant.New(kuadrant.AuthPolicy)
	Expect(suite.Admin.Get(ctx, key, policy)).To(Succeed())
	said := func(kind string, status metav1.ConditionStatus, reason string) any {
		return map[string]any{
			"type": kind, "status": string(status), "reason": reason, "message": "as the test wants it",
			"lastTransitionTime": metav1.Now().UTC().Add(-time.Hour).Format(time.RFC3339),
		}
	}
	policy.Object["status"] = map[string]any{
		"observedGeneration": policy.GetGeneration() - v.older,
		"conditions":         []any{said("Accepted", v.accepted, "Judged"), said("Enforced", v.enforced, v.reason)},
	}
	Expect(suite.Admin.Status().Update(ctx, policy)).To(Succeed())
}

var _ = Describe("the AuthPolicy that an earlier release put on a Gateway", Ordered, func() {
	var (
		t              tenantOf
		policy, theirs *unstructured.Unstructured
		guard, maasAPI types.NamespacedName
	)
	BeforeAll(func(ctx SpecContext) {
		suite.policies.Stall()
		DeferCleanup(suite.policies.Resume)
		policy, theirs = formerPolicy("elder-maas-auth", "elder"), formerPolicy("maas-gateway-auth", defaultGateway)
		Expect(suite.Admin.Create(ctx, theirs)).To(Succeed())
		provideDatabase(ctx, "postgresql://maas@db.example.com/maas")
		t = newTenant(ctx, "elder")
		t.rest()
		Expect(suite.Admin.Create(ctx, policy)).To(Succeed())
		guard = types.NamespacedName{Namespace: gatewayNamespace, Name: "gateway-default-auth-elder"}
		maasAPI = types.NamespacedName{Namespace: infraNamespace, Name: "maas-api-auth-policy-elder"}
		t.rest()
	})
	AfterAll(func() {
		Expect(client.IgnoreNotFound(suite.Admin.Delete(t.ctx, theirs))).To(Succeed())
		Expect(client.IgnoreNotFound(suite.Admin.Delete(t.ctx, t.object()))).To(Succeed())
		t.rest()
	})
	mark := func(change func(*unstructured.Unstructured)) {
		GinkgoHelper()
		Expect(suite.Admin.Get(t.ctx, client.ObjectKeyFromObject(policy), policy)).To(Succeed())
		before := policy.DeepCopy()
		change(policy)
		Expect(suite.Admin.Patch(t.ctx, policy, client.MergeFrom(before))).To(Succeed())
	}

	It("stays until Kuadrant has judged ours", func() {
		Expect(gone(t.ctx, policy)).To(BeFalse())
	})

	DescribeTable("stays while one of ours could not take its place",
		func(ctx SpecContext, spoil func(ctx context.Context)) {
			judge(ctx, guard, verdict{0, "True", "False", "Overridden"})
			judge(ctx, maasAPI, verdict{0, "True", "True", "Enforced"})
			spoil(ctx)
			t.rest()
			Expect(gone(ctx, policy)).To(BeFalse())
		},
		Entry("the Gateway's is not accepted", func(ctx context.Context) { judge(ctx, guard, verdict{0, "False", "False", "Overridden"}) }),
		Entry("the Gateway's was judged in an earlier generation", func(ctx context.Context) { judge(ctx, guard, verdict{1, "True", "False", "Overridden"}) }),
		Entry("the Gateway's is not enforced for another reason", func(ctx context.Context) { judge(ctx, guard, verdict{0, "True", "False", "MissingDependency"}) }),
		Entry("that of maas-api is not accepted", func(ctx context.Context) { judge(ctx, maasAPI, verdict{0, "False", "False", "TargetNotFound"}) }),
		Entry("that of maas-api is overridden", func(ctx context.Context) { judge(ctx, maasAPI, verdict{0, "True", "False", "Overridden"}) }),
		Entry("somebody else's is enforced in its place", func(ctx context.Context) {
			other := formerPolicy("somebody-elses", "elder")
			other.SetLabels(nil)
			Expect(suite.Admin.Create(ctx, other)).To(Succeed())
			DeferCleanup(func() { Expect(suite.Admin.Delete(t.ctx, other)).To(Succeed()) })
			judge(ctx, client.ObjectKeyFromObject(other), verdict{0, "True", "True", "Enforced"})
			t.rest()
			enforced := meta.FindStatusCondition(t.config().Status.Conditions, string(v1alpha1.ConditionPoliciesEnforced))
			Expect(enforced).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Message", ContainSubstring(
				"enforces AuthPolicy "+gatewayNamespace+"/somebody-elses on the Gateway in the place of AuthPolicy "+gatewayNamespace+"/gateway-default-auth-elder"))))
		}),
		Entry("that of maas-api was judged in an earlier generation", func(ctx context.Context) { judge(ctx, maasAPI, verdict{1, "True", "True", "Enforced"}) }),
	)

	It("stays when it is not to be managed, which the status says, or not marked as ours", func(ctx SpecContext) {
		judge(ctx, guard, verdict{0, "True", "False", "Overridden"})
		judge(ctx, maasAPI, verdict{0, "True", "True", "Enforced"})
		mark(func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{v1alpha1.AnnotationManaged: "false"})
		})
		t.rest()
		degraded := meta.FindStatusCondition(t.config().Status.Conditions, string(v1alpha1.ConditionDegraded))
		Expect(degraded.Message).To(ContainSubstring("AuthPolicy " + gatewayNamespace + "/elder-maas-auth of an earlier release is annotated " + v1alpha1.AnnotationManaged + "=false"))
		mark(func(o *unstructured.Unstructured) {
			o.SetAnnotations(nil)
			o.SetLabels(map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue})
		})
		t.rest()
		Expect(gone(ctx, policy)).To(BeFalse())
	})

	It("is not forgotten when it could not be removed, which the status says", func(ctx SpecContext) {
		mark(func(o *unstructured.Unstructured) { o.SetLabels(formerPolicy("", "").GetLabels()) })
		busy := interceptor.NewClient(suite.direct, interceptor.Funcs{
			Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
				return apierrors.NewInternalError(errors.New("busy"))
			},
		})
		_, err := operator(busy).Reconcile(ctx, ctrl.Request{NamespacedName: t.key()})
		Expect(err).To(Satisfy(apierrors.IsInternalError), "the work queue tries again")
		Expect(gone(ctx, policy)).To(BeFalse())
		degraded := meta.FindStatusCondition(t.config().Status.Conditions, string(v1alpha1.ConditionDegraded))
		Expect(degraded.Message).To(And(ContainSubstring("elder-maas-auth of an earlier release could not be removed"), Not(ContainSubstring("busy"))))
	})

	It("goes with one request when that of the Gateway is overridden by routes and that of maas-api is enforced, and that on another Gateway stays", func(ctx SpecContext) {
		writes := &mortal{budget: 1 << 20}
		t.live(writes)
		Expect(gone(ctx, policy)).To(BeTrue())
		degraded := meta.FindStatusCondition(t.config().Status.Conditions, string(v1alpha1.ConditionDegraded))
		Expect(degraded.Message).NotTo(ContainSubstring("earlier release"))
		again := &mortal{budget: 1 << 20}
		t.live(again)
		Expect([]int{writes.writes, again.writes}).To(Equal([]int{2, 0}), "the policy, and what the status no longer says of it")
		Expect(gone(ctx, theirs)).To(BeFalse())
	})
})

var _ = Describe("a Gateway that an earlier release still guards", Ordered, func() {
	var (
		t              tenantOf
		policy         *unstructured.Unstructured
		guard, maasAPI types.NamespacedName
		granite        *v1alpha1.MaaSModelRef
		itsPolicy      *unstructured.Unstructured
	)
	BeforeAll(func(ctx SpecContext) {
		suite.policies.Stall()
		DeferCleanup(suite.policies.Resume)
		policy = formerPolicy("heir-maas-auth", "heir")
		Expect(suite.Admin.Create(ctx, policy)).To(Succeed())
		judge(ctx, client.ObjectKeyFromObject(policy), verdict{0, "True", "True", "Enforced"})
		namespace, err := testenv.NewNamespace(ctx, suite.Admin, "llm-")
		Expect(err).NotTo(HaveOccurred())
		granite = &v1alpha1.MaaSModelRef{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "granite"},
			Spec:       v1alpha1.MaaSModelRefSpec{ModelRef: v1alpha1.BackendReference{Kind: v1alpha1.BackendLLMInferenceService, Name: "granite"}},
		}
		Expect(suite.Admin.Create(ctx, granite)).To(Succeed())
		before := granite.DeepCopy()
		granite.Status.HTTPRouteGatewayNamespace, granite.Status.HTTPRouteGatewayName = gatewayNamespace, "heir"
		Expect(suite.Admin.Status().Patch(ctx, granite, client.MergeFrom(before))).To(Succeed())
		itsPolicy = formerPolicy("maas-auth-granite", "unread")
		itsPolicy.SetNamespace(namespace)

		provideDatabase(ctx, "postgresql://maas@db.example.com/maas")
		t = newTenant(ctx, "heir")
		guard = types.NamespacedName{Namespace: gatewayNamespace, Name: "gateway-default-auth-heir"}
		maasAPI = types.NamespacedName{Namespace: infraNamespace, Name: "maas-api-auth-policy-heir"}
		t.rest()
	})
	AfterAll(func() {
		Expect(suite.Admin.Delete(t.ctx, granite)).To(Succeed())
		Expect(suite.Admin.Delete(t.ctx, itsPolicy)).To(Succeed())
		Expect(client.IgnoreNotFound(suite.Admin.Delete(t.ctx, t.object()))).To(Succeed())
		t.rest()
	})
	guarded := func(ctx context.Context) bool {
		GinkgoHelper()
		t.rest()
		err := suite.Admin.Get(ctx, guard, kuadrant.New(kuadrant.AuthPolicy))
		Expect(client.IgnoreNotFound(err)).To(Succeed())
		return err == nil
	}

	It("gets its own AuthPolicy not before that of maas-api is in force, and the status says so", func(ctx SpecContext) {
		Expect(guarded(ctx)).To(BeFalse())
		Expect(suite.Admin.Get(ctx, types.NamespacedName{Namespace: gatewayNamespace, Name: "gateway-default-deny-heir"}, kuadrant.New(kuadrant.TokenRateLimitPolicy))).To(Succeed())
		enforced := meta.FindStatusCondition(t.config().Status.Conditions, string(v1alpha1.ConditionPoliciesEnforced))
		Expect(enforced).To(And(HaveField("Status", metav1.ConditionUnknown), HaveField("Message", ContainSubstring("AuthPolicy "+gatewayNamespace+"/heir-maas-auth of an earlier release guards the Gateway until"))))
	})

	It("waits for a model behind it that nobody has looked at", func(ctx SpecContext) {
		judge(ctx, maasAPI, verdict{0, "True", "True", "Enforced"})
		Expect(guarded(ctx)).To(BeFalse())
	})

	It("waits until the AuthPolicy of a model is in force", func(ctx SpecContext) {
		before := granite.DeepCopy()
		granite.Status.Conditions = []metav1.Condition{{Type: string(v1alpha1.ConditionPoliciesApplied), Status: metav1.ConditionTrue, Reason: "PoliciesApplied", LastTransitionTime: metav1.Now()}}
		Expect(suite.Admin.Status().Patch(ctx, granite, client.MergeFrom(before))).To(Succeed())
		Expect(suite.Admin.Create(ctx, itsPolicy)).To(Succeed())
		Expect(guarded(ctx)).To(BeFalse())
	})

	It("gets it then, and the former one goes once that is in force", func(ctx SpecContext) {
		judge(ctx, client.ObjectKeyFromObject(itsPolicy), verdict{0, "True", "True", "Enforced"})
		Expect(guarded(ctx)).To(BeTrue())
		Expect(gone(ctx, policy)).To(BeFalse())
		judge(ctx, guard, verdict{0, "True", "True", "Enforced"})
		t.rest()
		Expect(gone(ctx, policy)).To(BeTrue())
	})
})

var _ = Describe("a Gateway that an earlier release does not really guard", func() {
	It("gets its own AuthPolicy at once", func(ctx SpecContext) {
		suite.policies.Stall()
		DeferCleanup(suite.policies.Resume)
		policy := formerPolicy("bare-maas-auth", "bare")
		Expect(suite.Admin.Create(ctx, policy)).To(Succeed())
		judge(ctx, client.ObjectKeyFromObject(policy), verdict{0, "True", "False", "MissingDependency"})
		provideDatabase(ctx, "postgresql://maas@db.example.com/maas")
		t := newTenant(ctx, "bare")
		t.rest()
		Expect(suite.Admin.Get(ctx, types.NamespacedName{Namespace: gatewayNamespace, Name: "gateway-default-auth-bare"}, kuadrant.New(kuadrant.AuthPolicy))).To(Succeed())
		Expect(suite.Admin.Delete(ctx, policy)).To(Succeed())
		Expect(suite.Admin.Delete(ctx, t.object())).To(Succeed())
		t.rest()
	})
})
