// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lookup reads the objects that package tenancy decides on. It holds
// the reader and decides nothing.
package lookup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// Tenants finds the tenants of namespaces and models.
type Tenants struct {
	// Reader reads the cluster, from a cache.
	Reader client.Reader
	// Settings are the manager's.
	Settings tenancy.Settings
}

// ForModel returns the tenant of a model: that of its tenantRef, else that of
// its namespace. The error is an [apperr.UserError] when the user must act.
func (t Tenants) ForModel(ctx context.Context, model *v1alpha1.MaaSModelRef) (tenancy.Context, error) {
	if model.Spec.TenantRef == "" {
		return t.ForNamespace(ctx, model.Namespace)
	}
	key := types.NamespacedName{Namespace: t.Settings.AITenantNamespace, Name: model.Spec.TenantRef}
	tenant, err := fetch.Optional(ctx, t.Reader, key, &v1alpha1.AITenant{})
	if err != nil {
		return tenancy.Context{}, err
	}
	if tenant == nil {
		return tenancy.Context{}, apperr.Userf(v1alpha1.ReasonTenantNotFound,
			"spec.tenantRef: AITenant %s does not exist in namespace %s.", key.Name, key.Namespace)
	}
	return t.Settings.OfTenant(tenant)
}

// ForNamespace returns the tenant of a namespace. The default tenant's provider
// is configured in that tenant's own namespace.
func (t Tenants) ForNamespace(ctx context.Context, name string) (tenancy.Context, error) {
	n, err := t.namespace(ctx, name)
	if err != nil {
		return tenancy.Context{}, err
	}
	tenant, err := t.Settings.OfNamespace(n)
	if err != nil || tenant.Name != tenancy.DefaultName || name == t.Settings.DefaultNamespace {
		return tenant, err
	}
	home, err := t.namespace(ctx, t.Settings.DefaultNamespace)
	if err != nil {
		return tenancy.Context{}, err
	}
	tenant.OIDC, tenant.OIDCProblem = t.Settings.OIDC(home)
	return tenant, nil
}

// Member returns the name of the tenant whose subscriptions and auth policies
// may live in the namespace, or "" when it is no tenant's.
func (t Tenants) Member(ctx context.Context, name string) (string, error) {
	tenant, err := t.Enabled(ctx, name)
	if _, user := apperr.AsUser(err); user {
		return "", nil
	}
	return tenant, err
}

// Enabled is [Tenants.Member] that says, as an [apperr.UserError], why the
// namespace is no tenant's. Admission asks it, reconcilers ask Member: they
// cannot disagree.
func (t Tenants) Enabled(ctx context.Context, name string) (string, error) {
	n, err := t.namespace(ctx, name)
	if err != nil {
		return "", err
	}
	return t.Settings.Enabled(n)
}

// Members returns Member with a memory, for the length of one reconcile: of many
// objects most share a namespace, and each namespace is looked up once.
func (t Tenants) Members() func(ctx context.Context, namespace string) (string, error) {
	known := map[string]string{}
	return func(ctx context.Context, namespace string) (string, error) {
		if tenant, ok := known[namespace]; ok {
			return tenant, nil
		}
		tenant, err := t.Member(ctx, namespace)
		if err != nil {
			return "", fmt.Errorf("find the tenant of namespace %s: %w", namespace, err)
		}
		known[namespace] = tenant
		return tenant, nil
	}
}

func (t Tenants) namespace(ctx context.Context, name string) (tenancy.Namespace, error) {
	n := tenancy.Namespace{Name: name}
	object, err := fetch.Optional(ctx, t.Reader, types.NamespacedName{Name: name}, &corev1.Namespace{})
	if err != nil {
		return n, err
	}
	if object != nil {
		n.Labels = object.Labels
	}
	key := types.NamespacedName{Namespace: name, Name: v1alpha1.DefaultTenantConfigName}
	if n.Config, err = fetch.Optional(ctx, t.Reader, key, &v1alpha1.MaasTenantConfig{}); err != nil {
		return n, err
	}
	if n.Config == nil || n.Config.Labels[v1alpha1.LabelManagedByAITenant] != "true" {
		n.Legacy, err = fetch.Optional(ctx, t.Reader, key, &v1alpha1.Tenant{})
		return n, err
	}
	owner := types.NamespacedName{
		Namespace: n.Config.Annotations[v1alpha1.AnnotationAITenantNamespace],
		Name:      n.Config.Annotations[v1alpha1.AnnotationAITenantName],
	}
	if owner.Namespace != "" && owner.Name != "" {
		n.Owner, err = fetch.Optional(ctx, t.Reader, owner, &v1alpha1.AITenant{})
	}
	return n, err
}
