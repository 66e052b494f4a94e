// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

const (
	bootstrapped = "maas.opendatahub.io/default-aitenant-bootstrapped"
	requested    = "maas.opendatahub.io/teardown-requested"
	completed    = "maas.opendatahub.io/teardown-completed"
	egressPolicy = "maas-api-egress-restrict"
)

func ensureNamespace(ctx context.Context, name string) {
	GinkgoHelper()
	err := suite.Admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
}

// deployment is one with Pods that never run.
func deployment(name string, labels map[string]string) *appsv1.Deployment {
	selector := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: controllerNamespace, Name: name, Labels: labels}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: selector}
	d.Spec.Template.Labels = selector
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "none"}}
	return d
}

// install makes the operator's Deployment: the controller begins.
func install(ctx context.Context, change ...func(*appsv1.Deployment)) {
	GinkgoHelper()
	d := deployment("maas-controller", map[string]string{"app": "maas-controller"})
	for _, c := range change {
		c(d)
	}
	Expect(suite.Admin.Create(ctx, d)).To(Succeed())
}

// uninstall removes everything a spec left behind, the Deployment first: then the
// controller rests.
func uninstall(ctx SpecContext) {
	GinkgoHelper()
	wipe(ctx, &appsv1.DeploymentList{}, client.InNamespace(controllerNamespace))
	for _, list := range []client.ObjectList{&v1alpha1.ConfigList{}, &v1alpha1.AITenantList{}, &v1alpha1.MaasTenantConfigList{}, &v1alpha1.TenantList{}} {
		wipe(ctx, list)
	}
	for _, list := range []client.ObjectList{&networkingv1.NetworkPolicyList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{}, &gwapiv1.HTTPRouteList{}, &corev1.SecretList{}} {
		for _, namespace := range []string{infraNamespace, controllerNamespace, aitenantNamespace} {
			wipe(ctx, list, client.InNamespace(namespace))
		}
	}
	wipe(ctx, &rbacv1.ClusterRoleList{}, client.MatchingLabels{"maas.opendatahub.io/config": "default"})
}

// wipe deletes all objects of a list, whatever finalizers they have, again until none
// is left: a reconcile that was under way may have made one more.
func wipe(ctx context.Context, list client.ObjectList, options ...client.ListOption) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(suite.Admin.List(ctx, list, options...)).To(Succeed())
		if meta.LenList(list) == 0 {
			return
		}
		objects, err := meta.ExtractList(list)
		g.Expect(err).NotTo(HaveOccurred())
		for _, item := range objects {
			object, ok := item.(client.Object)
			g.Expect(ok).To(BeTrue())
			if len(object.GetFinalizers()) > 0 {
				object.SetFinalizers(nil)
				g.Expect(client.IgnoreNotFound(suite.Admin.Update(ctx, object))).To(Succeed())
			}
			g.Expect(client.IgnoreNotFound(suite.Admin.Delete(ctx, object))).To(Succeed())
		}
		g.Expect(meta.LenList(list)).To(BeZero())
	}).Should(Succeed())
}

// read fills an object; nil when there is none.
func read[T client.Object](ctx context.Context, namespace, name string, object T) func(Gomega) T {
	return func(g Gomega) T {
		err := suite.Admin.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, object)
		if apierrors.IsNotFound(err) {
			var none T
			return none
		}
		g.Expect(err).NotTo(HaveOccurred())
		return object
	}
}

func config(ctx context.Context) func(Gomega) *v1alpha1.Config {
	return func(g Gomega) *v1alpha1.Config { return read(ctx, "", "default", &v1alpha1.Config{})(g) }
}

func tenant(ctx context.Context) func(Gomega) *v1alpha1.AITenant {
	return func(g Gomega) *v1alpha1.AITenant {
		return read(ctx, aitenantNamespace, "models-as-a-service", &v1alpha1.AITenant{})(g)
	}
}

func policy(ctx context.Context, name string) func(Gomega) *networkingv1.NetworkPolicy {
	return func(g Gomega) *networkingv1.NetworkPolicy {
		return read(ctx, infraNamespace, name, &networkingv1.NetworkPolicy{})(g)
	}
}

func own(ctx context.Context) func(Gomega) *appsv1.Deployment {
	return func(g Gomega) *appsv1.Deployment {
		return read(ctx, controllerNamespace, "maas-controller", &appsv1.Deployment{})(g)
	}
}

// now takes a reading that must succeed.
func now[T any](reading func(Gomega) T) T {
	GinkgoHelper()
	return reading(NewGomega(func(message string, _ ...int) { Fail(message) }))
}

// says is "<status>/<reason>" of a condition of the Config for its generation.
func says(ctx context.Context, kind string) func(Gomega) string {
	return func(g Gomega) string {
		c := config(ctx)(g)
		if c == nil {
			return "no Config"
		}
		found := meta.FindStatusCondition(c.Status.Conditions, kind)
		if found == nil {
			return "none"
		}
		if found.ObservedGeneration != c.Generation || c.Status.ObservedGeneration != c.Generation {
			return "outdated"
		}
		return fmt.Sprintf("%s/%s", found.Status, found.Reason)
	}
}

// message is the text of the Config's condition Ready.
func message(ctx context.Context) func(Gomega) string { return messageOf(ctx, "Ready") }

// teardownMessage is that of its condition TeardownCompleted.
func teardownMessage(ctx context.Context) func(Gomega) string {
	return messageOf(ctx, "TeardownCompleted")
}

func messageOf(ctx context.Context, kind string) func(Gomega) string {
	return func(g Gomega) string {
		c := config(ctx)(g)
		g.Expect(c).NotTo(BeNil())
		found := meta.FindStatusCondition(c.Status.Conditions, kind)
		g.Expect(found).NotTo(BeNil())
		return found.Message
	}
}

// settle waits until the installation stands.
func settle(ctx context.Context) {
	GinkgoHelper()
	Eventually(says(ctx, "Ready")).Should(Equal("True/PlatformReady"))
	Eventually(tenant(ctx)).ShouldNot(BeNil())
}

// edit changes an object as somebody else would.
func edit[T client.Object](ctx context.Context, object T, change func(T)) {
	GinkgoHelper()
	Expect(suite.Admin.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	before, ok := object.DeepCopyObject().(client.Object)
	Expect(ok).To(BeTrue())
	change(object)
	Expect(suite.Admin.Patch(ctx, object, client.MergeFrom(before))).To(Succeed())
}

func editConfig(ctx context.Context, change func(*v1alpha1.ConfigSpec)) {
	GinkgoHelper()
	edit(ctx, &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, func(c *v1alpha1.Config) { change(&c.Spec) })
}

func annotate(ctx context.Context, key, value string) {
	GinkgoHelper()
	edit(ctx, deployment("maas-controller", nil), func(d *appsv1.Deployment) {
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, key, value)
		if value == "" {
			delete(d.Annotations, key)
		}
	})
}

// tenantSays plays the AITenant controller: it sets the phase and the condition Ready.
func tenantSays(ctx context.Context, phase v1alpha1.AITenantPhase, ready metav1.ConditionStatus) {
	GinkgoHelper()
	t := now(tenant(ctx))
	t.Status.Phase, t.Status.ObservedGeneration = phase, t.Generation
	meta.SetStatusCondition(&t.Status.Conditions, metav1.Condition{Type: "Ready", Status: ready, Reason: "Played", ObservedGeneration: t.Generation})
	Expect(suite.Admin.Status().Update(ctx, t)).To(Succeed())
}

// hold puts the finalizer on an object that keeps it while it is being cleaned up.
func hold(ctx context.Context, object client.Object, finalizer string) {
	GinkgoHelper()
	edit(ctx, object, func(o client.Object) { controllerutil.AddFinalizer(o, finalizer) })
}

func letGo(ctx context.Context, object client.Object, finalizer string) {
	GinkgoHelper()
	edit(ctx, object, func(o client.Object) { controllerutil.RemoveFinalizer(o, finalizer) })
}

func tenantConfig(namespace string) *v1alpha1.MaasTenantConfig {
	return &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default-tenant"}}
}

// ownersOf are the kinds and names of an object's owners; a controller has a star.
func ownersOf(object client.Object) []string {
	var owners []string
	for _, ref := range object.GetOwnerReferences() {
		owner := ref.Kind + " " + ref.Name
		if ref.Controller != nil && *ref.Controller {
			owner += " *"
		}
		if ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion {
			owner += " blocked"
		}
		owners = append(owners, owner)
	}
	return owners
}
