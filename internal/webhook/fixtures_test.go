// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"fmt"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

var counter atomic.Int64

// unique returns a name nobody else uses.
func unique(prefix string) string { return fmt.Sprintf("%s-%d", prefix, counter.Add(1)) }

func namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func subscription(namespace, name string) *v1alpha1.MaaSSubscription {
	return &v1alpha1.MaaSSubscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.MaaSSubscriptionSpec{
			Owner:     v1alpha1.Owner{Users: []string{"alice"}},
			ModelRefs: []v1alpha1.ModelSubscription{{Namespace: "llm", Name: "granite", Unlimited: true}},
		},
	}
}

func authPolicy(namespace, name string) *v1alpha1.MaaSAuthPolicy {
	return &v1alpha1.MaaSAuthPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.MaaSAuthPolicySpec{
			ModelRefs: []v1alpha1.ModelReference{{Namespace: "llm", Name: "granite"}},
			Subjects:  v1alpha1.Subjects{Users: []string{"alice"}},
		},
	}
}

func model(namespace, name, tenantRef string) *v1alpha1.MaaSModelRef {
	return &v1alpha1.MaaSModelRef{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.MaaSModelRefSpec{
			ModelRef:  v1alpha1.BackendReference{Kind: v1alpha1.BackendExternalModel, Name: "gpt"},
			TenantRef: tenantRef,
		},
	}
}

func aiTenant(name string) *v1alpha1.AITenant {
	return &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: aitenants, Name: name}}
}

// gatewayNamed is a Gateway in the namespace of Gateways.
func gatewayNamed(name string) *gwapiv1.Gateway {
	return &gwapiv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: gateways, Name: name},
		Spec: gwapiv1.GatewaySpec{
			GatewayClassName: "istio",
			Listeners:        []gwapiv1.Listener{{Name: "http", Port: 80, Protocol: gwapiv1.HTTPProtocolType}},
		},
	}
}

// tenantLabel is the label of a tenant's namespace.
func tenantLabel(tenant string) map[string]string {
	return map[string]string{v1alpha1.LabelTenant: tenant}
}

// tenantConfig is the settings object of a tenant's namespace, as its AITenant
// makes it.
func tenantConfig(tenant string) *v1alpha1.MaasTenantConfig {
	return &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ai-tenant-" + tenant, Name: v1alpha1.DefaultTenantConfigName,
		Labels:      map[string]string{v1alpha1.LabelManagedByAITenant: "true", v1alpha1.LabelTenantName: tenant},
		Annotations: map[string]string{v1alpha1.AnnotationAITenantName: tenant, v1alpha1.AnnotationAITenantNamespace: aitenants},
	}}
}

// members are a subscription and an auth policy, which follow the same rules.
func members(namespace string) []client.Object {
	return []client.Object{subscription(namespace, unique("gold")), authPolicy(namespace, unique("access"))}
}

func create(ctx SpecContext, objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		Expect(admin.Create(ctx, object)).To(Succeed(), "%T %s", object, object.GetName())
	}
}

// patch changes an object as stored.
func patch(ctx SpecContext, object client.Object, change func()) error {
	before := object.DeepCopyObject().(client.Object)
	change()
	return admin.Patch(ctx, object, client.MergeFrom(before))
}

// label changes metadata only.
func label(ctx SpecContext, object client.Object) error {
	return patch(ctx, object, func() { object.SetLabels(map[string]string{"team": "a"}) })
}
