// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/config"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/kube"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/server"
)

const (
	// waitStep is how often it is looked whether the first loads are done.
	waitStep = 100 * time.Millisecond
	// sayEvery is how often it is said what the start waits for.
	sayEvery = 10 * time.Second
)

var errStarting = errors.New("the service is starting")

// start brings the service up. Metrics and health are first, so that it can be
// seen what the rest waits for; the database and the Kubernetes API are waited for
// at the same time, and no longer than the start timeout.
func (s *service) start(ctx context.Context) error {
	if err := s.observe(ctx); err != nil {
		return err
	}
	loaded, err := restConfig(s.in)
	if err != nil {
		return err
	}
	if s.tracer != nil {
		loaded.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return otelhttp.NewTransport(next, otelhttp.WithTracerProvider(s.tracer.Provider()))
		})
	}
	if s.clients, err = kube.NewClients(loaded); err != nil {
		return err
	}
	if err := s.followCluster(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.config.StartTimeout,
		fmt.Errorf("the service did not start within %s (--start-timeout)", s.config.StartTimeout))
	defer cancel()
	group, starting := errgroup.WithContext(ctx)
	group.Go(func() error { return s.openListeners(starting) })
	group.Go(func() error { return s.openDatabase(starting) })
	if err := group.Wait(); err != nil {
		return explain(ctx, err)
	}
	if err := s.open(); err != nil {
		return err
	}
	return s.awaitLoads(ctx)
}

// explain adds why a start that took too long was given up.
func explain(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, context.Canceled):
		return cause // It was told to stop.
	case cause != nil:
		return fmt.Errorf("%w: %w", cause, err)
	default:
		return err
	}
}

// observe starts tracing, metrics and health.
func (s *service) observe(ctx context.Context) error {
	var err error
	if s.registry, err = server.NewRegistry(); err != nil {
		return err
	}
	if s.requests, err = httpapi.NewMetrics(s.registry, s.config.TenantName); err != nil {
		return err
	}
	if s.config.Endpoint != "" {
		s.tracer, err = server.NewTracer(ctx, server.TracingOptions{
			Endpoint: s.config.Endpoint, Insecure: s.config.Insecure, SampleRate: s.config.SampleRate,
			Namespace: s.config.Namespace, Attributes: spanAttributes(s.config),
		})
		if err != nil {
			return err
		}
	}
	s.health = server.NewHealth(s.log, server.Check{Name: "started", Ready: func(context.Context) error { return errStarting }})
	only, err := s.handler(s.health.Routes(httpapi.Public), httpapi.Public)
	if err != nil {
		return err
	}
	closed, err := s.closed()
	if err != nil {
		return err
	}
	s.public, s.internal = server.NewGate(closed), server.NewGate(closed)
	s.metrics, err = s.listen(ctx, server.ListenerOptions{
		Name: "metrics", Address: s.config.MetricsAddress, Timeouts: server.MetricsTimeouts(),
		Handler: server.MetricsHandler(s.registry, only),
	})
	return err
}

// handler wraps routes in the middlewares that all listeners share.
func (s *service) handler(routes []httpapi.Route, audiences ...httpapi.Audience) (*httpapi.Handler, error) {
	return httpapi.New(s.options(routes, audiences...))
}

// closed is what the API listeners do until the service can serve.
func (s *service) closed() (*httpapi.Handler, error) {
	options := s.options(s.health.Routes(httpapi.Public), httpapi.Public)
	options.Otherwise = http.HandlerFunc(server.Starting)
	return httpapi.New(options)
}

func (s *service) options(routes []httpapi.Route, audiences ...httpapi.Audience) httpapi.Options {
	options := httpapi.Options{
		Routes: routes, Audiences: audiences, Log: s.log, Clock: s.clock, Metrics: s.requests, NewID: uuid.NewString,
		TrustedProxies: s.config.TrustedProxies, AllowGatewayMarked: s.config.AllowGatewayMarked, CrossOrigin: s.config.Debug,
	}
	if s.tracer != nil {
		options.Tracing = s.tracer.Tracing()
	}
	return options
}

// listen opens one listener and reports when it ends by itself.
func (s *service) listen(ctx context.Context, o server.ListenerOptions) (*server.Listener, error) {
	o.Log = s.log
	l, err := server.Listen(ctx, o)
	if err != nil {
		return nil, err
	}
	go func() { // Ends with the listener, at the latest when it is shut down.
		if err := <-l.Done(); err != nil {
			s.ended <- err
		}
	}()
	return l, nil
}

// followCluster starts to follow the tenant's objects.
func (s *service) followCluster() error {
	var err error
	s.cache, err = kube.NewCache(kube.CacheOptions{
		Clients: s.clients, Tenant: s.config.TenantName, SubscriptionNamespace: s.config.SubscriptionNamespace,
		MaxAge: s.config.SnapshotMaxAge, Clock: s.clock, Log: s.log, Registerer: s.registry,
	})
	if err != nil {
		return err
	}
	s.health.Set(server.Check{Name: "caches", Ready: func(context.Context) error { return s.cache.Ready() }})
	s.run("follow the tenant's objects", s.cache.Run)
	return nil
}

// openListeners opens the API listeners, which at first answer health only.
func (s *service) openListeners(ctx context.Context) error {
	encryption, err := s.encryption(ctx)
	if err != nil {
		return err
	}
	timeouts := server.APITimeouts(s.config.AccessCheckTimeout)
	api, err := s.listen(ctx, server.ListenerOptions{Name: "api", Address: s.config.Address, Handler: s.public, Timeouts: timeouts, TLS: encryption})
	if err != nil {
		return err
	}
	s.listeners = append(s.listeners, api)
	if s.config.InternalAddress == "" {
		return nil
	}
	internal, err := s.listen(ctx, server.ListenerOptions{Name: "internal", Address: s.config.InternalAddress, Handler: s.internal, Timeouts: timeouts, TLS: encryption})
	if err != nil {
		return err
	}
	s.listeners = append(s.listeners, internal)
	return nil
}

// encryption returns the TLS configuration of the API listeners, or nil for plain
// HTTP.
func (s *service) encryption(ctx context.Context) (*tls.Config, error) {
	if !s.config.Secure {
		return nil, nil // Plain HTTP is no error.
	}
	certificate, err := s.certificate()
	if err != nil {
		return nil, err
	}
	settings, err := server.NewTLS(s.config.MinVersion, certificate)
	if err != nil {
		return nil, err
	}
	if s.config.Profile == config.TLSProfileAuto {
		profile := s.clients.TLSProfile(s.clock, s.log)
		parameters, follow := profile.Fetch(ctx)
		settings.Apply(parameters)
		if follow {
			s.run("follow the cluster's TLS profile", func(ctx context.Context) error { return profile.Follow(ctx, settings.Apply) })
		}
	}
	return settings.Config(), nil
}

func (s *service) certificate() (server.GetCertificate, error) {
	if s.config.SelfSigned {
		made, err := server.SelfSigned(s.config.InstanceName, s.config.SelfSignedFor, s.clock.Now())
		if err != nil {
			return nil, err
		}
		return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return made, nil }, nil
	}
	watcher, err := certwatcher.New(s.config.CertFile, s.config.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("load the certificate of --tls-cert and --tls-key: %w", err)
	}
	s.run("follow the certificate", watcher.Start)
	return watcher.GetCertificate, nil
}

// openDatabase migrates the database, connects to it and registers the tenant.
func (s *service) openDatabase(ctx context.Context) error {
	url, err := databaseURL(ctx, s.in, s.clients, s.log)
	if err != nil {
		return err
	}
	if err := migrateDatabase(ctx, s.in, url, s.log); err != nil {
		return err
	}
	if s.store, err = openStore(ctx, s.in, url, s.log, s.registry); err != nil {
		return err
	}
	if err := s.store.Register(ctx); err != nil {
		return fmt.Errorf("register tenant %s: %w", s.config.TenantName, err)
	}
	s.schema = &schemaWatch{database: s.store, clock: s.clock}
	if err := s.schema.look(ctx); err != nil {
		return err
	}
	s.run("watch the schema", s.schema.Run)
	return s.schema.Ready()
}

// awaitLoads waits until keys and the tenant's objects are loaded.
func (s *service) awaitLoads(ctx context.Context) error {
	ticker := s.clock.NewTicker(waitStep)
	defer ticker.Stop()
	said := s.clock.Now()
	for {
		missing := errors.Join(s.cache.Ready(), s.index.Ready())
		if missing == nil {
			s.health.Set(server.Check{Name: "started", Ready: func(context.Context) error { return nil }})
			s.log.Info("Ready")
			return nil
		}
		if s.clock.Since(said) >= sayEvery {
			said = s.clock.Now()
			s.log.Warn("Still starting", slog.Any("missing", missing))
		}
		select {
		case <-ticker.C():
		case err := <-s.ended:
			return err
		case <-s.failed:
			return nil // The error comes from the group, when it is waited for.
		case <-ctx.Done():
			return explain(ctx, missing)
		}
	}
}

func (s *service) gatewayName() types.NamespacedName {
	return types.NamespacedName{Namespace: s.config.GatewayNamespace, Name: s.config.GatewayName}
}
