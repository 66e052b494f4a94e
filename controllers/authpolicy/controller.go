// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authpolicy tells on each MaaSAuthPolicy whether the gateway enforces
// it. It writes only that status: the policies themselves are generated per
// model by package modelpolicy.
package authpolicy

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

// Reconciler keeps the status of MaaSAuthPolicies.
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

// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maasauthpolicies,verbs=list;watch;patch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maasauthpolicies/status,verbs=patch
// +kubebuilder:rbac:groups=kuadrant.io,resources=authpolicies,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller and its watches; that of the
// generated policies as soon as the cluster serves their kind.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, apis *facts.OptionalAPIs) error {
	kind := contributor.Kind[*v1alpha1.MaaSAuthPolicy]{
		Name:       "authpolicy",
		Kind:       v1alpha1.KindMaaSAuthPolicy,
		New:        func() *v1alpha1.MaaSAuthPolicy { return &v1alpha1.MaaSAuthPolicy{} },
		NewList:    func() client.ObjectList { return &v1alpha1.MaaSAuthPolicyList{} },
		Index:      index.AuthPolicyByModel,
		Policies:   trigger.AuthPolicies,
		PolicyName: model.AuthPolicyName,
		Finalizer:  v1alpha1.FinalizerAuthPolicyCleanup,
		Status:     func(p *v1alpha1.MaaSAuthPolicy) any { return &p.Status },
		Conditions: func(p *v1alpha1.MaaSAuthPolicy) *[]metav1.Condition { return &p.Status.Conditions },
		Standing: func(p *v1alpha1.MaaSAuthPolicy) metrics.Standing {
			return metrics.Standing{Phase: p.Status.Phase, ObservedGeneration: p.Status.ObservedGeneration}
		},
	}
	return contributor.New(kind, r, r.Client, r.Events, r.Metrics).SetupWithManager(ctx, mgr, apis, r.MaxConcurrentReconciles)
}
