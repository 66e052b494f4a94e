// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"context"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/finalizer"
)

// place decides where the tenant's objects go, and whether it may have any.
func (r *Reconciler) place(s *scope) {
	s.namespace = r.Settings.Tenancy.TenantNamespace(s.tenant.Name)
}

// run takes the phases in order until one fails or ends the work.
func (r *Reconciler) run(ctx context.Context, s *scope) error {
	if s.tenant.DeletionTimestamp != nil {
		return r.delete(ctx, s)
	}
	for _, phase := range []func(context.Context, *scope) error{r.ensureFinalizer, r.migrateLegacy, r.retireLegacy} {
		if err := phase(ctx, s); err != nil || s.stopped {
			return err
		}
	}
	return nil
}

// ensureFinalizer comes before anything is made for the tenant.
func (r *Reconciler) ensureFinalizer(ctx context.Context, s *scope) error {
	return finalizer.Add(ctx, r.Client, s.tenant, v1alpha1.FinalizerAITenantCleanup)
}
