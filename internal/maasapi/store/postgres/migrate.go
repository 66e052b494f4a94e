// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	migrationsDir   = "migrations"
	migrationsTable = "maas_api_migrations"

	// lockPoll is how often another process that migrates is looked at.
	lockPoll = 200 * time.Millisecond
	// disturbedPause is how long to leave others' transactions alone that hold what
	// a migration needs.
	disturbedPause = time.Second
)

// Migrate brings the schema to what this program needs, from nothing or from any
// version of the earlier implementation's, or leaves it alone when it is that or
// newer. It may be called by many processes at once, through a pooler too: one of
// them works, the others wait.
func Migrate(ctx context.Context, o MigrateOptions) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	config, err := connConfig(o.URL, o.ApplicationName+" migration")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	m := &migration{MigrateOptions: o, db: stdlib.OpenDB(*config, stdlib.OptionAfterConnect(settleMigration))}
	m.db.SetMaxOpenConns(1)
	defer func() { _ = m.db.Close() }() // Nothing depends on it.
	if err := m.locked(ctx, config, m.run); err != nil {
		return clean("migrate schema", err)
	}
	return nil
}

// settleMigration lifts the time limit of statements where that is possible.
// That of all migrations remains.
func settleMigration(ctx context.Context, conn *pgx.Conn) error {
	_, err := settle(ctx, conn, 0)
	return err
}

// migration is one call of [Migrate].
type migration struct {
	MigrateOptions

	// db has one connection, through which all changes of the schema go.
	db *sql.DB
	// holder keeps others from doing the same.
	holder pgx.Tx
}

// The lock belongs to a transaction, which a pooler leaves on one connection. It
// does nothing else, so it is in nobody's way.
const (
	beginHolding = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0"
	// tryLock takes a number of this program's own.
	tryLock = "SELECT pg_try_advisory_xact_lock(7236834016284115313)"
)

// locked calls f while no other process does.
func (m *migration) locked(ctx context.Context, config *pgx.ConnConfig, f func(context.Context) error) error {
	var conn *pgx.Conn
	w := waiting{clock: m.Clock, log: m.Log, timeout: m.StartTimeout}
	err := w.until(ctx, func(ctx context.Context) (err error) {
		if conn, err = pgx.ConnectConfig(ctx, config); err != nil {
			return err
		}
		if _, err = settle(ctx, conn, 0); err != nil {
			_ = conn.Close(ctx) // It is of no use in any case.
		}
		return err
	})
	if err != nil {
		return err
	}
	defer func() {
		closing, done := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer done()
		_ = conn.Close(closing) // The server notices without it.
	}()
	reported := m.Clock.Now()
	for {
		held := false
		err := transact(ctx, conn, beginHolding, func(tx pgx.Tx) error {
			if err := tx.QueryRow(ctx, tryLock).Scan(&held); err != nil || !held {
				return err
			}
			m.holder = tx
			return f(ctx)
		})
		if held || err != nil {
			return err
		}
		if m.Clock.Since(reported) >= retryReport {
			reported = m.Clock.Now()
			m.Log.InfoContext(ctx, "Waiting for another process that migrates the schema")
		}
		if !sleep(ctx, m.Clock, lockPoll) {
			return ctx.Err()
		}
	}
}

// run does what is to be done, and again when others were in the way.
func (m *migration) run(ctx context.Context) error {
	for {
		err := m.once(ctx)
		if code := codeOf(err); code != codeLockNotAvailable && code != codeDeadlock {
			return err
		}
		m.Log.WarnContext(ctx, "Waiting for other transactions that hold what the migration needs")
		if !sleep(ctx, m.Clock, disturbedPause) {
			return err
		}
	}
}

func (m *migration) once(ctx context.Context) error {
	if err := m.checkEarlier(ctx); err != nil {
		return err
	}
	if err := m.applyAll(ctx); err != nil {
		return err
	}
	return m.index(ctx)
}

func (m *migration) applyAll(ctx context.Context) error {
	files, err := fs.Sub(migrations, migrationsDir)
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, m.db, files,
		goose.WithTableName(migrationsTable), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	results, err := provider.Up(ctx)
	for _, r := range results {
		m.Log.InfoContext(ctx, "Migrated the schema", "version", r.Source.Version, "migration", path.Base(r.Source.Path), "duration", r.Duration)
	}
	if err == nil {
		return nil
	}
	var partial *goose.PartialError
	if errors.As(err, &partial) && partial.Failed != nil {
		return &Error{
			Operation: "apply migration " + path.Base(partial.Failed.Source.Path), Code: codeOf(err), Reason: reason(err), cause: ending(err),
		}
	}
	return err
}

// held makes sure that no other process migrates.
func (m *migration) held(ctx context.Context) error {
	_, err := m.holder.Exec(ctx, ping)
	return err
}

// wantedVersion is the number of the newest migration.
func wantedVersion() (int64, error) {
	files, err := migrations.ReadDir(migrationsDir)
	if err != nil {
		return 0, fmt.Errorf("list migrations: %w", err)
	}
	var newest int64
	for _, file := range files {
		number, _, _ := strings.Cut(file.Name(), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read number of migration %s: %w", file.Name(), err)
		}
		newest = max(newest, version)
	}
	return newest, nil
}
