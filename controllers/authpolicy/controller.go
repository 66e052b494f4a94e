// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authpolicy tells on each MaaSAuthPolicy whether the gateway enforces
// it. It writes only that status: the policies themselves are generated per
// model by package modelpolicy.
package authpolicy

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

// Reconciler keeps the status of MaaSAuthPolicies.
type Reconciler struct {
	// Client reads from the cache and writes statuses.
	Client client.Client
	// Tenants finds the tenants of namespaces and models.
	Tenants lookup.Tenants
	// MaxConcurrentReconciles is the number of objects worked on at once.
	MaxConcurrentReconciles int
}

// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maasauthpolicies,verbs=list;watch;patch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maasauthpolicies/status,verbs=patch
// +kubebuilder:rbac:groups=kuadrant.io,resources=authpolicies,verbs=list;watch

// Reconcile brings the status of one MaaSAuthPolicy up to date.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	policy := &v1alpha1.MaaSAuthPolicy{}
	if err := r.Client.Get(ctx, req.NamespacedName, policy); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read MaaSAuthPolicy %s: %w", req, err)
	}
	if policy.DeletionTimestamp == nil {
		if err := r.report(ctx, policy); err != nil {
			return trigger.Outcome(ctx, client.IgnoreNotFound(err))
		}
	}
	// Modelpolicy rebuilds the models concerned without an object that goes.
	err := finalizer.Drop(ctx, r.Client, policy, v1alpha1.FinalizerAuthPolicyCleanup)
	return trigger.Outcome(ctx, client.IgnoreNotFound(err))
}

// report judges the object and writes its status, in one patch, and only when
// it changed.
func (r *Reconciler) report(ctx context.Context, policy *v1alpha1.MaaSAuthPolicy) error {
	before := policy.DeepCopy()
	references, foreign, err := r.observe(ctx, policy)
	if err != nil {
		return err
	}
	writeStatus(policy, references)
	writeConflicts(policy, foreign)
	_, err = conditions.PatchStatus(ctx, r.Client, before, policy)
	return err
}
