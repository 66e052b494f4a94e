// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/subscription"
)

// CacheOptions configure a [Cache]. Durations of zero stand for their defaults.
type CacheOptions struct {
	Clients *Clients
	// Tenant is the name of the tenant that is served. Everything in
	// SubscriptionNamespace is its own; of the models those whose status says so.
	Tenant                string
	SubscriptionNamespace string
	// Quiet is how long nothing must change before a snapshot is made, and MaxDelay
	// how long changes may put it off. Defaults: 50 ms and 250 ms. A tenant whose
	// snapshots take long to make gets fewer of them: making them takes a fifth of
	// the time at most.
	Quiet, MaxDelay time.Duration
	// CheckInterval is how often the API server is asked for a sign of life. Default:
	// 10 s.
	CheckInterval time.Duration
	// MaxAge is how long the last contact with the API server may be ago; beyond it
	// there is no snapshot and everybody is refused. It must be at least three
	// CheckIntervals. Default: no bound, the last known state counts.
	MaxAge     time.Duration
	Clock      clock.WithTicker
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

func (o CacheOptions) withDefaults() CacheOptions {
	o.Quiet = cmp.Or(o.Quiet, 50*time.Millisecond)
	o.MaxDelay = cmp.Or(o.MaxDelay, 250*time.Millisecond)
	o.CheckInterval = cmp.Or(o.CheckInterval, 10*time.Second)
	return o
}

func (o CacheOptions) validate() error {
	switch {
	case o.Clients == nil || o.Clock == nil || o.Log == nil || o.Registerer == nil:
		return errors.New("options of the cache lack Clients, Clock, Log or Registerer")
	case o.Tenant == "" || o.SubscriptionNamespace == "":
		return errors.New("options of the cache lack the tenant or the namespace of its subscriptions")
	case min(o.Quiet, o.MaxDelay, o.CheckInterval) < 0 || o.Quiet > o.MaxDelay:
		return errors.New("the quiet time before a snapshot must not exceed its maximum delay")
	case o.MaxAge != 0 && o.MaxAge < 3*o.CheckInterval:
		return fmt.Errorf("the maximum age of a snapshot must be 0 or at least %s", 3*o.CheckInterval)
	default:
		return nil
	}
}

// Cache follows the tenant's models, subscriptions and auth policies, and has a
// snapshot of them. It implements [subscription.Source].
type Cache struct {
	options       CacheOptions
	models        *collection[v1alpha1.MaaSModelRef]
	subscriptions *collection[v1alpha1.MaaSSubscription]
	policies      *collection[v1alpha1.MaaSAuthPolicy]
	feeds         []*feed
	metrics       *cacheMetrics
	began         time.Time
	changed       chan struct{}
	snapshot      atomic.Pointer[subscription.Snapshot]
}

var _ subscription.Source = (*Cache)(nil)

// NewCache makes a cache and registers its metrics. It knows nothing before
// [Cache.Run].
func NewCache(options CacheOptions) (*Cache, error) {
	o := options.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	c := &Cache{options: o, began: o.Clock.Now(), changed: make(chan struct{}, 1)}
	var err error
	if c.metrics, err = newCacheMetrics(o.Registerer); err != nil {
		return nil, err
	}
	c.models = newCollection(readModel, c.touch, c.skip(modelRefs.Resource))
	c.subscriptions = newCollection(readSubscription(o.Tenant), c.touch, c.skip(subscriptions.Resource))
	c.policies = newCollection(readAuthPolicy(o.Tenant), c.touch, c.skip(authPolicies.Resource))
	c.feeds = []*feed{
		c.feed(&feed{resource: modelRefs}, c.models),
		c.feed(&feed{resource: subscriptions, namespace: o.SubscriptionNamespace}, c.subscriptions),
		c.feed(&feed{resource: authPolicies, namespace: o.SubscriptionNamespace}, c.policies),
	}
	if err := registerAge(o.Registerer, c.age); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Cache) feed(f *feed, store cache.ReflectorStore) *feed {
	f.client, f.store, f.contact, f.failed = c.options.Clients.dynamic, store, &contact{}, c.metrics.failed
	f.clock, f.log = c.options.Clock, c.options.Log
	return f
}

// Run follows the API server until the context ends, and returns nil then.
func (c *Cache) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, f := range c.feeds {
		group.Go(func() error {
			f.run(ctx)
			return nil
		})
	}
	group.Go(func() error {
		c.check(ctx)
		return nil
	})
	group.Go(func() error {
		c.follow(ctx)
		return nil
	})
	return group.Wait()
}

// Snapshot returns the latest snapshot, or nil, see [subscription.Source].
func (c *Cache) Snapshot() *subscription.Snapshot {
	if c.options.MaxAge > 0 && c.Age() > c.options.MaxAge {
		return nil
	}
	return c.snapshot.Load()
}

// Age is the time since which changes may have been missed: since the last contact
// with the API server, of whichever kind it is longest ago, or since the start.
func (c *Cache) Age() time.Duration {
	oldest := c.options.Clock.Now()
	now := oldest
	for _, f := range c.feeds {
		last := f.contact.last()
		if last.IsZero() {
			last = c.began
		}
		if last.Before(oldest) {
			oldest = last
		}
	}
	return now.Sub(oldest)
}

func (c *Cache) age() float64 { return c.Age().Seconds() }

// Ready returns nil while there is a snapshot that may be answered from, and
// otherwise what is missing.
func (c *Cache) Ready() error {
	switch {
	case c.Snapshot() != nil:
		return nil
	case c.snapshot.Load() != nil:
		return fmt.Errorf("the last contact with the API server was more than %s ago", c.options.MaxAge)
	}
	var missing []error
	for i, known := range []bool{c.models.known(), c.subscriptions.known(), c.policies.known()} {
		if !known {
			missing = append(missing, fmt.Errorf("%s: %s", c.feeds[i].resource.Resource, c.feeds[i].state()))
		}
	}
	if len(missing) == 0 {
		return errors.New("the first snapshot is being made")
	}
	return errors.Join(missing...)
}

// touch asks for a new snapshot.
func (c *Cache) touch() {
	select {
	case c.changed <- struct{}{}:
	default: // It has been asked for.
	}
}

func (c *Cache) skip(resource string) func(types.NamespacedName, error) {
	return func(key types.NamespacedName, err error) {
		c.options.Log.Error("Leaving out an object that cannot be understood", "resource", resource, "namespace", key.Namespace, "name", key.Name, "error", err)
	}
}

// check asks for a sign of life every now and then.
func (c *Cache) check(ctx context.Context) {
	ticker := c.options.Clock.NewTicker(c.options.CheckInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		began := c.options.Clock.Now()
		if c.options.Clients.alive(ctx, c.options.CheckInterval) != nil {
			continue
		}
		for _, f := range c.feeds {
			f.contact.answer(began)
		}
	}
}

// follow makes a snapshot after each change.
func (c *Cache) follow(ctx context.Context) {
	last := time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.changed:
		}
		if !c.settle(ctx, last) {
			return
		}
		last = c.build()
	}
}

// settle waits until changes pause, or have been put off for long enough. A snapshot
// that takes long to make is made less often. It returns false when the context
// ends.
func (c *Cache) settle(ctx context.Context, last time.Duration) bool {
	quiet := c.options.Clock.NewTimer(max(c.options.Quiet, 4*last))
	defer quiet.Stop()
	enough := c.options.Clock.NewTimer(max(c.options.MaxDelay, 4*last))
	defer enough.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-enough.C():
			return true
		case <-quiet.C():
			return true
		case <-c.changed:
			if !quiet.Stop() {
				return true // It has just passed.
			}
			quiet.Reset(max(c.options.Quiet, 4*last))
		}
	}
}

// build makes a snapshot once everything is known, and returns the time it took.
func (c *Cache) build() time.Duration {
	if !c.models.known() || !c.subscriptions.known() || !c.policies.known() {
		return 0
	}
	began := c.options.Clock.Now()
	var facts entitlement.Facts
	var skipped [3]int
	facts.Models, skipped[0] = c.models.list()
	facts.Subscriptions, skipped[1] = c.subscriptions.list()
	facts.AuthPolicies, skipped[2] = c.policies.list()
	s := subscription.NewSnapshot(c.options.Tenant, facts, began)
	first := c.snapshot.Swap(s) == nil
	took := c.options.Clock.Since(began)
	c.metrics.built(s, took, facts, skipped)
	if first {
		c.options.Log.Info("Read the tenant's objects", "models", len(facts.Models), "subscriptions", len(facts.Subscriptions), "authPolicies", len(facts.AuthPolicies))
	}
	return took
}
