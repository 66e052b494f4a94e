// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikeytest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// Names in the world of tests.
const (
	Tenant    = "models-as-a-service"
	Namespace = "models-as-a-service"
	Team      = "team-a" // Owns the subscriptions.
)

// World is a service with everything around it in memory.
type World struct {
	*apikey.Service

	Store    *Store
	Audit    *Recorder
	Admins   *Admins
	Clock    *clocktesting.FakeClock
	Registry *prometheus.Registry
	// Revoked counts how often caches were told to follow.
	Revoked atomic.Int64
	// Held are the keys that callers come with.
	Held *Holder
}

// NewWorld makes a world in which keys may live 30 days and Team owns the
// subscriptions "free", of priority 1, and "premium", of priority 9.
func NewWorld(tb testing.TB, changes ...func(*apikey.Options)) *World {
	tb.Helper()
	now := time.Date(2026, time.August, 1, 10, 0, 0, 123_456_789, time.UTC)
	c := clocktesting.NewFakeClock(now)
	w := &World{
		Store: &Store{Clock: c}, Audit: &Recorder{}, Admins: &Admins{}, Clock: c, Registry: prometheus.NewRegistry(),
		Held: &Holder{Clock: c},
	}
	o := apikey.Options{
		Store: w.Store, Admins: w.Admins, Records: w.Held, Auditor: w.Audit, Clock: c, Random: Random(1), Tenant: Tenant,
		Subscriptions:     Index(Subscription("free", 1), Subscription("premium", 9)),
		MaxExpirationDays: 30, Revoked: func() { w.Revoked.Add(1) }, Registerer: w.Registry,
		Log: slog.New(slog.DiscardHandler),
	}
	for _, change := range changes {
		change(&o)
	}
	var err error
	if w.Service, err = apikey.NewService(o); err != nil {
		tb.Fatalf("NewService: %v", err)
	}
	return w
}

// Member is a user of Team.
func Member(name string) apikey.Actor {
	return apikey.Actor{Username: name, Groups: []string{entitlement.AuthenticatedGroup, Team}}
}

// Key is a key of a user that was made hours ago, bound to "free". Its id is made
// of its name, and it expires in a week.
func (w *World) Key(username, name string, hours int) apikey.Key {
	now := w.Clock.Now().Truncate(time.Microsecond)
	return apikey.Key{
		ID: ID(name), Username: username, Name: name, Subscription: "free", Tenant: Tenant,
		Groups: []string{Team}, Status: apikey.StatusActive,
		CreatedAt: now.Add(-time.Duration(hours) * time.Hour), ExpiresAt: now.Add(7 * 24 * time.Hour),
	}
}

// ID is the id of the key that [World.Key] gives a name.
func ID(name string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String()
}

// Counter returns the value of a counter with one label beside the tenant's.
func (w *World) Counter(tb testing.TB, name, value string) float64 {
	tb.Helper()
	families, err := w.Registry.Gather()
	if err != nil {
		tb.Fatalf("Gather: %v", err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if family.GetName() == name && labels["tenant_name"] == Tenant && slices.Contains(slices.Collect(maps.Values(labels)), value) {
				return metric.GetCounter().GetValue()
			}
		}
	}
	tb.Fatalf("there is no %s with the label value %q", name, value)
	return 0
}

// Admins is an [apikey.Admins] with a list.
type Admins struct {
	// Names are the administrators.
	Names []string
	// Err is returned for everybody.
	Err error

	calls atomic.Int64
}

// IsAdmin implements [apikey.Admins].
func (a *Admins) IsAdmin(_ context.Context, c entitlement.Caller) (bool, error) {
	a.calls.Add(1)
	return slices.Contains(a.Names, c.Username()), a.Err
}

// Calls returns how often somebody was looked up.
func (a *Admins) Calls() int64 { return a.calls.Load() }

// Subscription is an active one that Team owns.
func Subscription(name string, priority int32) *v1alpha1.MaaSSubscription {
	return &v1alpha1.MaaSSubscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name},
		Spec: v1alpha1.MaaSSubscriptionSpec{
			Owner:    v1alpha1.Owner{Groups: []v1alpha1.GroupReference{{Name: Team}}},
			Priority: priority,
		},
		Status: v1alpha1.MaaSSubscriptionStatus{Phase: v1alpha1.PhaseActive},
	}
}

// Index decides about subscriptions as maas-api does.
func Index(subscriptions ...*v1alpha1.MaaSSubscription) *entitlement.Index {
	var facts entitlement.Facts
	for _, s := range subscriptions {
		facts.Subscriptions = append(facts.Subscriptions, entitlement.Tenanted[*v1alpha1.MaaSSubscription]{Tenant: Tenant, Object: s})
	}
	return entitlement.NewIndex(Tenant, facts)
}

// Random is a stream of bytes that is the same for the same seed.
func Random(seed byte) io.Reader { return rand.NewChaCha8([32]byte{seed}) }

// T is what [CodeOf] needs of a test, of this or another kind.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// CodeOf returns kind, code and message of an error of the service.
func CodeOf(t T, err error) (kind apikey.Kind, code, message string) {
	t.Helper()
	var e *apikey.Error
	if !errors.As(err, &e) {
		t.Fatalf("the error is %v, want one of the service", err)
	}
	return e.Kind, e.Code, e.Message
}
