// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
)

// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=aitenants;maastenantconfigs,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=tenants,verbs=get;list;watch

// bootstrap creates the default AITenant, once in the life of a Config: one that an
// administrator deleted afterwards is not wanted. It is marked as created only when
// it is ready, so that one that got stuck can be deleted to be made anew.
func (r *Reconciler) bootstrap(ctx context.Context, s *scope) error {
	if s.tenant == nil {
		return r.createDefaultTenant(ctx, s)
	}
	errs := []error{r.link(ctx, s, s.tenant)}
	config, err := fetch.Optional(ctx, r.Client, r.defaultConfigKey(), &v1alpha1.MaasTenantConfig{})
	if err == nil && config != nil {
		err = r.link(ctx, s, config)
	}
	errs = append(errs, err)
	if s.tenantActive() {
		errs = append(errs, r.annotateConfig(ctx, s, v1alpha1.AnnotationDefaultAITenantBootstrapped, yes))
	}
	return errors.Join(errs...)
}

// tenantActive tells whether the default AITenant is there to stay and works. One
// that belongs to a former Config is about to be collected with it.
func (s *scope) tenantActive() bool {
	t := s.tenant
	return t != nil && t.DeletionTimestamp == nil && t.Status.Phase != v1alpha1.AITenantPhaseTerminating &&
		t.Status.ObservedGeneration == t.Generation &&
		meta.IsStatusConditionTrue(t.Status.Conditions, string(v1alpha1.ConditionReady)) && !s.inherited(t)
}

// inherited holds for an object of a Config that was here before this one: the
// garbage collector is about to delete it.
func (s *scope) inherited(object client.Object) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return refersToConfig(ref) && ref.UID != s.config.UID
	})
}

// createDefaultTenant asks the API server itself whether the default AITenant is
// still wanted: the cache may not know yet that it was here.
func (r *Reconciler) createDefaultTenant(ctx context.Context, s *scope) error {
	if s.config.Annotations[v1alpha1.AnnotationDefaultAITenantBootstrapped] == yes {
		return nil
	}
	config, err := fetch.Optional(ctx, r.APIReader, configKey(), &v1alpha1.Config{})
	switch {
	case err != nil:
		return err
	case config == nil || config.UID == "" || config.UID != s.config.UID || config.DeletionTimestamp != nil,
		config.Spec.ManagementState == v1alpha1.ManagementStateRemoved:
		s.again = waitInterval // The cache is about to show it.
		return nil
	case config.Annotations[v1alpha1.AnnotationDefaultAITenantBootstrapped] == yes:
		return nil
	}
	tenant, legacy, err := r.defaultTenant(ctx, config)
	if err != nil {
		return err
	}
	err = r.Client.Create(ctx, tenant, client.FieldOwner(v1alpha1.FieldOwner))
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsInvalid(err) && legacy:
		key := r.defaultConfigKey()
		s.fail(v1alpha1.ReasonLegacyTenantMigrationFailed, fmt.Sprintf("AITenant %s cannot be made of Tenant %s: correct spec.externalOIDC and spec.gatewayRef.name of the Tenant, or create the AITenant yourself.", tenant.Name, key))
		return nil
	case apierrors.IsForbidden(err): // Or refused by admission, for instance because the Gateway is another tenant's.
		s.fail(v1alpha1.ReasonReconcileFailed, fmt.Sprintf("AITenant %s is refused: %v.", client.ObjectKeyFromObject(tenant), err))
	}
	if err != nil {
		return fmt.Errorf("create AITenant %s: %w", client.ObjectKeyFromObject(tenant), err)
	}
	ctrl.LoggerFrom(ctx).Info("Created the default AITenant", "AITenant", client.ObjectKeyFromObject(tenant).String(), "migrated", legacy)
	return nil
}

// defaultTenant is the default AITenant, with what a Tenant of an earlier release says
// about its gateway and its provider; the second result tells whether there is one.
// The namespace of that gateway is not carried over: one that differs from the
// operator's shows when the AITenant is reconciled.
func (r *Reconciler) defaultTenant(ctx context.Context, config *v1alpha1.Config) (*v1alpha1.AITenant, bool, error) {
	key := r.defaultTenantKey()
	tenant := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name,
		OwnerReferences: []metav1.OwnerReference{ownedBy(config)},
	}}
	tenant.Spec.Gateway = &v1alpha1.AITenantGatewayRef{Name: r.Settings.GatewayName}
	legacy, err := fetch.Optional(ctx, r.APIReader, r.defaultConfigKey(), &v1alpha1.Tenant{})
	if err != nil || legacy == nil {
		return tenant, false, err
	}
	tenant.Spec.OIDC = legacy.Spec.ExternalOIDC.DeepCopy()
	if ref := legacy.Spec.GatewayRef; ref != nil && ref.Name != "" {
		tenant.Spec.Gateway.Name = ref.Name
	}
	return tenant, true, nil
}

// link makes the Config one of the owners of an object, beside all others.
func (r *Reconciler) link(ctx context.Context, s *scope, object client.Object) error {
	if object.GetDeletionTimestamp() != nil || slices.ContainsFunc(object.GetOwnerReferences(), refersToConfig) {
		return nil
	}
	after, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return nil
	}
	after.SetOwnerReferences(append(after.GetOwnerReferences(), ownedBy(s.config)))
	patch := client.MergeFromWithOptions(object, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, after, patch, client.FieldOwner(v1alpha1.FieldOwner)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("make the Config an owner of %s: %w", client.ObjectKeyFromObject(object), err)
	}
	return nil
}

// ownedBy is a reference to the Config that lets it be deleted first.
func ownedBy(config *v1alpha1.Config) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindConfig, Name: config.Name, UID: config.UID,
	}
}
