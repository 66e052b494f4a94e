// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externalmodel keeps what is made for ExternalModels of this operator's own API
// group and of that of the inference gateway, which wins: a Service, a ServiceEntry and a DestinationRule for the provider, and the
// HTTPRoute by which the default tenant's Gateway passes requests on. What should exist
// and what the status says is decided in internal/desired/external. It is the only writer
// of these objects, however many tenants there are.
//
// The HTTPRoute begins without backends, see internal/desired/opening. Of the Secret with
// a provider's API key it looks at the labels, and at whether there is something under
// the key; nothing of it is kept.
package externalmodel

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/finalizer"
	"github.com/opendatahub-io/maas-operator/internal/guard"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
)

const (
	// missingAgain is when a Secret that is not as it should be is looked at again, and
	// credentialAgain when one that is: Secrets are not watched, for that takes the right
	// to read all of them.
	missingAgain    = time.Minute
	credentialAgain = 10 * time.Minute
	// handOnAgain is when it is looked again whether another model has taken over what a
	// host's models share. As a rule a watch tells before.
	handOnAgain = 2 * time.Second
	// handOnPatience is how long the deletion of a model waits for that.
	handOnPatience = time.Minute
)

// Reconciler keeps what is made for ExternalModels.
type Reconciler struct {
	// Client reads from the cache, unstructured objects included, and writes.
	Client client.Client
	// APIReader reads past the cache: Secrets, which are never kept in memory, and what
	// Kuadrant has told the Gateway.
	APIReader client.Reader
	// Applier writes and deletes rendered objects.
	Applier *apply.Applier
	// Engine renders the templates.
	Engine *render.Engine
	// Tenants finds the default tenant's Gateway.
	Tenants lookup.Tenants
	// APIs knows which of the kinds of others are installed.
	APIs *facts.OptionalAPIs
	// ClusterDomain is what names of the cluster's Services end in; empty means
	// cluster.local.
	ClusterDomain string
	// PayloadProcessing tells that tenants have it: what puts providers' API keys in.
	PayloadProcessing bool
	// Events records transitions.
	Events events.EventRecorder
	// Clock tells for how long a route is guarded.
	Clock clock.PassiveClock
	// Metrics counts and measures; nil for none.
	Metrics *metrics.Metrics
	// MaxConcurrentReconciles is the number of models worked on at once.
	MaxConcurrentReconciles int

	// guards remember since when routes are seen guarded, configured which Gateways
	// Kuadrant has configured.
	guards     guard.Sightings
	configured guard.Configured
}

// Reconcile brings the objects of one ExternalModel up to date, or hands on what others
// depend on when it is being deleted.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := r.newScope(ctx, req.NamespacedName)
	if s == nil {
		return ctrl.Result{}, err
	}
	if s.model.DeletionTimestamp != nil {
		return s.outcome(ctx, r.takeDown(ctx, s))
	}
	if err = s.report(r.run(ctx, s)); err == nil {
		err = s.report(r.observe(ctx, s))
	}
	return s.outcome(ctx, errors.Join(err, r.finish(ctx, s, err), r.settle(ctx, s)))
}

// run takes the phases in order until one fails or ends the work.
func (r *Reconciler) run(ctx context.Context, s *scope) error {
	for _, phase := range []func(context.Context, *scope) error{
		r.hold, r.survey, r.readCredential, r.judge, r.locate, r.askGranted, r.gather, r.compute, r.write, r.retire, r.open, r.prune,
	} {
		if err := phase(ctx, s); err != nil || s.stopped {
			return err
		}
	}
	return nil
}

// newScope reads the models of a name; nil without an error means that they are gone.
func (r *Reconciler) newScope(ctx context.Context, key types.NamespacedName) (*scope, error) {
	of, found, err := r.subjectOf(ctx, key)
	if err != nil {
		return nil, err
	}
	if !found {
		r.guards.Forget(key)
		return nil, nil //nolint:nilnil // Documented: they are gone.
	}
	return newScope(of), nil
}

// hold comes before anything is written that others may depend on.
func (r *Reconciler) hold(ctx context.Context, s *scope) error {
	return finalizer.Add(ctx, r.Client, s.object, v1alpha1.FinalizerExternalModelCleanup)
}

// takeDown lets the model go once others have what they shared with it. The rest is left
// to the garbage collector. A model that nobody can take over from does not stay for
// ever.
func (r *Reconciler) takeDown(ctx context.Context, s *scope) error {
	if err := r.survey(ctx, s); err != nil {
		return err
	}
	ready, err := r.handedOnAll(ctx, s)
	if err != nil {
		return err
	}
	if late := r.Clock.Since(s.model.DeletionTimestamp.Time) >= handOnPatience; !ready && !late {
		s.lookAgain(handOnAgain)
		return nil
	}
	r.guards.Forget(s.key())
	err = finalizer.Drop(ctx, r.Client, s.object, v1alpha1.FinalizerExternalModelCleanup)
	if other := s.other(); other != nil && err == nil {
		return finalizer.Drop(ctx, r.Client, other, v1alpha1.FinalizerExternalModelCleanup)
	}
	return err
}
