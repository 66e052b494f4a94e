// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package modelpolicy keeps the policies that guard a model: one AuthPolicy
// and one TokenRateLimitPolicy on the model's HTTPRoute. Its unit of work is
// the MaaSModelRef, so that a burst of changes to the auth policies and
// subscriptions of a model ends in one write of each. What the policies say is
// decided in internal/desired/model; the statuses of the user-facing objects
// belong to other controllers.
package modelpolicy

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/generated"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
)

// Reconciler keeps the generated policies of models.
type Reconciler struct {
	// Client reads from the cache and writes statuses.
	Client client.Client
	// Applier writes and deletes the generated policies.
	Applier *apply.Applier
	// Engine renders the templates.
	Engine *render.Engine
	// Tenants finds the tenant of a model and of its contributors.
	Tenants lookup.Tenants
	// APIs knows whether the cluster serves the kinds of the policies.
	APIs *facts.OptionalAPIs
	// Settings are the manager's.
	Settings model.Settings
	// Events records transitions.
	Events events.EventRecorder
	// Metrics counts and measures; nil for none.
	Metrics *metrics.Metrics
	// MaxConcurrentReconciles is the number of models worked on at once.
	MaxConcurrentReconciles int

	// paced collects changes; it is made with the watches.
	paced *pacer
}

// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maasmodelrefs;maasauthpolicies;maassubscriptions;aitenants;maastenantconfigs;tenants,verbs=list;watch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maasmodelrefs/status,verbs=patch
// +kubebuilder:rbac:groups=kuadrant.io,resources=authpolicies;tokenratelimitpolicies,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=inference.opendatahub.io,resources=externalmodels,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile brings the policies of one model to their desired state.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	ref := &v1alpha1.MaaSModelRef{}
	err := r.Client.Get(ctx, req.NamespacedName, ref)
	if err != nil {
		if apierrors.IsNotFound(err) {
			// Also one that never was: whatever names a model has it looked at.
			r.paced.forget(req.NamespacedName)
			r.Metrics.ForgetPolicies(req.NamespacedName)
			return trigger.Outcome(ctx, r.sweep(ctx, req.NamespacedName))
		}
		return ctrl.Result{}, fmt.Errorf("read MaaSModelRef %s: %w", req, err)
	}
	if ref.DeletionTimestamp != nil {
		return ctrl.Result{}, nil // The finalizer of the modelref controller removes the policies.
	}
	s := &scope{ref: ref, before: ref.DeepCopy()}
	err = s.report(r.run(ctx, s))
	return trigger.Outcome(ctx, errors.Join(err, r.finish(ctx, s)))
}

// run takes the phases in order until one fails or ends the work.
func (r *Reconciler) run(ctx context.Context, s *scope) error {
	for _, phase := range []func(context.Context, *scope) error{r.require, r.gather, r.yield, r.compute, r.render, r.apply} {
		if err := phase(ctx, s); err != nil || s.stopped {
			return err
		}
	}
	return nil
}

// finish writes the conditions this controller owns, in one patch, and only
// when they changed.
func (r *Reconciler) finish(ctx context.Context, s *scope) error {
	if s.applied.Status == "" {
		return nil // A write met a newer object: nothing is known yet.
	}
	s.setConditions()
	metrics.Judge(ctx, metrics.OfCondition(s.applied.Status, v1alpha1.ConditionReason(s.applied.Reason)))
	if _, err := conditions.PatchStatus(ctx, r.Client, s.before, s.ref, client.FieldOwner(v1alpha1.FieldOwner)); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.announce(s)
	return nil
}

// sweep removes what a reconcile wrote that was under way while the model went;
// its finalizer had removed everything else. A model that never was has left
// nothing: that costs no request.
func (r *Reconciler) sweep(ctx context.Context, key types.NamespacedName) error {
	for kind, name := range map[schema.GroupVersionKind]string{
		kuadrant.AuthPolicy:           model.AuthPolicyName(key.Name),
		kuadrant.TokenRateLimitPolicy: model.TokenRateLimitPolicyName(key.Name),
	} {
		policy, err := fetch.Optional(ctx, r.Client, types.NamespacedName{Namespace: key.Namespace, Name: name}, kuadrant.New(kind))
		if err != nil {
			return err
		}
		if policy != nil {
			_, err := generated.Remove(ctx, r.Applier, key)
			return err
		}
	}
	return nil
}
