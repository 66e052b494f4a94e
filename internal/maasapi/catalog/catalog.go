// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

// Mode says whether models are asked.
type Mode string

// The modes.
const (
	// ModeProbe asks each model of the cluster through the gateway. It is the
	// default.
	ModeProbe Mode = "probe"
	// ModePolicy asks nobody and lists what policies and subscriptions allow.
	ModePolicy Mode = "policy"
)

// Gateway finds the tenant's gateway.
type Gateway interface {
	// GatewayAddress returns host or host:port of the tenant's own gateway, inside
	// the cluster. An error, or an empty address, means that it is not known now.
	GatewayAddress(ctx context.Context) (string, error)
}

// Options configure a [Catalog]. The zero value of each but Registerer, Random,
// Clock and Log stands for its default; Gateway is needed by [ModeProbe].
type Options struct {
	Mode    Mode
	Gateway Gateway
	// Roots are the authorities that the gateway's certificates come from; nil
	// means the system's. See [LoadRoots].
	Roots *x509.CertPool
	// HTTP2 offers HTTP/2 to the gateway.
	HTTP2 bool
	// Timeout bounds the checks of one listing. Default: 15 s.
	Timeout time.Duration
	// TryTimeout bounds one request to a model. Default: 5 s.
	TryTimeout time.Duration
	// Tries is how often a model that fails is asked. Default: 4.
	Tries int
	// Pause follows the first failed try and doubles with each. Default: 100 ms.
	Pause time.Duration
	// PerListing and InFlight bound the requests that are under way for one listing
	// and for all. Defaults: 20 and 100.
	PerListing, InFlight int
	// AdmittedFor and RefusedFor are how long a verdict is remembered. Defaults:
	// 10 s and 2 s.
	AdmittedFor, RefusedFor time.Duration
	// MaxVerdicts bounds the verdicts remembered. Default: 20000.
	MaxVerdicts int
	// OpenAfter is the number of failures in a row after which a destination is not
	// asked for the time OpenFor. Defaults: 5 and 10 s.
	OpenAfter int
	OpenFor   time.Duration
	// Random is the source of the key that hides credentials in memory.
	Random     io.Reader
	Clock      clock.Clock
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

func (o Options) withDefaults() Options {
	o.Mode = cmp.Or(o.Mode, ModeProbe)
	o.Timeout = cmp.Or(o.Timeout, 15*time.Second)
	o.TryTimeout = cmp.Or(o.TryTimeout, 5*time.Second)
	o.Tries = cmp.Or(o.Tries, 4)
	o.Pause = cmp.Or(o.Pause, 100*time.Millisecond)
	o.PerListing = cmp.Or(o.PerListing, 20)
	o.InFlight = cmp.Or(o.InFlight, 100)
	o.AdmittedFor = cmp.Or(o.AdmittedFor, 10*time.Second)
	o.RefusedFor = cmp.Or(o.RefusedFor, 2*time.Second)
	o.MaxVerdicts = cmp.Or(o.MaxVerdicts, 20_000)
	o.OpenAfter = cmp.Or(o.OpenAfter, 5)
	o.OpenFor = cmp.Or(o.OpenFor, 10*time.Second)
	return o
}

func (o Options) validate() error {
	switch {
	case o.Random == nil || o.Clock == nil || o.Log == nil || o.Registerer == nil:
		return errors.New("options of the catalog lack Random, Clock, Log or Registerer")
	case o.Mode != ModeProbe && o.Mode != ModePolicy:
		return errors.New("the mode of the access check must be probe or policy")
	case o.Mode == ModeProbe && o.Gateway == nil:
		return errors.New("the access check by probing needs the address of the gateway")
	case min(o.Timeout, o.TryTimeout, o.Pause, o.AdmittedFor, o.RefusedFor, o.OpenFor) < 0:
		return errors.New("durations of the catalog must not be negative")
	case min(o.Tries, o.PerListing, o.InFlight, o.MaxVerdicts, o.OpenAfter) < 0:
		return errors.New("bounds of the catalog must not be negative")
	}
	return nil
}

// keySize is the size of the key that hides credentials in memory, in bytes.
const keySize = 32

// Catalog answers listings. Any number of goroutines may use it.
type Catalog struct {
	options Options
	metrics *metrics
	prober  *prober
}

// New makes a catalog and registers its metrics; Close it in the end.
func New(options Options) (*Catalog, error) {
	o := options.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	key := make([]byte, keySize)
	if _, err := io.ReadFull(o.Random, key); err != nil {
		return nil, fmt.Errorf("make the key that hides credentials: %w", err)
	}
	p := &prober{
		options: o, memory: newMemory(key, o), breakers: newBreakers(o), slots: semaphore.NewWeighted(int64(o.InFlight)),
		transports: &transports{roots: o.Roots, http2: o.HTTP2, most: o.InFlight},
	}
	var err error
	p.metrics, err = newMetrics(o.Registerer, func() float64 { return float64(p.breakers.open()) }, func() float64 { return float64(p.sending.Load()) })
	if err != nil {
		return nil, err
	}
	return &Catalog{options: o, metrics: p.metrics, prober: p}, nil
}

// Close closes the idle connections to the gateway. Listings must be over.
func (c *Catalog) Close() { c.prober.transports.close() }

// Query is one caller's question.
type Query struct {
	// Index is the tenant's present state.
	Index  *entitlement.Index
	Caller entitlement.Caller
	// Subscription is the one the caller asks for; empty for all. It does not
	// count for an API key, which has its own.
	Subscription string
	Credential   Credential
}

// List lists the models that the caller may use, and asks those of the cluster.
// The error is an [entitlement.Refusal]: nothing else fails, a model that cannot
// be asked is left out.
func (c *Catalog) List(ctx context.Context, q Query) (Listing, error) {
	visible, err := q.Index.Visible(q.Caller, q.Subscription)
	if err != nil {
		return Listing{}, err
	}
	found, mute := offers(q, visible, c.options.Mode)
	c.prober.ask(ctx, found, q.Credential)
	l := Listing{Models: merge(found), CheckedAt: c.options.Clock.Now(), Check: CheckComplete}
	for _, o := range found {
		if o.verdict.at.Before(l.CheckedAt) {
			l.CheckedAt = o.verdict.at
		}
		if !o.verdict.outcome.certain() {
			l.Check = CheckIncomplete
		}
	}
	if mute > 0 {
		l.Check = CheckIncomplete
	}
	if c.options.Mode == ModePolicy {
		l.Check = CheckPolicy
	}
	c.metrics.listings.WithLabelValues(string(l.Check)).Inc()
	c.options.Log.DebugContext(ctx, "Listing models", "offered", len(found), "listed", len(l.Models), "check", string(l.Check))
	return l, nil
}
