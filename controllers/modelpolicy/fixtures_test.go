// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// governed is one model with a namespace of its own. Subscriptions and auth
// policies get the namespace's name as a suffix, since all live in the default
// tenant's namespace.
type governed struct {
	ctx       context.Context
	namespace string
	name      string
}

// newModel creates a MaaSModelRef with a route. The route is put into the
// status by hand: finding it is another controller's work.
func newModel(ctx context.Context) governed {
	GinkgoHelper()
	namespace, err := testenv.NewNamespace(ctx, suite.Admin, "llm-")
	Expect(err).NotTo(HaveOccurred())
	g := governed{ctx: context.WithoutCancel(ctx), namespace: namespace, name: "my-model"}
	g.addModel(g.name, "my-route")
	return g
}

func (g governed) addModel(name, route string) {
	GinkgoHelper()
	err := suite.Admin.Create(g.ctx, &gwapiv1.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: route},
		Spec: gwapiv1.HTTPRouteSpec{CommonRouteSpec: gwapiv1.CommonRouteSpec{ParentRefs: []gwapiv1.ParentReference{{
			Namespace: new(gwapiv1.Namespace(gatewayNamespace)), Name: gatewayName,
		}}}},
	})
	Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
	ref := &v1alpha1.MaaSModelRef{
		ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: name},
		Spec:       v1alpha1.MaaSModelRefSpec{ModelRef: v1alpha1.BackendReference{Kind: "LLMInferenceService", Name: name}},
	}
	Expect(suite.Admin.Create(g.ctx, ref)).To(Succeed())
	before := ref.DeepCopy()
	ref.Status.HTTPRouteName, ref.Status.HTTPRouteNamespace = route, g.namespace
	ref.Status.HTTPRouteGatewayName, ref.Status.HTTPRouteGatewayNamespace = gatewayName, gatewayNamespace
	Expect(suite.Admin.Status().Patch(g.ctx, ref, client.MergeFrom(before))).To(Succeed())
}

func (g governed) in(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: tenantNamespace, Name: name + "-" + g.namespace}
}

func (g governed) allow(name string, groups ...string) *v1alpha1.MaaSAuthPolicy {
	GinkgoHelper()
	p := &v1alpha1.MaaSAuthPolicy{ObjectMeta: g.in(name)}
	p.Spec.ModelRefs = []v1alpha1.ModelReference{{Namespace: g.namespace, Name: g.name}}
	for _, group := range groups {
		p.Spec.Subjects.Groups = append(p.Spec.Subjects.Groups, v1alpha1.GroupReference{Name: group})
	}
	Expect(suite.Admin.Create(g.ctx, p)).To(Succeed())
	return p
}

func (g governed) subscribe(name string, entry v1alpha1.ModelSubscription) *v1alpha1.MaaSSubscription {
	GinkgoHelper()
	s := &v1alpha1.MaaSSubscription{ObjectMeta: g.in(name)}
	s.Spec.Owner.Groups = []v1alpha1.GroupReference{{Name: "engineers"}}
	entry.Namespace, entry.Name = g.namespace, g.name
	s.Spec.ModelRefs = []v1alpha1.ModelSubscription{entry}
	Expect(suite.Admin.Create(g.ctx, s)).To(Succeed())
	return s
}

func rated(limit int64, window string) v1alpha1.ModelSubscription {
	return v1alpha1.ModelSubscription{TokenRateLimits: []v1alpha1.TokenRateLimit{{Limit: limit, Window: window}}}
}

// policy reads a generated policy of the model; nil when there is none.
func (g governed) policy(kind schema.GroupVersionKind, prefix string) *unstructured.Unstructured {
	object := kuadrant.New(kind)
	if err := suite.Admin.Get(g.ctx, types.NamespacedName{Namespace: g.namespace, Name: prefix + g.name}, object); err != nil {
		return nil
	}
	return object
}

func (g governed) authPolicy() *unstructured.Unstructured {
	return g.policy(kuadrant.AuthPolicy, "maas-auth-")
}

func (g governed) limitPolicy() *unstructured.Unstructured {
	return g.policy(kuadrant.TokenRateLimitPolicy, "maas-trlp-")
}

// limitNames are the names of the generated limits, nil without a policy.
func (g governed) limitNames() []string {
	var names []string
	for _, limit := range kuadrant.Limits(g.limitPolicy()) {
		names = append(names, limit.Name)
	}
	return names
}

// enforced tells whether Kuadrant enforces both policies of the model.
func (g governed) enforced() bool {
	auth, limits := g.authPolicy(), g.limitPolicy()
	return auth != nil && limits != nil && kuadrant.InForce(auth) && kuadrant.InForce(limits)
}

// rival is a policy of somebody else on the model's route. Its name comes after those
// of the generated ones, so that it is enforced also when it comes in the same second.
func (g governed) rival(kind schema.GroupVersionKind, name string, spec map[string]any) *unstructured.Unstructured {
	policy := kuadrant.New(kind)
	policy.SetNamespace(g.namespace)
	policy.SetName(name)
	spec["targetRef"] = map[string]any{"group": gwapiv1.GroupName, "kind": "HTTPRoute", "name": "my-route"}
	policy.Object["spec"] = spec
	return policy
}

// anybody is the content of an AuthPolicy that admits everybody.
func anybody() map[string]any {
	return map[string]any{"rules": map[string]any{"authentication": map[string]any{"anyone": map[string]any{"anonymous": map[string]any{}}}}}
}

func reload[T client.Object](ctx context.Context, object T) T {
	GinkgoHelper()
	Expect(suite.Admin.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	return object
}

func phaseOf(ctx context.Context, object client.Object) func() v1alpha1.Phase {
	return func() v1alpha1.Phase {
		switch o := reload(ctx, object).(type) {
		case *v1alpha1.MaaSAuthPolicy:
			return o.Status.Phase
		case *v1alpha1.MaaSSubscription:
			return o.Status.Phase
		default:
			return ""
		}
	}
}
