// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/catalog"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/config"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi/callback"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi/discovery"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi/keyapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/keyindex"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/kube"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/openapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/redact"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/server"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/subscription"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/usage"
)

// nameKeySize is the size of the key that hides names in logs, in bytes.
const nameKeySize = 32

// open makes everything that answers requests and lets them in.
func (s *service) open() error {
	keys, err := s.keyRoutes()
	if err != nil {
		return err
	}
	models, err := s.discoveryRoutes()
	if err != nil {
		return err
	}
	routes := slices.Concat(keys, models)
	s.health.Set(
		server.Check{Name: "migrations", Ready: func(context.Context) error { return s.schema.Ready() }},
		server.Check{Name: "database", Ready: func(context.Context) error { return s.index.Ready() }},
	)
	audiences := []httpapi.Audience{httpapi.Public, httpapi.Internal}
	if s.config.InternalAddress != "" {
		audiences = []httpapi.Audience{httpapi.Public}
		internal, err := s.handler(append(only(routes, httpapi.Internal), s.health.Routes(httpapi.Internal)...), httpapi.Internal)
		if err != nil {
			return err
		}
		s.internal.Open(internal)
	}
	public, err := s.handler(append(routes, s.health.Routes(httpapi.Public)...), audiences...)
	if err != nil {
		return err
	}
	s.public.Open(public)
	return nil
}

func only(routes []httpapi.Route, audience httpapi.Audience) []httpapi.Route {
	var kept []httpapi.Route
	for _, route := range routes {
		if route.Audience == audience {
			kept = append(kept, route)
		}
	}
	return kept
}

// keyRoutes makes the index of keys, the record of their use, and their service.
func (s *service) keyRoutes() ([]httpapi.Route, error) {
	grace := s.config.DatabaseGrace
	if grace == 0 {
		grace = -1 // The index takes 0 for its default.
	}
	var err error
	s.index, err = keyindex.New(keyindex.Options{
		Feed: s.store, Clock: s.clock, Log: s.log, Registerer: s.registry,
		MaxEntries: s.config.CacheMaxEntries, StaleAfter: s.config.CacheStaleAfter, Grace: grace, PollInterval: s.config.PollInterval,
	})
	if err != nil {
		return nil, fmt.Errorf("make the index of keys: %w", err)
	}
	recorder, err := usage.New(usage.Options{
		Writer: s.store, Clock: s.clock, Log: s.log, Registerer: s.registry,
		Debounce: s.config.LastUsedDebounce, Interval: s.config.LastUsedInterval,
	})
	if err != nil {
		return nil, fmt.Errorf("make the record of uses: %w", err)
	}
	service, err := s.keyService()
	if err != nil {
		return nil, err
	}
	validate, err := callback.NewValidate(callback.ValidateOptions{
		Keys: s.index, Usage: recorder, Tenant: s.config.TenantName, Log: s.log, Registerer: s.registry,
	})
	if err != nil {
		return nil, err
	}
	s.run("follow the keys", s.index.Run)
	s.run("write uses of keys", recorder.Run)
	return append(keyapi.Handlers{Keys: service}.Routes(), validate.Routes()...), nil
}

func (s *service) keyService() (*apikey.Service, error) {
	admins, err := s.reviewer()
	if err != nil {
		return nil, err
	}
	auditor, err := newAuditor(s.in)
	if err != nil {
		return nil, err
	}
	service, err := apikey.NewService(apikey.Options{
		Store: s.store, Subscriptions: subscription.Minter{Source: s.cache}, Admins: admins, Auditor: auditor,
		Clock: validationClock{s.index}, Random: rand.Reader, Tenant: s.config.TenantName,
		MaxExpirationDays: s.config.MaxExpirationDays, MaxKeysPerUser: s.config.MaxPerUser,
		Records: s.index, Revoked: s.revoked, Registerer: s.registry, Log: s.log,
	})
	if err != nil {
		return nil, fmt.Errorf("make the service of keys: %w", err)
	}
	return service, nil
}

// validationClock is the clock that keys are validated by, for those who make
// them: a key lives as long as was asked for, whatever the clock of this process
// says.
type validationClock struct{ keys interface{ Now() time.Time } }

// Now implements [clock.PassiveClock].
func (c validationClock) Now() time.Time { return c.keys.Now() }

// Since implements [clock.PassiveClock].
func (c validationClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// revoked returns when this process refuses the keys that were just revoked. When
// that cannot be waited for, the next poll sees to it.
func (s *service) revoked() {
	if err := s.index.Refresh(s.running); err != nil {
		s.log.Warn("Cannot wait until revoked keys are refused here", slog.Any("error", err))
	}
}

// newAuditor writes audit records in which users are marks that can be compared
// within one life of the process only.
func newAuditor(in invocation) (*apikey.SlogAuditor, error) {
	key := make([]byte, nameKeySize)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make the key that hides names: %w", err)
	}
	return apikey.NewSlogAuditor(auditLogger(in.Config.General, in.Out), redact.New(key).Name), nil
}

func (s *service) reviewer() (*kube.Reviewer, error) {
	if s.admins == nil {
		made, err := kube.NewReviewer(kube.ReviewerOptions{
			Clients: s.clients, Namespace: s.config.SubscriptionNamespace, CacheSize: s.config.AdminCacheSize,
			Clock: s.clock, Registerer: s.registry,
		})
		if err != nil {
			return nil, err
		}
		s.admins = made
	}
	return s.admins, nil
}

// fixedGateway is a gateway whose address was configured.
type fixedGateway string

// GatewayAddress implements [catalog.Gateway].
func (g fixedGateway) GatewayAddress(context.Context) (string, error) {
	return string(g), nil
}

// discoveryRoutes makes what tells callers about models, subscriptions and tenants.
func (s *service) discoveryRoutes() ([]httpapi.Route, error) {
	gateways, err := kube.NewGateways(kube.GatewaysOptions{Clients: s.clients, Gateway: s.gatewayName(), Clock: s.clock, Log: s.log})
	if err != nil {
		return nil, err
	}
	reviewer, err := s.reviewer()
	if err != nil {
		return nil, err
	}
	if err := s.makeCatalog(gateways); err != nil {
		return nil, err
	}
	choose, err := callback.NewSelect(s.cache, s.registry)
	if err != nil {
		return nil, err
	}
	document, err := openapi.New()
	if err != nil {
		return nil, err
	}
	var routes []httpapi.Route
	for _, part := range []interface{ Routes() []httpapi.Route }{
		choose, document,
		discovery.Models{Source: s.cache, Lister: s.catalog, Clock: s.clock, Timeout: s.config.AccessCheckTimeout},
		discovery.Subscriptions{Source: s.cache},
		discovery.Tenants{Tenant: s.config.TenantName, Gateway: s.gatewayName(), Reviewer: reviewer, Finder: gateways},
	} {
		routes = append(routes, part.Routes()...)
	}
	return routes, nil
}

func (s *service) makeCatalog(gateways *kube.Gateways) error {
	var required []string
	if s.config.GatewayCAFile != "" {
		required = append(required, s.config.GatewayCAFile)
	}
	roots, err := catalog.LoadRoots([]string{catalog.ServiceAccountCA}, required)
	if err != nil {
		return fmt.Errorf("read certificate authorities (--gateway-ca-file): %w", err)
	}
	options := catalog.Options{
		Mode: catalog.Mode(s.config.ProbeMode), Gateway: gateways, Roots: roots, HTTP2: s.config.HTTP2,
		Timeout: s.config.AccessCheckTimeout, Random: rand.Reader, Clock: s.clock, Log: s.log, Registerer: s.registry,
	}
	if s.config.GatewayAddress != "" {
		options.Gateway = fixedGateway(s.config.GatewayAddress)
	}
	if s.catalog, err = catalog.New(options); err != nil {
		return fmt.Errorf("make the catalogue of models: %w", err)
	}
	if s.config.ProbeMode == config.ProbePolicy {
		s.log.Info("Models are listed by policies alone; none is asked", slog.String("setting", "probe-mode"))
	}
	return nil
}
