// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/subscription"
)

// labelResource is the plural name of a kind.
const labelResource = "resource"

// cacheMetrics tell what is followed and how old it may be.
type cacheMetrics struct {
	builds    prometheus.Counter
	seconds   prometheus.Histogram
	objects   *prometheus.GaugeVec
	skipped   *prometheus.GaugeVec
	ambiguous prometheus.Gauge
	failures  *prometheus.CounterVec
}

func newCacheMetrics(registerer prometheus.Registerer) (*cacheMetrics, error) {
	resource := []string{labelResource}
	m := &cacheMetrics{
		builds: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "maas_api_snapshot_builds_total", Help: "Snapshots made of the tenant's models, subscriptions and auth policies, one after each burst of changes.",
		}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "maas_api_snapshot_build_seconds", Help: "Time it took to make a snapshot; no request waits for it.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1},
		}),
		objects: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "maas_api_snapshot_objects", Help: "Objects in the snapshot, models of other tenants included.",
		}, resource),
		skipped: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "maas_api_snapshot_skipped_objects", Help: "Objects left out because they cannot be understood: whoever depends on them is refused. The log names them.",
		}, resource),
		ambiguous: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "maas_api_snapshot_ambiguous_aliases", Help: "Aliases that several models of the tenant have; each means the first of them by namespace and name.",
		}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "maas_api_watch_failures_total", Help: "Lists and watches that failed, by kind.",
		}, resource),
	}
	for _, c := range []prometheus.Collector{m.builds, m.seconds, m.objects, m.skipped, m.ambiguous, m.failures} {
		if err := registerer.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of the cache: %w", err)
		}
	}
	for _, r := range []string{modelRefs.Resource, subscriptions.Resource, authPolicies.Resource} {
		m.failures.WithLabelValues(r)
		m.objects.WithLabelValues(r)
		m.skipped.WithLabelValues(r)
	}
	return m, nil
}

// registerAge comes last: from then on whoever reads the metrics asks for the age.
func registerAge(registerer prometheus.Registerer, age func() float64) error {
	if err := registerer.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "maas_api_snapshot_age_seconds", Help: "Time since which changes of the cluster may have been missed: seconds as a rule, and growing while the API server cannot be reached.",
	}, age)); err != nil {
		return fmt.Errorf("register metrics of the cache: %w", err)
	}
	return nil
}

func (m *cacheMetrics) failed(resource string) { m.failures.WithLabelValues(resource).Inc() }

func (m *cacheMetrics) built(s *subscription.Snapshot, took time.Duration, facts entitlement.Facts, skipped [3]int) {
	m.builds.Inc()
	m.seconds.Observe(took.Seconds())
	m.ambiguous.Set(float64(s.AmbiguousAliases()))
	counts := [3]int{len(facts.Models), len(facts.Subscriptions), len(facts.AuthPolicies)}
	for i, r := range []string{modelRefs.Resource, subscriptions.Resource, authPolicies.Resource} {
		m.objects.WithLabelValues(r).Set(float64(counts[i]))
		m.skipped.WithLabelValues(r).Set(float64(skipped[i]))
	}
}

// countAll registers counters.
func countAll(registerer prometheus.Registerer, counters ...prometheus.Counter) error {
	for _, c := range counters {
		if err := registerer.Register(c); err != nil {
			return fmt.Errorf("register metrics of the access reviews: %w", err)
		}
	}
	return nil
}
