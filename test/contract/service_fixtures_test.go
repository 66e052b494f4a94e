// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey/apikeytest"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/catalog"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi/callback"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi/discovery"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi/keyapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/kube"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/openapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/server"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/contract"
)

var errBroken = errors.New("broken")

// surroundings are what the service depends on, each of which may fail. The zero
// value works.
type surroundings struct {
	// store and admins fail with these errors.
	store, admins error
	// unread: the subscriptions have not been read yet.
	unread bool
	// full: nobody may have another key.
	full bool
	// token, cluster and gateway are what the cluster answers about tenants; a nil
	// error is the good answer. stranger: the user may not use the cluster.
	token, cluster, gateway error
	stranger                bool
	// unready: a check of readiness fails.
	unready bool
}

// subscriptionsOf decides about new keys, unless nothing has been read.
type subscriptionsOf struct {
	index  *entitlement.Index
	unread bool
}

func (s subscriptionsOf) Mint(c entitlement.Caller, requested string) (*v1alpha1.MaaSSubscription, error) {
	if s.unread {
		return nil, errBroken
	}
	return s.index.Mint(c, requested)
}

// lister lists one model with everything in it.
type lister struct{}

func (lister) List(context.Context, catalog.Query) (catalog.Listing, error) {
	return catalog.Listing{CheckedAt: noon(), Check: catalog.CheckComplete, Models: []catalog.Model{{
		ID: "publishers/llm/models/granite", Created: noon().Unix(), Object: "model", OwnedBy: "llm/granite", Kind: "LLMInferenceService",
		URL: "https://maas.example.com/llm/granite", BaseURL: "https://maas.example.com", Ready: true,
		Details:       &catalog.Details{UseCase: "chat", Description: "d", DisplayName: "Granite", ContextWindow: "4096", Capabilities: []string{"text"}},
		Subscriptions: []catalog.Subscription{{Name: "gold", DisplayName: "Gold", Description: "d"}},
	}}}, nil
}

func (s surroundings) ReviewToken(context.Context, string) (kube.User, error) {
	return kube.User{Username: "anne"}, s.token
}

func (s surroundings) MayUseCluster(context.Context, kube.User) (bool, error) {
	return !s.stranger, s.cluster
}

func (s surroundings) External(context.Context) (kube.External, error) {
	return kube.External{Protocol: "https", URL: "https://maas.example.com", Port: 443}, s.gateway
}

// serviceKeys are those that the service holds at the beginning.
func serviceKeys(w *apikeytest.World) []apikey.Key {
	full := w.Key("anne", "full", 2)
	full.Description, full.Labels, full.LastUsedAt = "with everything", map[string]string{"team": "search"}, w.Clock.Now()
	expired := w.Key("anne", "expired", 3)
	expired.ExpiresAt = w.Clock.Now()
	unending := w.Key("anne", "unending", 4)
	unending.ExpiresAt, unending.Groups = time.Time{}, nil
	return []apikey.Key{full, expired, unending, w.Key("bob", "foreign", 1)}
}

// describedObjects are the objects of the callbacks with what people say of them.
func describedObjects() objects {
	o := newObjects()
	o.subscriptions[0] = builder.Subscription(tenant, "gold").Limit(granite(), 100, "1m").Owners([]string{"engineers"}, nil).Priority(5).
		Price("0.000001").Labels(map[string]string{"tier": "gold"}).Metadata(v1alpha1.TokenMetadata{
		OrganizationID: "org-1", CostCenter: "cc-7", Labels: map[string]string{"tier": "gold"},
	}).Annotate(map[string]string{v1alpha1.AnnotationDisplayName: "Gold", v1alpha1.AnnotationDescription: "The best"}).Phase(v1alpha1.PhaseActive).Obj()
	return o
}

// checkedService is what all handlers of a test share.
type checkedService struct {
	*contract.Checker

	description []httpapi.Route
}

func newCheckedService(t *testing.T) checkedService {
	t.Helper()
	document, err := openapi.New()
	if err != nil {
		t.Fatal(err)
	}
	return checkedService{Checker: contract.New(documents(t)), description: document.Routes()}
}

// serviceHandler serves every route on one listener, as maas-api does without an
// internal address, under the checker.
func serviceHandler(t *testing.T, checked checkedService, s surroundings) http.Handler {
	t.Helper()
	world := apikeytest.NewWorld(t, func(o *apikey.Options) {
		o.Subscriptions = subscriptionsOf{index: apikeytest.Index(
			apikeytest.Subscription("free", 1), failing(apikeytest.Subscription("broken", 0)),
		), unread: s.unread}
		if s.full {
			o.MaxKeysPerUser = 1
		}
	})
	world.Store.Add(serviceKeys(world)...)
	world.Store.Fail = func(string) error { return s.store }
	world.Admins.Names, world.Admins.Err = []string{"root"}, s.admins
	read := snapshots{describedObjects().snapshot()}
	if s.unread {
		read = snapshots{}
	}
	health := server.NewHealth(slog.New(slog.DiscardHandler), server.Check{Name: "weather", Ready: func(context.Context) error {
		if s.unready {
			return errBroken
		}
		return nil
	}})
	validate, selection := callbackRoutes(t, read)
	handler, err := httpapi.New(httpapi.Options{
		Routes: slices.Concat(
			keyapi.Handlers{Keys: world.Service}.Routes(), validate, selection, checked.description, health.Routes(httpapi.Public),
			discovery.Models{Source: read, Lister: lister{}, Clock: world.Clock}.Routes(), discovery.Subscriptions{Source: read}.Routes(),
			discovery.Tenants{Tenant: tenant, Gateway: types.NamespacedName{Namespace: "ingress", Name: "maas"}, Reviewer: s, Finder: s}.Routes(),
		),
		Audiences: []httpapi.Audience{httpapi.Public, httpapi.Internal}, Log: slog.New(slog.DiscardHandler), Clock: world.Clock,
		Metrics: metricsOf(t), NewID: func() string { return "request-1" },
	})
	if err != nil {
		t.Fatal(err)
	}
	return checked.Handler(handler, func(err error) { t.Error(err) })
}

func failing(sub *v1alpha1.MaaSSubscription) *v1alpha1.MaaSSubscription {
	sub.Status.Phase = v1alpha1.PhaseFailed
	return sub
}

func metricsOf(t *testing.T) *httpapi.Metrics {
	t.Helper()
	metrics, err := httpapi.NewMetrics(prometheus.NewRegistry(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	return metrics
}

// callbackRoutes are the routes of both callbacks, with the keys of [records].
func callbackRoutes(t *testing.T, read snapshots) (validate, selection []httpapi.Route) {
	t.Helper()
	known := make(keys)
	for text, record := range records() {
		digest, err := apikey.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		known[digest] = record
	}
	registry := prometheus.NewRegistry()
	v, err := callback.NewValidate(callback.ValidateOptions{
		Keys: known, Usage: noKeys{}, Tenant: tenant, Log: slog.New(slog.DiscardHandler), Registerer: registry,
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := callback.NewSelect(read, registry)
	if err != nil {
		t.Fatal(err)
	}
	return v.Routes(), s.Routes()
}
