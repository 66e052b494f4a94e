// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/controllers/authpolicy"
	"github.com/opendatahub-io/maas-operator/controllers/externalmodel"
	"github.com/opendatahub-io/maas-operator/controllers/modelpolicy"
	"github.com/opendatahub-io/maas-operator/controllers/modelref"
	"github.com/opendatahub-io/maas-operator/controllers/nudge"
	"github.com/opendatahub-io/maas-operator/controllers/priority"
	"github.com/opendatahub-io/maas-operator/controllers/subscription"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
	"github.com/opendatahub-io/maas-operator/templates"
)

// dependencies are what controllers are made of.
type dependencies struct {
	config   Config
	platform facts.Platform
	apis     *facts.OptionalAPIs
	applier  *apply.Applier
	engine   *render.Engine
	tenants  lookup.Tenants
	policies model.Settings
	metrics  *metrics.Metrics
	// payload tells that an image for payload processing is configured.
	payload bool
}

// controller is one row of the table of controllers.
type controller struct {
	name string
	// always is set for what the others need: it cannot be left out.
	always bool
	setUp  func(context.Context, ctrl.Manager, dependencies) error
}

// controllers lists all of them; the last one wakes the others up when an API appears.
func controllers() []controller {
	return slices.Concat(modelControllers(), tenantControllers(), []controller{
		{name: "optional-apis", always: true, setUp: func(_ context.Context, mgr ctrl.Manager, d dependencies) error {
			return d.apis.SetupWithManager(mgr)
		}},
	})
}

// modelControllers are those of models and of what refers to them.
func modelControllers() []controller {
	return []controller{
		{name: "modelref", setUp: func(ctx context.Context, mgr ctrl.Manager, d dependencies) error {
			r := &modelref.Reconciler{
				Client: mgr.GetClient(), Applier: d.applier, Tenants: d.tenants, APIs: d.apis, Metrics: d.metrics,
				Events: mgr.GetEventRecorder("maas-modelref-controller"), MaxConcurrentReconciles: d.config.MaxConcurrentReconciles,
			}
			return r.SetupWithManager(ctx, mgr)
		}},
		{name: "modelpolicy", setUp: func(ctx context.Context, mgr ctrl.Manager, d dependencies) error {
			r := &modelpolicy.Reconciler{
				Client: mgr.GetClient(), Applier: d.applier, Engine: d.engine, Tenants: d.tenants, APIs: d.apis, Settings: d.policies,
				Events: mgr.GetEventRecorder("maas-modelpolicy-controller"), Metrics: d.metrics, MaxConcurrentReconciles: d.config.MaxConcurrentReconciles,
			}
			return r.SetupWithManager(ctx, mgr)
		}},
		{name: "authpolicy", setUp: func(ctx context.Context, mgr ctrl.Manager, d dependencies) error {
			r := &authpolicy.Reconciler{Client: mgr.GetClient(), Tenants: d.tenants, Events: mgr.GetEventRecorder("maas-authpolicy-controller"), Metrics: d.metrics, MaxConcurrentReconciles: d.config.MaxConcurrentReconciles}
			return r.SetupWithManager(ctx, mgr, d.apis)
		}},
		{name: "subscription", setUp: func(ctx context.Context, mgr ctrl.Manager, d dependencies) error {
			r := &subscription.Reconciler{Client: mgr.GetClient(), Tenants: d.tenants, Events: mgr.GetEventRecorder("maas-subscription-controller"), Metrics: d.metrics, MaxConcurrentReconciles: d.config.MaxConcurrentReconciles}
			return r.SetupWithManager(ctx, mgr, d.apis)
		}},
		{name: "externalmodel", setUp: func(ctx context.Context, mgr ctrl.Manager, d dependencies) error {
			r := &externalmodel.Reconciler{
				Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Applier: d.applier, Engine: d.engine, Tenants: d.tenants, APIs: d.apis,
				ClusterDomain: clusterDomain(resolverConfiguration), PayloadProcessing: d.payload, Events: mgr.GetEventRecorder("maas-externalmodel-controller"), Clock: clock.RealClock{},
				Metrics: d.metrics, MaxConcurrentReconciles: d.config.MaxConcurrentReconciles,
			}
			return r.SetupWithManager(ctx, mgr)
		}},
		{name: "priority", setUp: func(_ context.Context, mgr ctrl.Manager, d dependencies) error {
			r := &priority.Reconciler{Client: mgr.GetClient(), Tenants: d.tenants, Metrics: d.metrics}
			return r.SetupWithManager(mgr)
		}},
		{name: "nudge", setUp: func(ctx context.Context, mgr ctrl.Manager, d dependencies) error {
			r := &nudge.Reconciler{Client: mgr.GetClient(), APIs: d.apis, Clock: clock.RealClock{}, Metrics: d.metrics}
			return r.SetupWithManager(ctx, mgr)
		}},
	}
}

// shared is what the manager and what runs in it have in common.
type shared struct {
	metrics *metrics.Metrics
	tls     *tlsParameters
	// images are the references of images, by key.
	images map[string]string
	// payload tells that an image for payload processing is configured.
	payload bool
}

// setUp finds out what the cluster is and registers everything with the manager.
func setUp(ctx context.Context, mgr ctrl.Manager, c Config, s shared) error {
	d, err := newDependencies(ctx, mgr, c, s)
	if err != nil {
		return err
	}
	if err := s.tls.followCluster(ctx, mgr, d.platform); err != nil {
		return err
	}
	if err := prepare(ctx, mgr, c); err != nil {
		return err
	}
	if err := index.Register(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("prepare the cache; are the CustomResourceDefinitions of maas.opendatahub.io installed? %w", err)
	}
	for _, row := range controllers() {
		if !row.always && !selected(c.Controllers, row.name) {
			ctrl.LoggerFrom(ctx).Info("Leaving a controller out", "controller", row.name)
			continue
		}
		if err := row.setUp(ctx, mgr, d); err != nil {
			return fmt.Errorf("set up %s: %w", row.name, err)
		}
	}
	if err := addWebhooks(mgr, d); err != nil {
		return err
	}
	return addProbes(mgr)
}

func newDependencies(ctx context.Context, mgr ctrl.Manager, c Config, s shared) (dependencies, error) {
	discover, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return dependencies{}, fmt.Errorf("create a discovery client: %w", err)
	}
	platform, err := facts.DetectPlatform(discover, facts.Platform(c.Platform))
	if err != nil {
		return dependencies{}, err
	}
	audience := c.Audience
	if audience == "" {
		if audience, err = facts.Audience(ctx, mgr.GetAPIReader(), platform); err != nil {
			return dependencies{}, fmt.Errorf("%w; set --token-audience to start without asking", err)
		}
	}
	ctrl.LoggerFrom(ctx).Info("Detecting the cluster", "platform", platform, "tokenAudience", audience)
	engine, err := render.New(templates.FS, desired.Components(), render.WithImages(s.images))
	if err != nil {
		return dependencies{}, fmt.Errorf("load the templates: %w", err)
	}
	return dependencies{
		config:   c,
		apis:     facts.NewOptionalAPIs(discover),
		applier:  apply.New(mgr.GetClient(), apply.Options{APIReader: mgr.GetAPIReader(), FormerManagers: []string{"manager"}, Recorder: s.metrics}),
		engine:   engine,
		tenants:  lookup.Tenants{Reader: mgr.GetClient(), Settings: c.tenancy()},
		policies: c.policies(audience),
		metrics:  s.metrics,
		payload:  s.payload,
		platform: platform,
	}, nil
}
