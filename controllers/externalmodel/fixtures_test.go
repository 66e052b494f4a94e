// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/rig/models"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// world is one namespace with models in it. The context outlives the node that made it.
type world struct {
	ctx       context.Context
	namespace string
}

func newWorld(ctx context.Context) world {
	GinkgoHelper()
	namespace, err := testenv.NewNamespace(ctx, suite.Admin, "llm")
	Expect(err).NotTo(HaveOccurred())
	return world{ctx: context.WithoutCancel(ctx), namespace: namespace}
}

func (w world) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: w.namespace, Name: name}
}

func (w world) create(objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		Expect(suite.Admin.Create(w.ctx, object)).To(Succeed())
	}
}

func (w world) remove(object client.Object) {
	GinkgoHelper()
	Expect(suite.Admin.Delete(w.ctx, object)).To(Succeed())
}

// model is an ExternalModel whose host and target nobody else has.
func (w world) model(name string, change ...func(*v1alpha1.ExternalModel)) *v1alpha1.ExternalModel {
	m := builder.ExternalModel(w.namespace, name)
	m.Spec.Endpoint = w.host(name)
	m.Spec.TargetModel = w.namespace + "/" + name
	for _, edit := range change {
		edit(m)
	}
	return m
}

func host(name string) func(*v1alpha1.ExternalModel) {
	return func(m *v1alpha1.ExternalModel) { m.Spec.Endpoint = name }
}

func target(name string) func(*v1alpha1.ExternalModel) {
	return func(m *v1alpha1.ExternalModel) { m.Spec.TargetModel = name }
}

// edit changes a stored ExternalModel.
func (w world) edit(name string, change func(*v1alpha1.ExternalModel)) {
	GinkgoHelper()
	m := &v1alpha1.ExternalModel{}
	Expect(suite.Admin.Get(w.ctx, w.key(name), m)).To(Succeed())
	before := m.DeepCopy()
	change(m)
	Expect(suite.Admin.Patch(w.ctx, m, client.MergeFrom(before))).To(Succeed())
}

// publish has a model governed, and so guarded.
func (w world) publish(name string) {
	GinkgoHelper()
	w.create(
		builder.ModelRef(w.namespace, name).Backend(v1alpha1.BackendExternalModel, name).Obj(),
		builder.AuthPolicy(models.TenantNamespace, w.namespace+"-"+name, w.key(name)).Obj(),
		builder.Subscription(models.TenantNamespace, w.namespace+"-"+name).Limit(w.key(name), 100, "1m").Obj(),
	)
}

// readable lets the operator look at the Secrets of the namespace.
func (w world) readable() {
	GinkgoHelper()
	w.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "maas-controller-provider-secrets"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "maas-controller-provider-secrets"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: testenv.OperatorNamespace, Name: testenv.OperatorServiceAccount}},
	})
}

func (w world) secret(name string, labels, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: labels}, StringData: data}
}

func (w world) stored(g Gomega, name string) *v1alpha1.ExternalModel {
	m := &v1alpha1.ExternalModel{}
	g.Expect(suite.Admin.Get(w.ctx, w.key(name), m)).To(Succeed())
	return m
}

// says is "<phase>/<reason of Ready>" of a model.
func (w world) says(name string) func(Gomega) string {
	return func(g Gomega) string {
		m := w.stored(g, name)
		ready := meta.FindStatusCondition(m.Status.Conditions, "Ready")
		if ready == nil || ready.ObservedGeneration != m.Generation {
			return "not evaluated"
		}
		return fmt.Sprintf("%s/%s", m.Status.Phase, ready.Reason)
	}
}

// condition is "<status>/<reason>" of a condition.
func (w world) condition(name string, kind v1alpha1.ConditionType) func(Gomega) string {
	return func(g Gomega) string {
		c := meta.FindStatusCondition(w.stored(g, name).Status.Conditions, string(kind))
		if c == nil {
			return "none"
		}
		return fmt.Sprintf("%s/%s", c.Status, c.Reason)
	}
}

func (w world) message(name string, kind v1alpha1.ConditionType) func() string {
	return func() string {
		m := &v1alpha1.ExternalModel{}
		Expect(suite.Admin.Get(w.ctx, w.key(name), m)).To(Succeed())
		if c := meta.FindStatusCondition(m.Status.Conditions, string(kind)); c != nil {
			return c.Message
		}
		return ""
	}
}

// published is "<phase>/<reason of Ready> <message>" of the MaaSModelRef of a model.
func (w world) published(name string) func(Gomega) string {
	return func(g Gomega) string {
		ref := &v1alpha1.MaaSModelRef{}
		g.Expect(suite.Admin.Get(w.ctx, w.key(name), ref)).To(Succeed())
		ready := meta.FindStatusCondition(ref.Status.Conditions, "Ready")
		if ready == nil {
			return "not evaluated"
		}
		return fmt.Sprintf("%s/%s %s", ref.Status.Phase, ready.Reason, ready.Message)
	}
}

// child is an object to read into.
func child(apiVersion, kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetName(name)
	return u
}

func service(name string) *unstructured.Unstructured { return child("v1", "Service", name) }

func serviceEntry(name string) *unstructured.Unstructured {
	return child("networking.istio.io/v1", "ServiceEntry", name)
}

func destinationRule(name string) *unstructured.Unstructured {
	return child("networking.istio.io/v1", "DestinationRule", name)
}

func route(name string) *unstructured.Unstructured {
	return child("gateway.networking.k8s.io/v1", "HTTPRoute", name)
}

// entryOf and ruleOf are what a model of that name holds of a host.
func entryOf(name, host string) *unstructured.Unstructured {
	return serviceEntry(external.SharedName(name, host))
}

func ruleOf(name, host string) *unstructured.Unstructured {
	return destinationRule(external.SharedName(name, host))
}

func (w world) entry(name string) *unstructured.Unstructured { return entryOf(name, w.host(name)) }
func (w world) rule(name string) *unstructured.Unstructured  { return ruleOf(name, w.host(name)) }

// children are all objects of a model of that name and host.
func children(name, host string) []*unstructured.Unstructured {
	return []*unstructured.Unstructured{service("maas-" + name), entryOf(name, host), ruleOf(name, host), route("maas-" + name)}
}

func (w world) children(name string) []*unstructured.Unstructured {
	return children(name, w.host(name))
}

func (w world) exists(object *unstructured.Unstructured) func(Gomega) bool {
	return func(g Gomega) bool {
		err := suite.Admin.Get(w.ctx, w.key(object.GetName()), object.DeepCopy())
		g.Expect(client.IgnoreNotFound(err)).To(Succeed())
		return !apierrors.IsNotFound(err)
	}
}

// get reads an object that is there.
func (w world) get(object *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	Expect(suite.Admin.Get(w.ctx, w.key(object.GetName()), object)).To(Succeed())
	return object
}

// annotate sets an annotation of an object that is there.
func (w world) annotate(object *unstructured.Unstructured, name, value string) {
	GinkgoHelper()
	live := w.get(object)
	before := live.DeepCopy()
	annotations := live.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	live.SetAnnotations(annotations)
	Expect(suite.Admin.Patch(w.ctx, live, client.MergeFrom(before))).To(Succeed())
}

// leading is how many of a route's rules lead somewhere.
func (w world) leading(name string) func() string {
	return func() string {
		r := &gwapiv1.HTTPRoute{}
		if err := suite.Admin.Get(w.ctx, w.key(name), r); err != nil {
			return "no route"
		}
		n := 0
		for i := range r.Spec.Rules {
			if len(r.Spec.Rules[i].BackendRefs) > 0 {
				n++
			}
		}
		return fmt.Sprintf("%d of %d", n, len(r.Spec.Rules))
	}
}
