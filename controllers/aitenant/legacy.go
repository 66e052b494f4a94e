// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"context"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// migrateLegacy fills the spec of the AITenant from the Tenant of an earlier release,
// and remembers the Tenant for what follows. It runs after the placement and before
// the Gateway is known. A written spec comes back by [scope.stored].
func (r *Reconciler) migrateLegacy(ctx context.Context, s *scope) error { return nil }

// fillConfig fills the MaasTenantConfig, which is about to be written, from the Tenant
// that migrateLegacy has found.
func (s *scope) fillConfig(config *v1alpha1.MaasTenantConfig) {}

// retireLegacy removes the Tenant after its settings were verified in the stored
// config, right after that was written.
func (r *Reconciler) retireLegacy(ctx context.Context, s *scope) error { return nil }
