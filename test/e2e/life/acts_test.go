// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// meddle has a part in an object of each protected kind, and waits until that is ended:
// it takes the right to update.
func meddle(ctx context.Context, model client.ObjectKey) {
	GinkgoHelper()
	policies := generated(model)
	for _, m := range []struct {
		object *unstructured.Unstructured
		patch  string
	}{
		{policies[0], `{"spec":{"rules":{"authentication":{"anyone":{"anonymous":{}}}}}}`},
		{policies[1], `{"spec":{"limits":{"more":{"rates":[{"limit":1000,"window":"1m"}]}}}}`},
		{object("gateway.networking.k8s.io/v1", "HTTPRoute", "maas-api-route"), `{"spec":{"hostnames":["mallory.example.com"]}}`},
		{object("networking.k8s.io/v1", "NetworkPolicy", egressPolicy().Name), `{"spec":{"ingress":[{}],"policyTypes":["Egress","Ingress"]}}`},
	} {
		before := read(ctx, m.object).Object["spec"]
		Expect(on.Admin.Patch(ctx, m.object, client.RawPatch(types.MergePatchType, []byte(m.patch)))).To(Succeed())
		Expect(m.object.Object["spec"]).NotTo(Equal(before), m.object.GetKind())
		Eventually(func() any { return read(ctx, m.object).Object["spec"] }).Should(Equal(before), m.object.GetKind())
	}
	for _, kind := range []string{"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"} {
		share(ctx, &ours(ctx, kind)[0])
	}
}

// share owns the rights in an object together with the operator, and changes a label so
// that the operator looks at it.
func share(ctx context.Context, object *unstructured.Unstructured) {
	GinkgoHelper()
	const label, mallory = v1alpha1.LabelPartOf, "mallory"
	before := object.GetLabels()[label]
	Expect(before).NotTo(BeEmpty())
	part := &unstructured.Unstructured{Object: map[string]any{}}
	part.SetGroupVersionKind(object.GroupVersionKind())
	part.SetNamespace(object.GetNamespace())
	part.SetName(object.GetName())
	part.SetLabels(map[string]string{label: mallory})
	for _, field := range []string{"rules", "roleRef", "subjects"} {
		if value, ok := object.Object[field]; ok {
			part.Object[field] = value
		}
	}
	Expect(on.Admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(part), client.FieldOwner(mallory), client.ForceOwnership)).To(Succeed())
	Eventually(func() string { return read(ctx, object).GetLabels()[label] }).Should(Equal(before), object.GetKind())
}

// object is one of the infrastructure namespace.
func object(version, kind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(version, kind))
	o.SetNamespace(infra)
	o.SetName(name)
	return o
}

// finishJobs plays the Pods of Jobs that revoke keys, until it is stopped: each of them
// succeeds.
func finishJobs(ctx context.Context) (stop func()) {
	ctx, stop = context.WithCancel(context.WithoutCancel(ctx))
	finish := func(ctx context.Context) (bool, error) {
		var pods corev1.PodList
		err := on.Admin.List(ctx, &pods, client.InNamespace(infra), client.MatchingLabels{"app": "maas-api-revocation"})
		for i := range pods.Items {
			pod := &pods.Items[i]
			if err != nil || pod.Status.Phase != corev1.PodRunning {
				continue
			}
			before := pod.DeepCopy()
			pod.Status.Phase = corev1.PodSucceeded
			err = on.Admin.Status().Patch(ctx, pod, client.MergeFrom(before))
		}
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(GinkgoWriter, "finish Jobs: %v\n", err)
		}
		return false, nil
	}
	go func() { _ = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, finish) }()
	return stop
}
