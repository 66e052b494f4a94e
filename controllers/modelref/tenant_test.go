// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

func TestTheStatusNamesTheTenantAModelBelongsTo(t *testing.T) {
	t.Parallel()
	red := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: "ai-tenants", Name: "red"}}
	red.Status.GatewayRef = &v1alpha1.TenantGatewayRef{Namespace: "ingress", Name: "red"}
	waiting := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: "ai-tenants", Name: "waiting"}}
	managed := &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ai-tenant-red", Name: v1alpha1.DefaultTenantConfigName,
		Labels:      map[string]string{v1alpha1.LabelManagedByAITenant: "true", v1alpha1.LabelTenantName: "red"},
		Annotations: map[string]string{v1alpha1.AnnotationAITenantName: "red", v1alpha1.AnnotationAITenantNamespace: "ai-tenants"},
	}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ai-tenant-red"}}
	for name, test := range map[string]struct {
		namespace, tenantRef, want string
	}{
		"the default one in a plain namespace":                    {namespace: "llm", want: "models-as-a-service"},
		"the one of its namespace":                                {namespace: "ai-tenant-red", want: "red"},
		"the one it names":                                        {namespace: "llm", tenantRef: "red", want: "red"},
		"the one it names rather than the one of its namespace":   {namespace: "ai-tenant-red", tenantRef: "red", want: "red"},
		"nobody while the one it names does not exist":            {namespace: "llm", tenantRef: "gone"},
		"nobody while the gateway of the one it names is unknown": {namespace: "llm", tenantRef: "waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := model("granite", v1alpha1.BackendExternalModel)
			m.Namespace, m.Spec.TenantRef = test.namespace, test.tenantRef
			m.Status.Tenant = "another" // What an earlier spec led to.
			r := reconciler(t, everyAPI, interceptor.Funcs{}, m, red, waiting, managed, namespace)
			req := request("granite")
			req.Namespace = test.namespace
			if _, err := r.Reconcile(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			got := &v1alpha1.MaaSModelRef{}
			if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(m), got); err != nil {
				t.Fatal(err)
			}
			if got.Status.Tenant != test.want {
				t.Errorf("tenant %q, want %q", got.Status.Tenant, test.want)
			}
		})
	}
}
