// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Unmatched is the route label of requests that match no route.
const Unmatched = "unmatched"

// Metrics are the metrics of the API listeners.
type Metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight *prometheus.GaugeVec
	refused  prometheus.Counter
	panics   prometheus.Counter
	tenant   string
}

// NewMetrics registers the metrics. Every series carries the tenant that this
// process serves. It fails when they are registered already.
func NewMetrics(registerer prometheus.Registerer, tenant string) (*Metrics, error) {
	labels := []string{"method", "route", "status", "tenant_name"}
	m := &Metrics{
		tenant: tenant,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "maas_api_http_requests_total",
			Help: "Requests by verb, route pattern, status and tenant.",
		}, labels),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "maas_api_http_request_duration_seconds",
			Help:    "Time from when a request's headers were read to the end of its handler, in seconds.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, labels),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "maas_api_http_requests_in_flight",
			Help: "Requests that are being answered, by verb.",
		}, []string{"method"}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "maas_api_internal_refused_total",
			Help: "Requests for internal paths that were answered 404 because they came through a gateway.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "maas_api_panics_total",
			Help: "Requests whose handler failed in a way that is a fault of this program.",
		}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.duration, m.inFlight, m.refused, m.panics} {
		if err := registerer.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of requests: %w", err)
		}
	}
	return m, nil
}

// series holds the metrics of one route and verb, so that a request looks none up.
type series struct {
	metrics  *Metrics
	method   string
	route    string
	inFlight prometheus.Gauge
	byStatus [600]atomic.Pointer[observers]
}

type observers struct {
	count    prometheus.Counter
	duration prometheus.Observer
}

func (m *Metrics) series(method, route string) *series {
	return &series{metrics: m, method: method, route: route, inFlight: m.inFlight.WithLabelValues(method)}
}

func (s *series) observe(status int, took time.Duration) {
	if status < 0 || status >= len(s.byStatus) {
		status = 0
	}
	o := s.byStatus[status].Load()
	if o == nil {
		values := []string{s.method, s.route, strconv.Itoa(status), s.metrics.tenant}
		o = &observers{count: s.metrics.requests.WithLabelValues(values...), duration: s.metrics.duration.WithLabelValues(values...)}
		s.byStatus[status].Store(o)
	}
	o.count.Inc()
	o.duration.Observe(took.Seconds())
}

// verb bounds the values of the label: verbs nobody registered share one.
func verb(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return method
	default:
		return "other"
	}
}

func verbs() []string {
	return []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions, http.MethodConnect, http.MethodTrace, "other",
	}
}
