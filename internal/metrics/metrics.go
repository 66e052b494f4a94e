// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/internal/apply"
)

// Values of the label request.
const (
	requestWrite  = "write"
	requestDryRun = "dry_run"
)

// Metrics collects the operator's own metrics. It is safe for concurrent use.
type Metrics struct {
	clock clock.PassiveClock

	reconciles, applies, requests, repairs *prometheus.CounterVec
	delays                                 *prometheus.HistogramVec
	// gauges are computed from the records below when somebody asks.
	gauges map[string]*prometheus.Desc

	mu       sync.Mutex
	models   map[types.NamespacedName]policies
	subjects map[subject]*record
	// configurations are those of the gateways of tenants.
	configurations map[types.NamespacedName]configuration
}

// Metrics is what the apply engine reports to.
var _ apply.Recorder = (*Metrics)(nil)

// New returns a collector that has seen nothing yet. Register it once, with one
// registry.
func New(c clock.PassiveClock) *Metrics {
	all := families()
	m := &Metrics{
		clock:      c,
		reconciles: all[reconcileTotal].counter(),
		applies:    all[applyTotal].counter(),
		requests:   all[applyRequestsTotal].counter(),
		repairs:    all[driftRepairsTotal].counter(),
		delays:     all[enforcementDelay].histogram(delayBuckets()),
		gauges:     map[string]*prometheus.Desc{},
		models:     map[types.NamespacedName]policies{},
		subjects:   map[subject]*record{},

		configurations: map[types.NamespacedName]configuration{},
	}
	for name, family := range all {
		if family.Type == Gauge {
			m.gauges[name] = family.desc()
		}
	}
	return m
}

// vectors are the metrics that are kept as they happen.
func (m *Metrics) vectors() []prometheus.Collector {
	return []prometheus.Collector{m.reconciles, m.applies, m.requests, m.repairs, m.delays}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, v := range m.vectors() {
		v.Describe(out)
	}
	for _, desc := range m.gauges {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	for _, v := range m.vectors() {
		v.Collect(out)
	}
	for _, s := range m.samples() {
		out <- prometheus.MustNewConstMetric(m.gauges[s.name], prometheus.GaugeValue, s.value, s.labels...)
	}
}

// sample is one value of a gauge.
type sample struct {
	name   string
	labels []string
	value  float64
}

// samples adds up what is known of single objects.
func (m *Metrics) samples() []sample {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Concat(m.modelSamples(), m.configurationSamples(), m.refusalSamples())
}

// Record implements [apply.Recorder].
func (m *Metrics) Record(e apply.Event) {
	if m == nil {
		return
	}
	kind := e.GroupKind.Kind
	m.applies.WithLabelValues(kind, string(e.Operation), snake(string(e.Outcome))).Inc()
	m.requests.WithLabelValues(kind, requestWrite).Add(float64(e.Writes))
	m.requests.WithLabelValues(kind, requestDryRun).Add(float64(e.DryRuns))
	repairs := m.repairs.WithLabelValues(kind) // From zero on, so that the first one shows in a rate.
	if e.Repaired {
		repairs.Inc()
	}
}

// snake writes a name in the manner of label values: NotFound is not_found.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}
