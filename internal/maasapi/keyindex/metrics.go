// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Values of labels.
const (
	lookupFound    = "found"
	lookupNotFound = "not_found"
	lookupError    = "error"

	pollOK    = "ok"
	pollError = "error"

	reloadStart    = "start"
	reloadDatabase = "database_changed"
	reloadWentBack = "went_back"
)

type metrics struct {
	hits, missed, negative, graced, unavailable, busy prometheus.Counter

	lookups, polls, reloads *prometheus.CounterVec
	changes, evictions      prometheus.Counter
	listening, skew         prometheus.Gauge
}

func newMetrics(x *Index) (*metrics, error) {
	requests := counters("requests_total", "Keys asked for, by where the answer came from.", "result")
	m := &metrics{
		hits:        requests.WithLabelValues("hit"),
		missed:      requests.WithLabelValues("lookup"),
		negative:    requests.WithLabelValues("negative"),
		graced:      requests.WithLabelValues("grace"),
		unavailable: requests.WithLabelValues("unavailable"),
		busy:        requests.WithLabelValues("busy"),
		lookups:     counters("lookups_total", "Look-ups of single keys in the database.", "result"),
		polls:       counters("polls_total", "Polls of the database for changes.", "result"),
		reloads:     counters("loads_total", "Loads of all keys, by what made them necessary.", "reason"),
		changes:     counters("changes_total", "Changes read by polls, those read again included.").WithLabelValues(),
		evictions:   counters("evictions_total", "Keys let go to keep the bound.").WithLabelValues(),
		listening:   prometheus.NewGauge(gauge("listening", "1 while the database tells of changes at once, 0 while they are only polled for.")),
		skew:        prometheus.NewGauge(gauge("clock_skew_seconds", "How far the database's clock is ahead of this process's.")),
	}
	all := append([]prometheus.Collector{
		requests, m.lookups, m.polls, m.reloads, m.changes, m.evictions, m.listening, m.skew,
		prometheus.NewGaugeFunc(gauge("entries", "Keys held, those included that ended and are still tried."),
			func() float64 { return float64(x.table.Load().count.Load()) }),
		prometheus.NewGaugeFunc(gauge("max_entries", "The bound of the keys held."),
			func() float64 { return float64(x.opts.MaxEntries) }),
		prometheus.NewGaugeFunc(gauge("complete", "1 when all active keys fitted at the last load, 0 when the bound was too low."),
			func() float64 { return number(x.table.Load().complete) }),
		prometheus.NewGaugeFunc(gauge("staleness_seconds", "Time since the last completed poll began; since the start before the first."), x.staleness),
	}, x.states()...)
	for _, c := range all {
		if err := x.opts.Registerer.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of the key index: %w", err)
		}
	}
	return m, nil
}

func (x *Index) staleness() float64 {
	return time.Duration(x.elapsed() - max(0, x.table.Load().confirmed.Load())).Seconds()
}

// states are one gauge per state, of which one is 1.
func (x *Index) states() []prometheus.Collector {
	states := []State{StateLoading, StateFresh, StateStale, StateGrace, StateUnavailable}
	out := make([]prometheus.Collector, 0, len(states))
	for _, s := range states {
		o := gauge("state", "1 for the state the index is in.")
		o.ConstLabels = prometheus.Labels{"state": string(s)}
		out = append(out, prometheus.NewGaugeFunc(o, func() float64 { return number(x.State() == s) }))
	}
	return out
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "maas_api", Subsystem: "key_index", Name: name, Help: help,
	}, labels)
}

func gauge(name, help string) prometheus.GaugeOpts {
	return prometheus.GaugeOpts{Namespace: "maas_api", Subsystem: "key_index", Name: name, Help: help}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
