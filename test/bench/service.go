// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/jackc/pgx/v5"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	store "github.com/opendatahub-io/maas-operator/internal/maasapi/store/postgres"
	"github.com/opendatahub-io/maas-operator/test/internal/keyring"
	"github.com/opendatahub-io/maas-operator/test/internal/scrape"
	"github.com/opendatahub-io/maas-operator/test/postgres"
	"github.com/opendatahub-io/maas-operator/test/service"
)

// serving is a stage with what a scenario of maas-api measures by.
type serving struct {
	options  Options
	progress *progress
	name     string

	stage    *service.Stage
	database *pgx.Conn // The superuser's, who is not counted.
	ring     keyring.Ring

	kubernetes string
	mu         sync.Mutex
	problems   []error
}

// performService runs one scenario of maas-api between the start and the end of a
// stage.
func (s *serving) perform(ctx context.Context, what scenario, result *Scenario) (err error) {
	ctrl.SetLogger(logr.Discard()) // Clients have nothing to tell the user.
	if err := s.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.database.Close(context.WithoutCancel(ctx)), s.stage.Stop()) }()
	if err := what.serve(ctx, s, result); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.problems...)
}

// start sets up everything but a replica: a database that counts statements, with
// the program's tables.
func (s *serving) start(ctx context.Context) (err error) {
	s.say("starting an API server and a database")
	s.stage, err = service.Start(ctx, service.Options{
		Binary: s.options.ServiceBinary,
		Postgres: postgres.Options{Settings: map[string]string{
			"shared_preload_libraries": "pg_stat_statements", "shared_buffers": "512MB", "max_wal_size": "4GB",
		}},
		Report: func(err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.problems = append(s.problems, err)
		},
	})
	if err != nil {
		return err
	}
	if err = s.prepare(ctx); err != nil {
		return errors.Join(err, s.stage.Stop())
	}
	return nil
}

func (s *serving) prepare(ctx context.Context) error {
	target, err := url.Parse(s.stage.Database)
	if err != nil {
		return fmt.Errorf("read URL: %w", err)
	}
	if s.kubernetes, err = serverVersion(s.stage.Env.AdminConfig()); err != nil {
		return err
	}
	if s.database, err = pgx.Connect(ctx, s.stage.Postgres.AdminURL(strings.TrimPrefix(target.Path, "/"))); err != nil {
		return fmt.Errorf("connect as administrator: %w", err)
	}
	if _, err := s.database.Exec(ctx, "CREATE EXTENSION pg_stat_statements"); err != nil {
		return fmt.Errorf("count statements: %w", err)
	}
	return store.Migrate(ctx, store.MigrateOptions{URL: s.stage.Database, Log: slog.New(slog.DiscardHandler), Clock: clock.RealClock{}})
}

func (s *serving) say(format string, args ...any) {
	s.progress.step(s.name+": "+format, args...)
}

// store writes keys of the tenant, each bound to one of the subscriptions.
func (s *serving) store(ctx context.Context, count int) (time.Duration, error) {
	const owners = 10000
	s.ring = keyring.Ring{
		Name: "bench", Tenant: service.Tenant, Subscription: subscriptionName(0), Groups: []string{teamName(0)}, Owners: owners, Life: 24 * time.Hour,
	}
	s.say("storing %d keys", count)
	began := time.Now()
	if err := s.ring.Store(ctx, s.stage.Database, 0, count); err != nil {
		return 0, err
	}
	took := time.Since(began)
	if _, err := s.database.Exec(ctx, "VACUUM ANALYZE api_keys"); err != nil {
		return 0, fmt.Errorf("analyze the table: %w", err)
	}
	return took, nil
}

// spent is what the program and its database have done so far.
type spent struct{ seconds, objects, statements float64 }

func (s *serving) spent(ctx context.Context, r *service.Replica) (out spent, err error) {
	if out.seconds, err = processorTime(r.PID()); err != nil {
		return out, err
	}
	page, err := scrape.Get(ctx, r.MetricsURL())
	if err != nil {
		return out, err
	}
	out.objects = page.Sum("go_memstats_mallocs_total")
	const count = `SELECT COALESCE(sum(calls), 0)::float8 FROM pg_stat_statements WHERE userid = (SELECT oid FROM pg_roles WHERE rolname = $1)`
	if err := s.database.QueryRow(ctx, count, postgres.Owner).Scan(&out.statements); err != nil {
		return out, fmt.Errorf("count statements: %w", err)
	}
	return out, nil
}

func (a spent) minus(b spent) spent {
	return spent{a.seconds - b.seconds, a.objects - b.objects, a.statements - b.statements}
}
