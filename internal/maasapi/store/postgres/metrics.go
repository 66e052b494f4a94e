// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// Outcomes of operations.
const (
	outcomeOK      = "ok"
	outcomeRefused = "refused" // The database answered with an error.
	outcomeTimeout = "timeout" // It did not answer, or gave no connection, in time.
	outcomeBroken  = "broken"  // It could not be reached.
)

// metrics count what is done with the database.
type metrics struct {
	registerer prometheus.Registerer
	registered []prometheus.Collector
	duration   *prometheus.HistogramVec
	failures   *prometheus.CounterVec
	retries    prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer, pool *pgxpool.Pool) (*metrics, error) {
	m := &metrics{
		registerer: registerer,
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "maas_api_database_operation_duration_seconds", Help: "Time of operations on the database, the wait for a connection included.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 120},
		}, []string{"operation"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "maas_api_database_failures_total",
			Help: "Operations on the database that failed: it refused, did not answer in time, or could not be reached (broken).",
		}, []string{"operation", "outcome"}),
		retries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "maas_api_database_retries_total", Help: "Transactions tried again because others had disturbed them.",
		}),
	}
	for _, c := range []prometheus.Collector{m.duration, m.failures, m.retries, newPoolCollector(pool)} {
		if err := registerer.Register(c); err != nil {
			m.unregister()
			return nil, fmt.Errorf("register metrics of the database: %w", err)
		}
		m.registered = append(m.registered, c)
	}
	return m, nil
}

// unregister makes place for the metrics of another store.
func (m *metrics) unregister() {
	for _, c := range m.registered {
		m.registerer.Unregister(c)
	}
}

func (m *metrics) observe(operation string, took time.Duration, err error) {
	m.duration.WithLabelValues(operation).Observe(took.Seconds())
	if outcome := outcomeOf(err); outcome != outcomeOK {
		m.failures.WithLabelValues(operation, outcome).Inc()
	}
}

func outcomeOf(err error) string {
	switch {
	case err == nil, errors.Is(err, apikey.ErrNotFound), errors.Is(err, apikey.ErrTenantReplaced), errors.Is(err, context.Canceled):
		return outcomeOK
	case codeOf(err) != "":
		return outcomeRefused
	case errors.Is(err, context.DeadlineExceeded):
		return outcomeTimeout
	default:
		return outcomeBroken
	}
}

// poolCollector reads the state of the pool when it is asked.
type poolCollector struct {
	pool        *pgxpool.Pool
	connections *prometheus.Desc
	most        *prometheus.Desc
	counters    []poolCounter
}

type poolCounter struct {
	desc  *prometheus.Desc
	value func(*pgxpool.Stat) float64
}

func newPoolCollector(pool *pgxpool.Pool) *poolCollector {
	counter := func(name, help string, value func(*pgxpool.Stat) float64) poolCounter {
		return poolCounter{prometheus.NewDesc("maas_api_database_pool_"+name, help, nil, nil), value}
	}
	return &poolCollector{
		pool: pool,
		connections: prometheus.NewDesc("maas_api_database_pool_connections",
			"Connections to the database by state: acquired, idle or constructing.", []string{"state"}, nil),
		most: prometheus.NewDesc("maas_api_database_pool_max_connections", "Most connections the pool may have.", nil, nil),
		counters: []poolCounter{
			counter("acquires_total", "Connections lent out.", func(s *pgxpool.Stat) float64 { return float64(s.AcquireCount()) }),
			counter("acquire_seconds_total", "Time spent to get a connection lent.",
				func(s *pgxpool.Stat) float64 { return s.AcquireDuration().Seconds() }),
			counter("waits_total", "Connections that had to be waited for.", func(s *pgxpool.Stat) float64 { return float64(s.EmptyAcquireCount()) }),
			counter("wait_seconds_total", "Time spent waiting because all connections were in use.",
				func(s *pgxpool.Stat) float64 { return s.EmptyAcquireWaitTime().Seconds() }),
			counter("abandoned_waits_total", "Waits for a connection that ended without one.",
				func(s *pgxpool.Stat) float64 { return float64(s.CanceledAcquireCount()) }),
			counter("opened_total", "Connections opened.", func(s *pgxpool.Stat) float64 { return float64(s.NewConnsCount()) }),
		},
	}
}

// Describe implements [prometheus.Collector].
func (c *poolCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.connections
	descs <- c.most
	for _, counter := range c.counters {
		descs <- counter.desc
	}
}

// Collect implements [prometheus.Collector].
func (c *poolCollector) Collect(values chan<- prometheus.Metric) {
	stat := c.pool.Stat()
	for state, n := range map[string]int32{
		"acquired": stat.AcquiredConns(), "idle": stat.IdleConns(), "constructing": stat.ConstructingConns(),
	} {
		values <- prometheus.MustNewConstMetric(c.connections, prometheus.GaugeValue, float64(n), state)
	}
	values <- prometheus.MustNewConstMetric(c.most, prometheus.GaugeValue, float64(stat.MaxConns()))
	for _, counter := range c.counters {
		values <- prometheus.MustNewConstMetric(counter.desc, prometheus.CounterValue, counter.value(stat))
	}
}
