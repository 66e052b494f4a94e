// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
)

// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=tenants,verbs=list;watch;patch;delete

// migrateLegacy fills the spec of the AITenant from the Tenant of an earlier release,
// and remembers the Tenant for what follows. It runs after the placement and before
// the Gateway is known. A written spec comes back by [scope.stored].
//
// It also holds the tenant back while keys of an earlier tenant of its name may work:
// from here on there would be a maas-api that serves them.
func (r *Reconciler) migrateLegacy(ctx context.Context, s *scope) error {
	if err := r.awaitFormerKeys(ctx, s); err != nil || s.stopped {
		return err
	}
	legacy, err := fetch.Optional(ctx, r.Client, s.configKey(), &v1alpha1.Tenant{})
	if err != nil || legacy == nil {
		return apperr.Unchecked(v1alpha1.ReasonLegacyTenantMigrationFailed, err)
	}
	s.legacy = legacy
	filled := s.tenant.DeepCopy()
	changed, err := aitenant.FillFromLegacy(filled, legacy, r.legacyPlace(s))
	if err != nil || !changed {
		return err
	}
	if err := patch(ctx, r, s.tenant, filled); err != nil {
		return err
	}
	s.stored(filled)
	return nil
}

func (r *Reconciler) legacyPlace(s *scope) aitenant.LegacyPlace {
	return aitenant.LegacyPlace{Gateway: r.Settings.Tenancy.Gateway, Default: aitenant.IsDefault(s.tenant.Name, r.Settings.Tenancy)}
}

// fillConfig fills the MaasTenantConfig, which is about to be written, from the Tenant
// that migrateLegacy has found.
func (s *scope) fillConfig(config *v1alpha1.MaasTenantConfig) {
	if s.legacy != nil && !aitenant.MarkedForAnother(s.legacy, s.tenant) {
		aitenant.FillConfigFromLegacy(config, s.legacy)
	}
}

// retireLegacy removes the Tenant after its settings were verified in the stored
// config. It runs after the config was written. A Tenant that says something else than
// what is in force stays, without its finalizers: deleting it is a decision that is
// left to people, and then nothing holds it back.
func (r *Reconciler) retireLegacy(ctx context.Context, s *scope) error {
	if s.legacy == nil {
		s.legacyGone()
		return nil
	}
	marked := s.legacy.DeepCopy()
	if aitenant.MarkLegacy(marked, s.tenant) {
		if err := patch(ctx, r, s.legacy, marked); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	if marked.DeletionTimestamp != nil {
		return nil
	}
	err := aitenant.WhyKept(marked, aitenant.LegacyResult{
		AITenant: s.tenant, Config: s.config, Namespace: s.namespace, Place: r.legacyPlace(s),
	})
	if kept, ok := apperr.AsUser(err); ok {
		s.set(v1alpha1.ConditionLegacyTenantRetired, conditions.False(kept.Reason, kept.Message))
		return nil
	}
	if err != nil {
		return err
	}
	uid, version := marked.UID, marked.ResourceVersion
	err = r.Client.Delete(ctx, marked, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete Tenant %s: %w", s.configKey(), err)
	}
	s.legacyRetired()
	return nil
}

// legacyGone ends the matter of a Tenant that was kept until somebody deleted it.
func (s *scope) legacyGone() {
	if meta.IsStatusConditionPresentAndEqual(s.tenant.Status.Conditions, string(v1alpha1.ConditionLegacyTenantRetired), metav1.ConditionFalse) {
		s.legacyRetired()
	}
}

func (s *scope) legacyRetired() {
	s.set(v1alpha1.ConditionLegacyTenantRetired, conditions.True(v1alpha1.ReasonLegacyTenantMigrated,
		"Tenant "+s.configKey().String()+" is removed: the AITenant and its MaasTenantConfig say what it said."))
}
