// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package subscription tells on each MaaSSubscription whether its limits are
// enforced, and decides once how its requests are matched to limits. It writes
// only that status: the limits themselves are generated per model by package
// modelpolicy.
package subscription

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/finalizer"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
)

// Reconciler keeps the status of MaaSSubscriptions.
type Reconciler struct {
	// Client reads from the cache and writes statuses.
	Client client.Client
	// Tenants finds the tenants of namespaces and models.
	Tenants lookup.Tenants
	// MaxConcurrentReconciles is the number of objects worked on at once.
	MaxConcurrentReconciles int
}

// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maassubscriptions,verbs=list;watch;patch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maassubscriptions/status,verbs=patch
// +kubebuilder:rbac:groups=kuadrant.io,resources=tokenratelimitpolicies,verbs=list;watch

// Reconcile brings the status of one MaaSSubscription up to date.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	subscription := &v1alpha1.MaaSSubscription{}
	if err := r.Client.Get(ctx, req.NamespacedName, subscription); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read MaaSSubscription %s: %w", req, err)
	}
	if subscription.DeletionTimestamp == nil {
		if err := r.report(ctx, subscription); err != nil {
			return trigger.Outcome(ctx, client.IgnoreNotFound(err))
		}
	}
	// The historical finalizer is evidence for the identity: it goes last.
	err := finalizer.Drop(ctx, r.Client, subscription, v1alpha1.FinalizerSubscriptionCleanup)
	return trigger.Outcome(ctx, client.IgnoreNotFound(err))
}

// report decides the identity, if that is still open, judges the object and
// writes its status, in one patch, and only when it changed.
func (r *Reconciler) report(ctx context.Context, subscription *v1alpha1.MaaSSubscription) error {
	before := subscription.DeepCopy()
	references, err := r.observe(ctx, subscription)
	if err != nil {
		return err
	}
	writeStatus(subscription, references)
	_, err = conditions.PatchStatus(ctx, r.Client, before, subscription)
	return err
}
