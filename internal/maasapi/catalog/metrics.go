// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Results of looking a verdict up.
const (
	resultHit    = "hit"    // It was remembered.
	resultShared = "shared" // Somebody else was asking.
	resultMiss   = "miss"   // The model was asked.
)

type metrics struct {
	probes     *prometheus.CounterVec
	duration   prometheus.Histogram
	remembered *prometheus.CounterVec
	listings   *prometheus.CounterVec
}

// newMetrics registers the metrics. No label depends on custom resources or on
// callers.
func newMetrics(registerer prometheus.Registerer, open, inFlight func() float64) (*metrics, error) {
	m := &metrics{
		probes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "maas_api_model_probes_total", Help: "Requests that asked a model whether it lets a caller in, by result.",
		}, []string{"result"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "maas_api_model_probe_duration_seconds", Help: "Time of one request that asked a model.",
			Buckets: []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
		remembered: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "maas_api_model_verdicts_total", Help: "Verdicts on models that listings needed: remembered (hit), being found for another caller (shared), or asked for (miss).",
		}, []string{"result"}),
		listings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "maas_api_model_listings_total", Help: "Listings of models, by how far access was checked.",
		}, []string{"check"}),
	}
	for _, result := range outcomes() {
		m.probes.WithLabelValues(string(result))
	}
	for _, result := range []string{resultHit, resultShared, resultMiss} {
		m.remembered.WithLabelValues(result)
	}
	for _, check := range []Check{CheckComplete, CheckIncomplete, CheckPolicy} {
		m.listings.WithLabelValues(string(check))
	}
	for _, c := range []prometheus.Collector{
		m.probes, m.duration, m.remembered, m.listings,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "maas_api_model_probe_breakers_open", Help: "Destinations that are not asked for a while because they fail.",
		}, open),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "maas_api_model_probes_in_flight", Help: "Requests to models that are under way.",
		}, inFlight),
	} {
		if err := registerer.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of the catalog: %w", err)
		}
	}
	return m, nil
}
