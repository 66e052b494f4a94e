// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/catalog"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/config"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/keyindex"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/kube"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/server"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/store/postgres"
	"github.com/opendatahub-io/maas-operator/internal/version"
)

const (
	// closeTimeout is how long the last spans may take to be sent, the last scrape to
	// be answered, and connections to the database to be closed, all at once. With the defaults of the settings everything ends
	// within 30 seconds, after which Kubernetes kills a pod by default.
	closeTimeout = 3 * time.Second
	// backgroundTimeout is how long the last uses of keys may take to be written.
	backgroundTimeout = 6 * time.Second
)

// service is one running maas-api. It is built up by [service.start] and taken
// down by [service.stop]; what is nil was not reached.
type service struct {
	in       invocation
	config   config.Config
	log      *slog.Logger
	clock    clock.RealClock
	registry *prometheus.Registry
	requests *httpapi.Metrics
	health   *server.Health
	tracer   *server.Tracer
	clients  *kube.Clients

	// background runs until the listeners are closed, and failed ends when a part
	// of it fails.
	background *errgroup.Group
	running    context.Context // The life of the background, not of a call.
	endRunning context.CancelFunc
	failed     <-chan struct{}

	public, internal *server.Gate
	listeners        []*server.Listener // Of the API.
	metrics          *server.Listener
	ended            chan error // A listener that ended by itself.

	cache   *kube.Cache
	store   *postgres.Store
	schema  *schemaWatch
	index   *keyindex.Index
	catalog *catalog.Catalog
	admins  *kube.Reviewer
}

// serve runs the service until the context ends or something it needs fails.
func serve(ctx context.Context, in invocation) error {
	log := newLogger(in.Config.General, in.Out)
	log = log.With(slog.String("tenant_name", in.Config.TenantName), slog.String("tenant_namespace", in.Config.SubscriptionNamespace),
		slog.String("gateway_name", in.Config.GatewayName))
	log.Info("Starting", slog.String("version", version.Get().Version), slog.String("commit", version.Get().Commit),
		slog.Any("flags", in.Given(config.SourceFlag)), slog.Any("environment", in.Given(config.SourceEnvironment)))
	for _, warning := range in.Warnings {
		log.Warn("Check the settings: " + warning)
	}
	s := &service{in: in, config: in.Config, log: log, ended: make(chan error, 3)}
	running, endRunning := context.WithCancel(context.WithoutCancel(ctx))
	defer endRunning()
	var failing context.Context
	s.background, failing = errgroup.WithContext(running)
	s.running, s.endRunning, s.failed = failing, endRunning, failing.Done()

	err := s.start(ctx)
	if err == nil {
		err = s.wait(ctx)
	} else {
		s.config.ShutdownDrain = 0 // Nobody was told to send requests.
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // It was told to stop while it was starting.
	}
	return errors.Join(err, s.stop(ctx))
}

// wait returns when the service is to stop, with an error when it has to.
func (s *service) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.ended:
		return err
	case <-s.failed:
		return nil // The error comes from the group, when it is waited for.
	}
}

// stop takes the service down: unready, drained, no more requests, the last uses
// of keys written, connections closed.
func (s *service) stop(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	drain := s.config.ShutdownDrain
	if len(s.listeners) == 0 {
		drain = 0
	}
	var errs []error
	if s.health != nil {
		errs = append(errs, server.Stop{
			Health: s.health, Clock: s.clock, Log: s.log, Drain: drain, Timeout: s.config.ShutdownTimeout, Listeners: s.listeners,
		}.Run(ctx))
	}
	s.endRunning()
	errs = append(errs, within(backgroundTimeout, "parts of the service", s.background.Wait))
	if s.catalog != nil {
		s.catalog.Close()
	}
	errs = append(errs, s.closeLast(ctx))
	err := errors.Join(errs...)
	if err == nil {
		s.log.Info("Stopped")
	}
	return err
}

// closeLast closes what nothing else needs any more, and what shows how the rest
// ended.
func (s *service) closeLast(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	var (
		wg   sync.WaitGroup
		errs [3]error
	)
	if s.tracer != nil {
		wg.Go(func() { errs[0] = s.tracer.Close(ctx) })
	}
	if s.metrics != nil {
		wg.Go(func() { errs[1] = s.metrics.Shutdown(ctx) })
	}
	if s.store != nil {
		wg.Go(func() { // A database that does not answer takes leave of nobody.
			errs[2] = within(closeTimeout, "connections to the database", func() error { s.store.Close(); return nil })
		})
	}
	wg.Wait()
	return errors.Join(errs[:]...)
}

// within waits for f, which ends what is named, no longer than the timeout.
func within(timeout time.Duration, what string, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	timer := clock.RealClock{}.NewTimer(timeout)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C():
		return fmt.Errorf("%s did not end within %s", what, timeout)
	}
}

// run starts a part that lives until the listeners are closed.
func (s *service) run(name string, f func(context.Context) error) {
	s.background.Go(func() error {
		if err := f(s.running); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

// spanAttributes are what every span carries.
func spanAttributes(c config.Config) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("tenant.name", c.TenantName),
		attribute.String("tenant.namespace", c.SubscriptionNamespace),
		attribute.String("gateway.name", c.GatewayName),
		attribute.String("gateway.namespace", c.GatewayNamespace),
	}
}
