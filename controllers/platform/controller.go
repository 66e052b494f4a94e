// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package platform keeps what all tenants share: the Config that stands for the
// installation, the namespaces, the default AITenant at its first start, and the
// shared objects; and it takes everything down when asked to. Which shared objects
// are wanted is decided in internal/desired/platform. What an AITenant needs, it
// leaves to the controllers of tenants: it only creates and deletes AITenants.
package platform

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
	"github.com/opendatahub-io/maas-operator/internal/render"
)

// Settings are the manager's.
type Settings struct {
	// ControllerNamespace is where the operator runs, InfraNamespace where maas-api
	// does. They may be the same.
	ControllerNamespace, InfraNamespace string
	// AITenantNamespace is that of AITenants, DefaultTenantNamespace that of the
	// default tenant's subscriptions.
	AITenantNamespace, DefaultTenantNamespace string
	// GatewayNamespace is where Gateways are, GatewayName the default tenant's.
	GatewayNamespace, GatewayName string
	// MonitoringNamespace is where metrics are read from; empty means nowhere.
	MonitoringNamespace string
	// AuthorinoNamespaces are those Authorino may run in; empty means the usual ones.
	AuthorinoNamespaces []string
	// Platform is "openshift" or "kubernetes".
	Platform string
	// PayloadProcessing holds when an image for payload processing is configured.
	PayloadProcessing bool
	// MaintainInterval is how often everything is looked at without an event; 0 means
	// never.
	MaintainInterval time.Duration
}

// Reconciler keeps the installation. There is one key, the Config's. It does nothing
// while the operator's own Deployment does not exist: whoever runs the program
// without one wants the other controllers only.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// APIReader reads past the cache.
	APIReader client.Reader
	// Applier writes and deletes the shared objects.
	Applier *apply.Applier
	// Engine renders the templates.
	Engine *render.Engine
	// APIs knows which of the kinds of others are installed.
	APIs *facts.OptionalAPIs
	// Settings are the manager's.
	Settings Settings
	// Events records transitions.
	Events events.EventRecorder
	// Metrics counts and measures; nil for none.
	Metrics *metrics.Metrics
}

// phase is one step of a reconcile.
type phase func(context.Context, *scope) error

// Reconcile brings the installation to the state that the Config and the operator's
// Deployment ask for.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	s, err := r.newScope(ctx)
	if s == nil {
		return ctrl.Result{}, err
	}
	err = s.report(r.run(ctx, s))
	if err = errors.Join(err, r.finish(ctx, s)); err != nil {
		return trigger.Outcome(ctx, err)
	}
	return ctrl.Result{RequeueAfter: s.next(r.Settings.MaintainInterval)}, nil
}

// run takes the phases that lead to a standing installation in order, until one fails
// or ends the work; then those of which none depends on another, all of them: the
// default tenant must not wait for an object that the cluster refuses.
func (r *Reconciler) run(ctx context.Context, s *scope) error {
	for _, step := range []phase{r.release, r.ensureConfig, r.tearDown, r.ensureNamespaces} {
		if err := step(ctx, s); err != nil || s.stopped {
			return err
		}
	}
	var errs []error
	for _, step := range []phase{r.share, r.bootstrap, r.retireLegacyAPI, r.retireLegacyRights, r.retireLegacyMonitoring} {
		errs = append(errs, step(ctx, s))
	}
	return errors.Join(errs...)
}
