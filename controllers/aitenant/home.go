// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
)

// ensureNamespace makes the tenant's namespace, or takes one over that somebody has
// prepared.
func (r *Reconciler) ensureNamespace(ctx context.Context, s *scope) error {
	ns, err := fetch.Optional(ctx, r.Client, types.NamespacedName{Name: s.namespace}, &corev1.Namespace{})
	if err != nil {
		return apperr.Unchecked(v1alpha1.ReasonTenantNamespaceFailed, err)
	}
	if ns == nil {
		if ns, err = createOrRead(ctx, r, aitenant.NewNamespace(s.tenant, s.namespace), &corev1.Namespace{}); err != nil {
			return fmt.Errorf("create Namespace %s: %w", s.namespace, err)
		}
	}
	switch {
	case ns.DeletionTimestamp != nil || ns.Status.Phase == corev1.NamespaceTerminating:
		return apperr.Userf(v1alpha1.ReasonTenantNamespaceFailed, "Namespace %s is being deleted. It is made anew when it is gone.", ns.Name)
	case aitenant.MarkedFor(ns, s.tenant) == aitenant.Others:
		holder := aitenant.HolderOf(&metav1.ObjectMeta{Annotations: ns.Annotations})
		return apperr.Userf(v1alpha1.ReasonTenantNamespaceFailed,
			"Namespace %s is annotated as that of AITenant %s: if that is wrong, remove the annotations %s and %s from it.",
			ns.Name, holder.AITenant, v1alpha1.AnnotationAITenantName, v1alpha1.AnnotationAITenantNamespace)
	}
	marked := ns.DeepCopy()
	aitenant.MarkNamespace(marked, s.tenant)
	return patch(ctx, r, ns, marked)
}

// ensureConfig makes the tenant's MaasTenantConfig, or takes one over. Its settings are
// the users'; those of an earlier release are filled in once.
func (r *Reconciler) ensureConfig(ctx context.Context, s *scope) error {
	config, err := fetch.Optional(ctx, r.Client, s.configKey(), &v1alpha1.MaasTenantConfig{})
	if err != nil {
		return apperr.Unchecked(v1alpha1.ReasonTenantConfigReconcileFailed, err)
	}
	if config == nil {
		fresh := aitenant.NewConfig(s.tenant, s.namespace)
		s.fillConfig(fresh)
		config, err = createOrRead(ctx, r, fresh, &v1alpha1.MaasTenantConfig{})
		switch {
		case apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			s.stop(v1alpha1.ReasonTenantNamespacePending, "The tenant's namespace is not there yet.")
			s.lookAgain(soon)
			return nil
		case err != nil:
			return fmt.Errorf("create MaasTenantConfig %s: %w", s.configKey(), err)
		}
	}
	switch {
	case config.DeletionTimestamp != nil:
		return apperr.Userf(v1alpha1.ReasonTenantConfigReconcileFailed, "MaasTenantConfig %s is being deleted. It is made anew when it is gone.", s.configKey())
	case aitenant.MarkedFor(config, s.tenant) == aitenant.Others:
		holder := aitenant.HolderOf(&metav1.ObjectMeta{Annotations: config.Annotations})
		return apperr.Userf(v1alpha1.ReasonTenantConfigReconcileFailed,
			"MaasTenantConfig %s is annotated as that of AITenant %s: if that is wrong, remove the annotations %s and %s from it.",
			s.configKey(), holder.AITenant, v1alpha1.AnnotationAITenantName, v1alpha1.AnnotationAITenantNamespace)
	}
	s.config = config.DeepCopy()
	aitenant.MarkConfig(s.config, s.tenant)
	s.fillConfig(s.config)
	return patch(ctx, r, config, s.config)
}

// createOrRead creates an object and returns it. When it exists already, unknown to the
// cache, that one is read into the empty object and returned.
func createOrRead[T client.Object](ctx context.Context, r *Reconciler, object, empty T) (T, error) {
	err := r.Client.Create(ctx, object, client.FieldOwner(v1alpha1.FieldOwner))
	if !apierrors.IsAlreadyExists(err) {
		return object, err //nolint:wrapcheck // The caller names the object.
	}
	return empty, r.APIReader.Get(ctx, client.ObjectKeyFromObject(object), empty) //nolint:wrapcheck // As above.
}

// patch sends what differs, under the condition that the object has not moved on. The
// second object gets the answer.
func patch[T client.Object](ctx context.Context, r *Reconciler, before, after T) error {
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	change := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, after, change, client.FieldOwner(v1alpha1.FieldOwner)); err != nil {
		return fmt.Errorf("patch %s %s: %w", fetch.KindOf(before), client.ObjectKeyFromObject(before), err)
	}
	return nil
}

// ensureRoles keeps the Roles of the tenant's administrators. Who gets them is theirs to
// say: there is never a RoleBinding.
func (r *Reconciler) ensureRoles(ctx context.Context, s *scope) error {
	roles, err := r.Engine.RenderAll(tenant.AdminRoles(tenant.RolesInput{AITenant: s.key(), TenantNamespace: s.namespace}))
	if err != nil {
		return fmt.Errorf("render the Roles of AITenant %s: %w", s.key(), err)
	}
	for _, role := range roles {
		_, err := r.Applier.Apply(ctx, role)
		if conflict, ok := errors.AsType[*apply.ConflictError](err); ok {
			s.lookAgain(later) // What is not ours is not watched.
			return apperr.Userf(v1alpha1.ReasonRBACReconcileFailed, "Role %s/%s is not the operator's: remove it.", conflict.Key.Namespace, conflict.Key.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitConfig says whether what runs for the tenant works.
func (r *Reconciler) awaitConfig(_ context.Context, s *scope) error {
	ready := meta.FindStatusCondition(s.config.Status.Conditions, string(v1alpha1.ConditionReady))
	switch {
	case ready == nil || ready.ObservedGeneration != s.config.Generation:
		s.stop(v1alpha1.ReasonTenantConfigNotReady, "MaasTenantConfig "+s.configKey().String()+" is being set up.")
	case ready.Status != metav1.ConditionTrue:
		s.stop(v1alpha1.ReasonTenantConfigNotReady,
			fmt.Sprintf("MaasTenantConfig %s is not ready (%s): see its conditions.", s.configKey(), ready.Reason))
	default:
		s.say(v1alpha1.AITenantPhaseActive, conditions.True(v1alpha1.ReasonReconciled, "The tenant is set up."))
	}
	return nil
}
