// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package contributor_test

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
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
	m := governed{ctx: context.WithoutCancel(ctx), namespace: namespace, name: "my-model"}
	m.addRef()
	return m
}

func (m governed) addRef() { m.addRefOn(m.name) }

// addRefOn creates the MaaSModelRef with a route of the given name.
func (m governed) addRefOn(route string) {
	GinkgoHelper()
	err := suite.Admin.Create(m.ctx, builder.Route(m.namespace, route, gatewayNamespace, gatewayName).Obj())
	Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
	ref := m.ref()
	Expect(suite.Admin.Create(m.ctx, ref)).To(Succeed())
	before := ref.DeepCopy()
	ref.Status.HTTPRouteName, ref.Status.HTTPRouteNamespace = route, m.namespace
	Expect(suite.Admin.Status().Patch(m.ctx, ref, client.MergeFrom(before))).To(Succeed())
}

func (m governed) ref() *v1alpha1.MaaSModelRef { return builder.ModelRef(m.namespace, m.name).Obj() }

func (m governed) key() types.NamespacedName { return builder.Key(m.namespace, m.name) }

func (m governed) named(name string) string { return name + "-" + m.namespace }

func (m governed) allow(name string) *v1alpha1.MaaSAuthPolicy {
	return create(m.ctx, builder.AuthPolicy(tenantNamespace, m.named(name), m.key()).Obj())
}

// subscription is one to the model with a rate, yet to be created.
func (m governed) subscription(name string) *builder.SubscriptionBuilder {
	return builder.Subscription(tenantNamespace, m.named(name)).Limit(m.key(), 10, "1m")
}

func (m governed) subscribe(name string) *v1alpha1.MaaSSubscription {
	return create(m.ctx, m.subscription(name).Obj())
}

// limitPolicy reads the generated TokenRateLimitPolicy.
func (m governed) limitPolicy() *unstructured.Unstructured {
	return read(m.ctx, kuadrant.TokenRateLimitPolicy, builder.Key(m.namespace, "maas-trlp-"+m.name))
}

// foreign creates somebody else's AuthPolicy on the model's route.
func (m governed) foreign(name string) *unstructured.Unstructured {
	p := kuadrant.New(kuadrant.AuthPolicy)
	p.SetNamespace(m.namespace)
	p.SetName(name)
	p.Object["spec"] = map[string]any{
		"targetRef": map[string]any{"group": gwapiv1.GroupName, "kind": "HTTPRoute", "name": m.name},
		"rules":     map[string]any{"authentication": map[string]any{"anyone": map[string]any{"anonymous": map[string]any{}}}},
	}
	return create(m.ctx, p)
}

func create[T client.Object](ctx context.Context, object T) T {
	GinkgoHelper()
	Expect(suite.Admin.Create(ctx, object)).To(Succeed())
	return object
}

func read(ctx context.Context, kind schema.GroupVersionKind, key types.NamespacedName) *unstructured.Unstructured {
	GinkgoHelper()
	object := kuadrant.New(kind)
	Expect(suite.Admin.Get(ctx, key, object)).To(Succeed())
	return object
}

func reload[T client.Object](ctx context.Context, object T) T {
	GinkgoHelper()
	Expect(suite.Admin.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	return object
}

// gone asks for an object that should not exist any more.
func gone(ctx context.Context, object client.Object) func() error {
	return func() error { return suite.Admin.Get(ctx, client.ObjectKeyFromObject(object), object) }
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

// conditionOf reads a condition; the zero value when there is none.
func conditionOf(ctx context.Context, object client.Object, kind v1alpha1.ConditionType) func() metav1.Condition {
	return func() metav1.Condition {
		var list []metav1.Condition
		switch o := reload(ctx, object).(type) {
		case *v1alpha1.MaaSAuthPolicy:
			list = o.Status.Conditions
		case *v1alpha1.MaaSSubscription:
			list = o.Status.Conditions
		}
		if found := meta.FindStatusCondition(list, string(kind)); found != nil {
			return *found
		}
		return metav1.Condition{}
	}
}

// eventsOf lists the events about an object as "<type> <reason>", in their order;
// one that occurred again is listed again.
func eventsOf(ctx context.Context, object client.Object) func() []string {
	return func() []string {
		GinkgoHelper()
		var list eventsv1.EventList
		Expect(suite.Admin.List(ctx, &list, client.InNamespace(object.GetNamespace()))).To(Succeed())
		slices.SortFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
		var out []string
		for i := range list.Items {
			e := &list.Items[i]
			if e.Regarding.Name != object.GetName() || e.Regarding.UID != object.GetUID() {
				continue
			}
			count := int32(1)
			if e.Series != nil {
				count = e.Series.Count
			}
			for range count {
				out = append(out, e.Type+" "+e.Reason)
			}
		}
		return out
	}
}
