// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package subscription tells on each MaaSSubscription whether its limits are
// enforced, and decides once how its requests are matched to limits. It writes
// only that status: the limits themselves are generated per model by package
// modelpolicy.
package subscription

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/contributor"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
)

// Reconciler keeps the status of MaaSSubscriptions.
type Reconciler struct {
	// Client reads from the cache and writes statuses.
	Client client.Client
	// Tenants finds the tenants of namespaces and models.
	Tenants lookup.Tenants
	// Events records transitions.
	Events events.EventRecorder
	// Metrics counts and measures; nil for none.
	Metrics *metrics.Metrics
	// MaxConcurrentReconciles is the number of objects worked on at once.
	MaxConcurrentReconciles int
}

// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maassubscriptions,verbs=list;watch;patch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maassubscriptions/status,verbs=patch
// +kubebuilder:rbac:groups=kuadrant.io,resources=tokenratelimitpolicies,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller and its watches; that of the
// generated policies as soon as the cluster serves their kind.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, apis *facts.OptionalAPIs) error {
	kind := contributor.Kind[*v1alpha1.MaaSSubscription]{
		Name:       "subscription",
		Kind:       v1alpha1.KindMaaSSubscription,
		New:        func() *v1alpha1.MaaSSubscription { return &v1alpha1.MaaSSubscription{} },
		NewList:    func() client.ObjectList { return &v1alpha1.MaaSSubscriptionList{} },
		Index:      index.SubscriptionByModel,
		Policies:   trigger.TokenRateLimitPolicies,
		PolicyName: model.TokenRateLimitPolicyName,
		Finalizer:  v1alpha1.FinalizerSubscriptionCleanup,
		Status:     func(s *v1alpha1.MaaSSubscription) any { return &s.Status },
		Conditions: func(s *v1alpha1.MaaSSubscription) *[]metav1.Condition { return &s.Status.Conditions },
		Standing: func(s *v1alpha1.MaaSSubscription) metrics.Standing {
			return metrics.Standing{Phase: s.Status.Phase, ObservedGeneration: s.Status.ObservedGeneration}
		},
	}
	return contributor.New(kind, r, r.Client, r.Events, r.Metrics).SetupWithManager(ctx, mgr, apis, r.MaxConcurrentReconciles)
}
