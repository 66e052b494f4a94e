// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenantconfig keeps what runs for a tenant: its maas-api with the rights,
// the route and the certificate it needs, and the policies of maas-api and of the
// tenant's Gateway. Its unit of work is the MaasTenantConfig. What should exist is
// decided in internal/desired/tenant, what the status says in
// internal/desired/tenantstatus. Tenants themselves belong to package aitenant,
// objects that tenants share to package platform.
//
// # How nothing leaks
//
// Before an object is written that is not in status.inventory, the inventory is
// written with it. What is no longer wanted is removed last, and only then taken off
// the inventory. So a crash between any two writes leaves an inventory that names
// everything there is, and the next reconcile ends what this one began. Removal works
// from the inventory and from the labels on the objects, never by rendering.
package tenantconfig

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
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
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
)

// Reconciler keeps MaasTenantConfigs.
type Reconciler struct {
	// Client reads from the cache, unstructured objects included, and writes.
	Client client.Client
	// APIReader reads past the cache: the Secret with the database's address, which is
	// never kept in memory, what is still there while a tenant is taken down, and how
	// large the configuration of its Gateway is.
	APIReader client.Reader
	// Applier writes and deletes rendered objects.
	Applier *apply.Applier
	// Engine renders the templates.
	Engine *render.Engine
	// Tenants finds the tenant of a config's namespace.
	Tenants lookup.Tenants
	// APIs knows which of the kinds of others are installed.
	APIs *facts.OptionalAPIs
	// Settings are the manager's.
	Settings tenant.Settings
	// Events records transitions.
	Events events.EventRecorder
	// Clock tells how long Kuadrant has been busy.
	Clock clock.PassiveClock
	// Metrics counts and measures; nil for none.
	Metrics *metrics.Metrics
	// MaxConcurrentReconciles is the number of tenants worked on at once.
	MaxConcurrentReconciles int

	weights weights
	guards  guards
}

// Reconcile brings the services of one tenant up to date, or removes them.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := r.newScope(ctx, req.NamespacedName)
	if s == nil {
		return ctrl.Result{}, err
	}
	err = s.report(r.run(ctx, s))
	result, err := trigger.Outcome(ctx, errors.Join(err, r.finish(ctx, s)))
	if err == nil && result.RequeueAfter == 0 {
		result.RequeueAfter = s.again
	}
	return result, err
}

// phase is one step of a reconcile.
type phase func(context.Context, *scope) error

// run takes the phases in order until one fails or ends the work. What is being
// deleted comes first: nothing that was learnt since may keep it here.
func (r *Reconciler) run(ctx context.Context, s *scope) error {
	phases := []phase{
		r.own, r.hold, r.manage, r.anchor, r.remove, r.locate, r.guard, r.require, r.provide,
		r.compute, r.write, r.open, r.prune, r.observe, r.retire,
	}
	if s.config.DeletionTimestamp != nil {
		phases = []phase{r.takeDown}
	}
	for _, phase := range phases {
		if err := phase(ctx, s); err != nil || s.stopped {
			return err
		}
	}
	return nil
}

// newScope reads the config; nil without an error means that it is gone.
func (r *Reconciler) newScope(ctx context.Context, key types.NamespacedName) (*scope, error) {
	config := &v1alpha1.MaasTenantConfig{}
	if err := r.Client.Get(ctx, key, config); err != nil {
		if apierrors.IsNotFound(err) {
			r.forgetWeight(key)
			r.guards.forget(key)
			return nil, nil //nolint:nilnil // Documented: the config is gone.
		}
		return nil, fmt.Errorf("read MaasTenantConfig %s: %w", key, err)
	}
	return newScope(config), nil
}
