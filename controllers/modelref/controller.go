// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package modelref keeps the status of MaaSModelRefs: which HTTPRoute serves the
// model, under which URLs, whether a request would be answered, and whether the
// model is governed. On deletion it removes the policies generated for the model.
// It reads facts and writes what internal/desired/modelstatus decides; the
// generated policies themselves belong to package modelpolicy, whose conditions on
// the same status it leaves alone.
package modelref

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/finalizer"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
)

// Reconciler keeps MaaSModelRefs.
type Reconciler struct {
	// Client reads from the cache, unstructured objects included, and writes.
	Client client.Client
	// Applier deletes generated policies.
	Applier *apply.Applier
	// Tenants finds the tenant of a model and of what refers to it.
	Tenants lookup.Tenants
	// APIs knows which of the kinds this controller reads are installed.
	APIs *facts.OptionalAPIs
	// Metrics counts and measures; nil for none.
	Metrics *metrics.Metrics
	// Events records transitions.
	Events events.EventRecorder
	// MaxConcurrentReconciles is the number of models worked on at once.
	MaxConcurrentReconciles int
}

// Reconcile brings the status of one MaaSModelRef up to date, or, when it is being
// deleted, removes what was generated for it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := r.newScope(ctx, req.NamespacedName)
	if s == nil {
		return ctrl.Result{}, err
	}
	if s.model.DeletionTimestamp != nil {
		return trigger.Outcome(ctx, r.cleanUp(ctx, s))
	}
	if s.facts.SpecMissing {
		return r.finish(ctx, s)
	}
	for _, phase := range r.phases() {
		// A fact that could not be read says nothing about the model: the status stays.
		if err := phase(ctx, s); err != nil {
			return trigger.Outcome(ctx, err)
		}
	}
	return r.finish(ctx, s)
}

// newScope reads the model; nil without an error means that it is gone.
func (r *Reconciler) newScope(ctx context.Context, key types.NamespacedName) (*scope, error) {
	model := &v1alpha1.MaaSModelRef{}
	if err := r.Client.Get(ctx, key, model); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // Documented: the model is gone.
		}
		return nil, fmt.Errorf("read MaaSModelRef %s: %w", key, err)
	}
	return newScope(model), nil
}

// ensureFinalizer comes before anything is generated for the model: the route in
// the status is what modelpolicy waits for.
func (r *Reconciler) ensureFinalizer(ctx context.Context, s *scope) error {
	return finalizer.Add(ctx, r.Client, s.model, v1alpha1.FinalizerModelCleanup)
}
