// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// FuzzTenantOfANamespace resolves a namespace whose objects say anything: the
// answer is a tenant whose namespace this is, the default one, or a problem for
// somebody to resolve. No text makes a namespace a member of another tenant.
func FuzzTenantOfANamespace(f *testing.F) {
	f.Add("ai-tenant-red", "red", "true", "red", "red", "ai-tenants", "red", "https://idp.example.com", "maas", int32(300))
	f.Add("models-as-a-service", "", "true", "models-as-a-service", "models-as-a-service", "ai-tenants", "models-as-a-service", "", "", int32(-1))
	f.Add("llm", "", "", "red", "red", "evil", "red", "http://idp", " ", int32(29))
	f.Add("ai-tenant-", "\x00", "true", "", "", "", "", "https://", "\n", int32(0))
	f.Fuzz(func(t *testing.T, namespace, label, managedBy, tenantName, annotation, ownerNamespace, ownerName, issuer, client string, ttl int32) {
		owner := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: ownerNamespace, Name: ownerName}}
		owner.Status.GatewayRef = &v1alpha1.TenantGatewayRef{Namespace: "gateways", Name: "of-" + ownerName}
		owner.Spec.OIDC = provider(issuer, client, ttl)
		config := managed(namespace, tenantName)
		config.Labels[v1alpha1.LabelManagedByAITenant] = managedBy
		config.Annotations[v1alpha1.AnnotationAITenantName] = annotation
		n := tenancy.Namespace{Name: namespace, Labels: map[string]string{v1alpha1.LabelTenant: label}, Config: config, Owner: owner, Legacy: legacyTenant(owner.Spec.OIDC)}
		s := settings()
		c, err := s.OfNamespace(n)
		if _, user := apperr.AsUser(err); err != nil && !user {
			t.Fatalf("OfNamespace() error = %v, which nobody can resolve", err)
		}
		if err == nil && c.Name != tenancy.DefaultName && s.TenantNamespace(c.Name) != namespace {
			t.Errorf("namespace %q is tenant %q's", namespace, c.Name)
		}
		if c.OIDC != nil && (c.OIDC.ClientID == "" || c.OIDC.TTLSeconds < 30 || c.OIDCProblem != nil) {
			t.Errorf("provider %+v, problem %v", c.OIDC, c.OIDCProblem)
		}
		if name := s.NameOf(n); name != "" && s.TenantNamespace(name) != namespace {
			t.Errorf("objects in namespace %q count for tenant %q", namespace, name)
		}
	})
}
