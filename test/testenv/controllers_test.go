// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv_test

import (
	"cmp"
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

var _ = Describe("The controllers", func() {
	It("make a Deployment available and collect what it owned", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		deployment := simpleDeployment(namespace, 3)
		Expect(admin.Create(ctx, deployment)).To(Succeed())
		key := client.ObjectKeyFromObject(deployment)
		Eventually(func() (int32, error) {
			err := admin.Get(ctx, key, deployment)
			return deployment.Status.AvailableReplicas, err
		}).Should(BeEquivalentTo(3))

		Expect(admin.Delete(ctx, deployment, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		Eventually(func() ([]corev1.Pod, error) {
			pods := &corev1.PodList{}
			err := admin.List(ctx, pods, client.InNamespace(namespace))
			return pods.Items, err
		}).Should(BeEmpty())
	})

	It("complete Jobs, but not those of programs under test", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		job := func(name string, labels map[string]string) *batchv1.Job {
			return &batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
				Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec: corev1.PodSpec{
						RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "simulated"}},
					},
				}},
			}
		}
		ours, others := job("ours", map[string]string{testenv.RunLabel: testenv.RunLabelValue}), job("others", nil)
		Expect(admin.Create(ctx, ours)).To(Succeed())
		ready := func() (int32, error) {
			err := admin.Get(ctx, client.ObjectKeyFromObject(ours), ours)
			return *cmp.Or(ours.Status.Ready, new(int32(0))), err
		}
		Eventually(ready).Should(BeEquivalentTo(1))
		Expect(admin.Create(ctx, others)).To(Succeed())
		Eventually(func() (int32, error) {
			err := admin.Get(ctx, client.ObjectKeyFromObject(others), others)
			return others.Status.Succeeded, err
		}).Should(BeEquivalentTo(1))
		Expect(ready()).To(BeEquivalentTo(1))
	})

	It("collect what a custom resource owned", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		owner := &unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"modelRef": map[string]any{"kind": "LLMInferenceService", "name": "llama"}},
		}}
		owner.SetGroupVersionKind(schema.GroupVersionKind{Group: "maas.opendatahub.io", Version: "v1alpha1", Kind: "MaaSModelRef"})
		owner.SetNamespace(namespace)
		owner.SetName("llama")
		Expect(admin.Create(ctx, owner)).To(Succeed())
		dependent := configMap(namespace, "dependent", metav1.OwnerReference{
			APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(),
		})
		Expect(admin.Create(ctx, dependent)).To(Succeed())

		Expect(admin.Delete(ctx, owner)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(dependent), dependent))
		}).Should(BeTrue())
	})

	It("hear from every node, so that none is taken for dead", func(ctx SpecContext) {
		nodes, leases := &corev1.NodeList{}, &coordinationv1.LeaseList{}
		Expect(admin.List(ctx, nodes)).To(Succeed())
		Expect(nodes.Items).NotTo(BeEmpty())
		var names []string
		for i := range nodes.Items {
			names = append(names, nodes.Items[i].Name)
		}
		Eventually(func() ([]string, error) {
			err := admin.List(ctx, leases, client.InNamespace(corev1.NamespaceNodeLease))
			var heard []string
			for i := range leases.Items {
				heard = append(heard, leases.Items[i].Name)
			}
			return heard, err
		}).Should(ConsistOf(names))
	})

	It("empty and remove a deleted namespace", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		Expect(admin.Create(ctx, configMap(namespace, "content"))).To(Succeed())
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		Expect(admin.Delete(ctx, object)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(object), object))
		}).Should(BeTrue())
	})
})

func simpleDeployment(namespace string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "simple"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "simple"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "simulated"}}},
			},
		},
	}
}

// allowed asks the API server whether the client has the first right of a rule.
func allowed(ctx context.Context, c client.Client, namespace string, rule rbacv1.PolicyRule) (bool, error) {
	resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0],
			Resource: resource, Subresource: subresource,
		},
	}}
	err := c.Create(ctx, review)
	return review.Status.Allowed, err
}
