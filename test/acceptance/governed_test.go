// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// world is one spec's own corner of the cluster: a namespace for models. Auth
// policies and subscriptions live in the default tenant's namespace and carry
// the corner's name, so that specs do not meet.
type world struct {
	ctx       context.Context
	namespace string
}

func newWorld(ctx context.Context) world {
	GinkgoHelper()
	namespace, err := testenv.NewNamespace(ctx, on.Admin, "llm")
	Expect(err).NotTo(HaveOccurred())
	return world{ctx: context.WithoutCancel(ctx), namespace: namespace}
}

// create stores objects as given.
func (w world) create(objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(on.Admin.Create(w.ctx, o)).To(Succeed(), "create %T %s", o, client.ObjectKeyFromObject(o))
	}
}

// model creates a model server with its route on the default gateway and the
// MaaSModelRef of the same name, and returns its key.
func (w world) model(name string) types.NamespacedName {
	GinkgoHelper()
	w.create(
		builder.Route(w.namespace, name, stage.GatewayNamespace, stage.GatewayName).Hostnames(stage.Hostname).Obj(),
		builder.ModelServer(w.namespace, name),
		builder.ModelRef(w.namespace, name).Obj(),
	)
	return builder.Key(w.namespace, name)
}

// governed creates a model that the group "engineers" may call: limits are
// enforced only behind an AuthPolicy.
func (w world) governed(name string) types.NamespacedName {
	GinkgoHelper()
	model := w.model(name)
	w.create(w.authPolicy("callers-of-"+name, model).Obj())
	return model
}

// own makes a name of the tenant's namespace this corner's own.
func (w world) own(name string) string { return name + "-" + w.namespace }

func (w world) subscription(name string) *builder.SubscriptionBuilder {
	return builder.Subscription(stage.TenantNamespace, w.own(name))
}

func (w world) authPolicy(name string, models ...types.NamespacedName) *builder.AuthPolicyBuilder {
	return builder.AuthPolicy(stage.TenantNamespace, w.own(name), models...)
}

// reload reads an object again.
func reload[T client.Object](w world, object T) T {
	GinkgoHelper()
	Expect(on.Admin.Get(w.ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	return object
}

// phase reads the phase of an object, for Eventually.
func (w world) phase(object client.Object) func() v1alpha1.Phase {
	return func() v1alpha1.Phase {
		GinkgoHelper()
		switch o := reload(w, object).(type) {
		case *v1alpha1.MaaSAuthPolicy:
			return o.Status.Phase
		case *v1alpha1.MaaSSubscription:
			return o.Status.Phase
		default:
			Fail("no phase of this type is known")
			return ""
		}
	}
}

// limitPolicy and authPolicyOf read the generated policies; nil when absent.
func (w world) limitPolicy(model types.NamespacedName) *unstructured.Unstructured {
	GinkgoHelper()
	return w.generated(kuadrant.TokenRateLimitPolicy, "maas-trlp-", model)
}

func (w world) authPolicyOf(model types.NamespacedName) *unstructured.Unstructured {
	GinkgoHelper()
	return w.generated(kuadrant.AuthPolicy, "maas-auth-", model)
}

func (w world) generated(kind schema.GroupVersionKind, prefix string, model types.NamespacedName) *unstructured.Unstructured {
	GinkgoHelper()
	policy := kuadrant.New(kind)
	err := on.Admin.Get(w.ctx, types.NamespacedName{Namespace: model.Namespace, Name: prefix + model.Name}, policy)
	Expect(client.IgnoreNotFound(err)).To(Succeed())
	if err != nil {
		return nil
	}
	return policy
}

// limitNames are the names of the generated limits of a model, for Eventually.
func (w world) limitNames(model types.NamespacedName) func() []string {
	return func() []string {
		GinkgoHelper()
		var names []string
		for _, limit := range kuadrant.Limits(w.limitPolicy(model)) {
			names = append(names, limit.Name)
		}
		return names
	}
}

// edit changes an object as a user does: on its latest version.
func (w world) edit(object client.Object, change func()) {
	GinkgoHelper()
	Eventually(func() error {
		if err := on.Admin.Get(w.ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change()
		return on.Admin.Update(w.ctx, object)
	}).Should(Succeed())
}

// ready is the Ready condition of an object as it was last read.
func (w world) ready(object client.Object) metav1.Condition {
	return w.condition(object, v1alpha1.ConditionReady)
}

func (w world) condition(object client.Object, kind v1alpha1.ConditionType) metav1.Condition {
	GinkgoHelper()
	var conditions []metav1.Condition
	switch o := object.(type) {
	case *v1alpha1.MaaSModelRef:
		conditions = o.Status.Conditions
	case *v1alpha1.MaaSAuthPolicy:
		conditions = o.Status.Conditions
	case *v1alpha1.MaaSSubscription:
		conditions = o.Status.Conditions
	default:
		Fail("no conditions of this type are known")
	}
	if found := meta.FindStatusCondition(conditions, string(kind)); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// testFinalizer keeps an object that is being deleted until the spec ends.
const testFinalizer = "acceptance.maas.opendatahub.io/hold"

// holdAndDelete deletes an object, which stays with its deletion timestamp
// until the spec ends.
func (w world) holdAndDelete(object client.Object) {
	GinkgoHelper()
	w.edit(object, func() { object.SetFinalizers(append(object.GetFinalizers(), testFinalizer)) })
	Expect(on.Admin.Delete(w.ctx, object)).To(Succeed())
	DeferCleanup(func() {
		w.edit(object, func() {
			object.SetFinalizers(slices.DeleteFunc(object.GetFinalizers(), func(f string) bool { return f == testFinalizer }))
		})
	})
}

// writes counts the operator's successful writes of a resource after a mark.
func (w world) writes(mark audit.Mark, group, resource string) int {
	GinkgoHelper()
	events, err := on.Env.Audit().After(mark, audit.ByUser(testenv.OperatorUser), audit.IsWrite(), audit.Succeeded(), audit.ByResource(group, resource))
	Expect(err).NotTo(HaveOccurred())
	return len(events)
}
