// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/semaphore"
	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/keyindex"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/usage"
)

var (
	_ apikey.Store  = (*Store)(nil)
	_ keyindex.Feed = (*Store)(nil)
	_ usage.Writer  = (*Store)(nil)
)

// Store keeps the keys of one tenant. Its methods may be called at the same time.
type Store struct {
	opts  Options
	pool  *pgxpool.Pool
	clock clock.Clock
	// patient bounds the connections that may be in use for what is not urgent.
	patient *semaphore.Weighted
	metrics *metrics
	kinds   kinds
	begin   begins
}

// Open connects to the database, waiting for it for [Options.StartTimeout]. It
// looks at nothing in it: see [Store.Migrated].
func Open(ctx context.Context, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{opts: o, clock: o.Clock, kinds: kindsOf(o), begin: beginsOf(o)}
	config, err := poolConfig(o)
	if err != nil {
		return nil, err
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, clean("open pool", err)
	}
	s.patient = semaphore.NewWeighted(int64(o.MaxConns - reserved(o.MaxConns)))
	w := waiting{clock: o.Clock, log: o.Log, timeout: o.StartTimeout}
	if err := w.until(ctx, func(ctx context.Context) error { return s.pool.Ping(ctx) }); err != nil {
		s.pool.Close()
		return nil, err
	}
	if s.metrics, err = newMetrics(o.Registerer, s.pool); err != nil {
		s.pool.Close()
		return nil, err
	}
	return s, nil
}

// reserved is how many connections only what is urgent may use.
func reserved(all int32) int32 { return min(all/2, 8) }

// Close closes all connections. It waits for statements that are being run.
func (s *Store) Close() {
	s.metrics.unregister()
	s.pool.Close()
}

const ping = "SELECT 1"

// Ping asks the database for an answer.
func (s *Store) Ping(ctx context.Context) error {
	return s.run(ctx, s.kinds.urgent("ping"), func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, ping)
		return err
	})
}

const latestMigration = "SELECT COALESCE(max(version_id), 0) FROM maas_api_migrations WHERE is_applied"

// Migrated reports whether the schema is the one that this program needs, or a
// later one.
func (s *Store) Migrated(ctx context.Context) (bool, error) {
	want, err := wantedVersion()
	if err != nil {
		return false, err
	}
	var version int64
	err = s.run(ctx, s.kinds.urgent("read schema version"), func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, latestMigration).Scan(&version)
	})
	var answer *Error
	if errors.As(err, &answer) && answer.Code == codeUndefinedTable {
		return false, nil
	}
	return version >= want, err
}
