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
	s := &scope{subscription: subscription, before: subscription.DeepCopy()}
	if subscription.DeletionTimestamp == nil {
		if err := r.observe(ctx, s); err != nil {
			return ctrl.Result{}, err // What could not be read says nothing about the object.
		}
		s.summarise()
		if _, err := conditions.PatchStatus(ctx, r.Client, s.before, subscription); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	// The historical finalizer is evidence for the identity: it goes last.
	err := finalizer.Drop(ctx, r.Client, subscription, v1alpha1.FinalizerSubscriptionCleanup)
	return ctrl.Result{}, client.IgnoreNotFound(err)
}
