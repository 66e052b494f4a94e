// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/keyindex"
)

func TestNothingHangsOnAFrozenDatabase(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			own := startOwn(t)
			url := migrated(t, r.databaseOf(t, own))
			const statement = 500 * time.Millisecond
			s := open(t, url, func(o *Options) { o.StatementTimeout = statement })
			insert(t, s, makeKey("a"))
			if err := own.Freeze(); err != nil {
				t.Fatal(err)
			}
			for name, call := range map[string]func(context.Context) error{
				"look-up":  func(ctx context.Context) error { _, err := s.Lookup(ctx, digest("a")); return err },
				"get":      func(ctx context.Context) error { _, err := s.Get(ctx, "a"); return err },
				"usage":    func(ctx context.Context) error { return s.WriteUsage(ctx, entries("a")) },
				"ping":     s.Ping,
				"a search": func(ctx context.Context) error { _, err := s.Search(ctx, apikey.Query{Limit: 1}); return err },
			} {
				start := now()
				err := call(t.Context())
				took := now().Sub(start)
				wantError(t, err, context.DeadlineExceeded)
				if most := patience + statement + time.Second; took > most {
					t.Errorf("%s took %s, more than %s", name, took, most)
				}
			}
			if err := own.Thaw(); err != nil {
				t.Fatal(err)
			}
			recovers(t, s)
		})
	}
}

// recovers fails unless the store works again by itself.
func recovers(t *testing.T, s *Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		_, err := s.Lookup(ctx, digest("a"))
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("it does not recover: %v", err)
		}
	}
}

func TestTheStoreRecoversFromARestartOfTheDatabase(t *testing.T) {
	t.Parallel()
	own := startOwn(t)
	s := open(t, migrated(t, routes[0].databaseOf(t, own)))
	insert(t, s, makeKey("a"))
	if err := own.Down(); err != nil {
		t.Fatal(err)
	}
	start := now()
	for range 3 {
		if _, err := s.Lookup(t.Context(), digest("a")); err == nil || errors.Is(err, apikey.ErrNotFound) {
			t.Errorf("got %v from a database that is down", err)
		}
	}
	if took := now().Sub(start); took > 3*time.Second {
		t.Errorf("three look-ups took %s", took)
	}
	if err := own.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	recovers(t, s)
}

func TestLookUpsGetAConnectionWhileOthersWaitForTheDatabase(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t, r.database(t))
			s := open(t, url, func(o *Options) { o.MaxConns = 4 })
			insert(t, s, makeKey("a"))
			blocker := sqlConn(t, url)
			execute(t, blocker, "BEGIN; SELECT FROM api_keys WHERE id = 'a' FOR UPDATE")
			var waiting sync.WaitGroup
			for range 8 {
				waiting.Go(func() { _, _ = s.Revoke(t.Context(), "a") })
			}
			observer := sqlConn(t, url)
			for ask[int](t, observer, `SELECT count(*) FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
			WHERE NOT l.granted AND a.datname = current_database()`) < 2 {
				execute(t, observer, "SELECT pg_sleep(0.01)")
			}
			answered := 0 // A busy machine may be too slow for some of them.
			for range 20 {
				if _, err := s.Lookup(t.Context(), digest("a")); err == nil {
					answered++
				}
			}
			if answered < 10 {
				t.Errorf("%d of 20 look-ups were answered", answered)
			}
			if _, err := s.Changes(t.Context(), keyindex.Position{}, func(keyindex.Change) error { return nil }); err != nil {
				t.Errorf("poll: %v", err)
			}
			execute(t, blocker, "ROLLBACK")
			waiting.Wait()
		})
	}
}

func TestSessionsOfOurOwnHaveTimeLimits(t *testing.T) {
	t.Parallel()
	s := open(t, migrated(t, routes[0].database(t)), func(o *Options) { o.StatementTimeout = 1234 * time.Millisecond })
	want := map[string]string{
		"statement_timeout": "1234ms", "lock_timeout": "2s", "idle_in_transaction_session_timeout": "10s", "application_name": "maas-api",
	}
	for name, value := range want {
		if got := ask[string](t, s.pool, "SELECT current_setting($1)", name); got != value {
			t.Errorf("%s is %s, want %s", name, got, value)
		}
	}
}

func TestSessionsThatAPoolerLendsAreLeftAsTheyAre(t *testing.T) {
	t.Parallel()
	url := routes[1].database(t)
	before := ask[string](t, sqlConn(t, url), "SHOW lock_timeout")
	s := open(t, migrated(t, url))
	insert(t, s, makeKey("a"))
	if _, err := s.RevokeTenant(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := ask[string](t, sqlConn(t, url), "SHOW lock_timeout"); after != before {
		t.Errorf("lock_timeout became %s, was %s", after, before)
	}
	if held := ask[int](t, sqlConn(t, url), `SELECT count(*) FROM pg_locks
		WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`); held != 0 {
		t.Errorf("%d locks were left behind", held)
	}
}

func TestTransactionsHaveTimeLimitsThroughAPoolerToo(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t, r.database(t))
			s := open(t, url)
			insert(t, s, makeKey("a"))
			blocker := sqlConn(t, url)
			execute(t, blocker, "BEGIN; SELECT FROM api_keys WHERE id = 'a' FOR UPDATE")
			start := now()
			_, err := s.RevokeTenant(t.Context())
			if code := codeOf(err); code != codeLockNotAvailable {
				t.Errorf("got error %v", err)
			}
			if took := now().Sub(start); took > lockTimeout+2*time.Second {
				t.Errorf("it waited for %s", took)
			}
			execute(t, blocker, "ROLLBACK")
		})
	}
}

func TestATransactionThatOthersDisturbedIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t, r.database(t))
			s := open(t, url)
			first := true
			err := s.run(t.Context(), s.kinds.usual("test"), func(ctx context.Context, conn *pgx.Conn) error {
				return transact(ctx, conn, s.begin.usual, func(tx pgx.Tx) error {
					if !first {
						return nil
					}
					first = false
					_, err := tx.Exec(ctx, `DO $$ BEGIN RAISE EXCEPTION 'disturbed' USING ERRCODE = '40001'; END $$`)
					return err
				})
			})
			if err != nil {
				t.Error(err)
			}
			if got := testutil.ToFloat64(s.metrics.retries); got != 1 {
				t.Errorf("%v retries", got)
			}
		})
	}
}

func TestMetricsTellOfConnectionsAndFailures(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	url := migrated(t, routes[0].database(t))
	s := open(t, url, func(o *Options) { o.Registerer = registry })
	insert(t, s, makeKey("a"))
	_ = s.Insert(t.Context(), makeKey("a"))
	if got := testutil.ToFloat64(s.metrics.failures.WithLabelValues("insert key", outcomeRefused)); got != 1 {
		t.Errorf("%v failures", got)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			values[family.GetName()] += m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	for name, want := range map[string]float64{
		"maas_api_database_pool_max_connections": 8, "maas_api_database_pool_connections": 1,
		"maas_api_database_pool_opened_total": 1, "maas_api_database_operation_duration_seconds": 2,
	} {
		if values[name] != want {
			t.Errorf("%s is %v, want %v", name, values[name], want)
		}
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	// The metrics of a closed store make place for another one's.
	s.Close()
	open(t, url, func(o *Options) { o.Registerer = registry })
}
