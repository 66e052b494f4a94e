// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Values of the label "result".
const (
	writeOK    = "ok"
	writeError = "error"
)

type metrics struct {
	writes           *prometheus.CounterVec
	entries, dropped prometheus.Counter
}

func newMetrics(r *Recorder) (*metrics, error) {
	m := &metrics{
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "maas_api", Subsystem: "key_usage", Name: "writes_total",
			Help: "Statements that wrote when keys were used last.",
		}, []string{"result"}),
		entries: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "maas_api", Subsystem: "key_usage", Name: "entries_total",
			Help: "Uses of keys written.",
		}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "maas_api", Subsystem: "key_usage", Name: "dropped_total",
			Help: "Uses of keys not noted because too many were waiting to be written.",
		}),
	}
	pending := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "maas_api", Subsystem: "key_usage", Name: "pending",
		Help: "Keys of which a use waits to be written.",
	}, func() float64 { return float64(r.pending.Load()) })
	for _, c := range []prometheus.Collector{m.writes, m.entries, m.dropped, pending} {
		if err := r.opts.Registerer.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of key usage: %w", err)
		}
	}
	return m, nil
}
