// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package builder

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// Tenant is the platform side of a tenant beside the default one: its AITenant,
// and what the AITenant's controller makes of it.
type Tenant struct {
	// Name is the AITenant's.
	Name string
	// Registry is the namespace of the AITenants.
	Registry string
	// Gateway is the tenant's own.
	Gateway types.NamespacedName
}

// Namespace is where the tenant's auth policies and subscriptions live.
func (t Tenant) Namespace() string { return "ai-tenant-" + t.Name }

// AITenant is the request for the tenant.
func (t Tenant) AITenant() *v1alpha1.AITenant {
	o := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: t.Registry, Name: t.Name}}
	o.Spec.Gateway = &v1alpha1.AITenantGatewayRef{Name: t.Gateway.Name}
	return o
}

// Status is what the AITenant says once its gateway is found.
func (t Tenant) Status() v1alpha1.AITenantStatus {
	return v1alpha1.AITenantStatus{
		TenantNamespace: t.Namespace(),
		GatewayRef:      &v1alpha1.TenantGatewayRef{Namespace: t.Gateway.Namespace, Name: t.Gateway.Name},
	}
}

// Owned are the tenant's namespace and its settings.
func (t Tenant) Owned() (*corev1.Namespace, *v1alpha1.MaasTenantConfig) {
	labels := map[string]string{
		v1alpha1.LabelTenant: t.Name, v1alpha1.LabelManagedByAITenant: "true",
		v1alpha1.LabelTenantName: t.Name, v1alpha1.LabelTenantNamespace: t.Namespace(),
	}
	annotations := map[string]string{v1alpha1.AnnotationAITenantName: t.Name, v1alpha1.AnnotationAITenantNamespace: t.Registry}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.Namespace(), Labels: labels, Annotations: annotations}}
	config := &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{
		Namespace: t.Namespace(), Name: v1alpha1.DefaultTenantConfigName, Labels: labels, Annotations: annotations,
	}}
	return namespace.DeepCopy(), config.DeepCopy()
}

// Gateway has one https listener for a host, open to all namespaces.
func Gateway(key types.NamespacedName, hostname string) *gwapiv1.Gateway {
	return &gwapiv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec: gwapiv1.GatewaySpec{
			GatewayClassName: "istio",
			Listeners: []gwapiv1.Listener{{
				Name: "https", Port: 443, Protocol: gwapiv1.HTTPSProtocolType, Hostname: new(gwapiv1.Hostname(hostname)),
				TLS:           &gwapiv1.ListenerTLSConfig{CertificateRefs: []gwapiv1.SecretObjectReference{{Name: gwapiv1.ObjectName(key.Name + "-tls")}}},
				AllowedRoutes: &gwapiv1.AllowedRoutes{Namespaces: &gwapiv1.RouteNamespaces{From: new(gwapiv1.NamespacesFromAll)}},
			}},
		},
	}
}
