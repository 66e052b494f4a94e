// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/opendatahub-io/maas-operator/internal/version"
)

// maxScrapes bounds the scrapes that are served at once.
const maxScrapes = 4

// NewRegistry returns a registry with the metrics of the runtime, of the process
// and of the build.
func NewRegistry() (*prometheus.Registry, error) {
	registry := prometheus.NewRegistry()
	info := version.Get()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "maas_api_build_info",
		Help:        "1, with the build that is running as labels.",
		ConstLabels: prometheus.Labels{"version": info.Version, "commit": info.Commit, "go_version": info.GoVersion},
	})
	build.Set(1)
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		build,
	} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of the process: %w", err)
		}
	}
	return registry, nil
}

// MetricsHandler serves /metrics of the registry, and everything else through the
// handler of health.
func MetricsHandler(registry *prometheus.Registry, health http.Handler) http.Handler {
	metrics := promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		Registry:            registry,
		MaxRequestsInFlight: maxScrapes,
		ErrorHandling:       promhttp.ContinueOnError,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" && r.Method == http.MethodGet {
			metrics.ServeHTTP(w, r)
			return
		}
		health.ServeHTTP(w, r)
	})
}
