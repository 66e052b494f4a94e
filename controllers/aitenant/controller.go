// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package aitenant sets tenants up and takes them down: the namespace of a tenant, its
// MaasTenantConfig, its claim on a Gateway and the Roles of its administrators. What
// runs for a tenant belongs to package tenantconfig, which works from the
// MaasTenantConfig. The Gateway itself is never written.
package aitenant

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// Settings are what the manager was started with.
type Settings struct {
	// Tenancy says where tenants are and which Gateway the default one has.
	Tenancy tenancy.Settings
	// Tenant are the settings of the tenants' objects.
	Tenant tenant.Settings
}

// Reconciler keeps AITenants.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// APIReader reads past the cache.
	APIReader client.Reader
	// Applier writes and deletes rendered objects.
	Applier *apply.Applier
	// Engine renders the templates.
	Engine *render.Engine
	// APIs knows whether Gateways are installed.
	APIs *facts.OptionalAPIs
	// Settings are the manager's.
	Settings Settings
	// Events records transitions.
	Events events.EventRecorder
	// Clock tells how long a deletion takes.
	Clock clock.PassiveClock
	// DeletionTimeout is how long a deletion may take before it is forced; 0 for ever.
	DeletionTimeout time.Duration
	// Metrics counts and measures; nil for none.
	Metrics *metrics.Metrics
	// MaxConcurrentReconciles is the number of tenants worked on at once.
	MaxConcurrentReconciles int
}

// Reconcile sets one tenant up, or takes it down.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	t := &v1alpha1.AITenant{}
	if err := r.Client.Get(ctx, req.NamespacedName, t); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read AITenant %s: %w", req, err)
	}
	s := newScope(t)
	r.place(s)
	err := r.run(ctx, s)
	result, err := trigger.Outcome(ctx, errors.Join(err, r.finish(ctx, s)))
	if err == nil && result.RequeueAfter == 0 {
		result.RequeueAfter = s.again
	}
	return result, err
}
