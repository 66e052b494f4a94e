// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"k8s.io/utils/clock"
)

const (
	connectTimeout = 5 * time.Second
	// closeTimeout is how long saying goodbye to the server may take.
	closeTimeout = 2 * time.Second
	// lockTimeout is how long a statement waits for others' locks.
	lockTimeout = 2 * time.Second
	// idleInTransaction ends a transaction whose process has halted within it.
	idleInTransaction = 10 * time.Second
	// oldestServer is the first version with transaction ids that do not wrap.
	oldestServer = 130000

	retryFirst = 100 * time.Millisecond
	retryMost  = 2 * time.Second
	// retryReport is how often somebody is told that something is waited for.
	retryReport = 5 * time.Second
)

var (
	errReplica = errors.New("the server is a replica")
	errTooOld  = errors.New("the server is too old")
)

// connConfig reads a URL. What a URL leaves out, the driver takes from where
// PostgreSQL's own programs take it.
func connConfig(url, application string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errURL()
	}
	prepare(config, application)
	return config, nil
}

func poolConfig(o Options) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, errURL()
	}
	prepare(config.ConnConfig, o.ApplicationName)
	config.MaxConns, config.MinConns = o.MaxConns, o.MinConns
	config.MaxConnLifetime, config.MaxConnLifetimeJitter = o.ConnMaxLifetime, o.ConnMaxLifetime/10
	config.MaxConnIdleTime = 2 * o.ConnMaxLifetime // Never before its time.
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := settle(ctx, conn, o.StatementTimeout)
		return err
	}
	return config, nil
}

// errURL does not say what is wrong with the URL: that could show the password.
func errURL() error {
	return &Error{Operation: "read URL", Reason: "its URL cannot be read: it must look like " +
		"postgres://USER:PASSWORD@HOST:5432/DATABASE?sslmode=verify-full, with special characters of the password as %XX"}
}

// prepare makes connections usable through a pooler that lends another
// connection to every transaction: no statement is prepared under a name.
func prepare(config *pgx.ConnConfig, application string) {
	config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	config.ConnectTimeout = connectTimeout
	config.RuntimeParams["application_name"] = application
}

// settleSession looks at the server, and sets time limits for the session if it
// is the client's own: $1 is the process that the client was told it talks to,
// which a pooler invents.
const settleSession = `
SELECT s.direct, pg_is_in_recovery(), current_setting('server_version_num')::int,
       CASE WHEN s.direct THEN concat(
           set_config('statement_timeout', $2, false), set_config('lock_timeout', $3, false),
           set_config('idle_in_transaction_session_timeout', $4, false)) END IS NOT NULL
FROM (SELECT pg_backend_pid() = $1::bigint AS direct) AS s`

// settle prepares a new connection, and tells whether it leads to the server
// itself. Through a pooler, statements are bounded by their contexts, and
// transactions by what they begin with.
func settle(ctx context.Context, conn *pgx.Conn, statement time.Duration) (direct bool, err error) {
	var (
		replica, set bool
		version      int
	)
	err = conn.QueryRow(ctx, settleSession, int64(conn.PgConn().PID()), milliseconds(statement), milliseconds(lockTimeout),
		milliseconds(idleInTransaction)).Scan(&direct, &replica, &version, &set)
	switch {
	case err != nil:
		return false, err
	case version < oldestServer:
		return false, errTooOld
	case replica:
		return false, errReplica
	default:
		return direct, nil
	}
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// begins are statements that begin a transaction, in one round trip with its
// time limits.
type begins struct{ usual, long, snapshot string }

func beginsOf(o Options) begins {
	return begins{
		usual:    beginning("BEGIN", o.StatementTimeout),
		long:     beginning("BEGIN", max(longStatement, o.StatementTimeout)),
		snapshot: beginning("BEGIN READ ONLY, ISOLATION LEVEL REPEATABLE READ", 0),
	}
}

// beginning is about a transaction whose statements take so long at most; 0 is
// no limit.
func beginning(begin string, statement time.Duration) string {
	return fmt.Sprintf("%s; SET LOCAL statement_timeout = %s; SET LOCAL lock_timeout = %s; SET LOCAL idle_in_transaction_session_timeout = %s",
		begin, milliseconds(statement), milliseconds(lockTimeout), milliseconds(idleInTransaction))
}

// waiting is a bounded wait for the database.
type waiting struct {
	clock   clock.Clock
	log     *slog.Logger
	timeout time.Duration
}

// until calls f until it succeeds, or the time is over.
func (w waiting) until(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	start, reported := w.clock.Now(), w.clock.Now()
	for pause := retryFirst; ; pause = min(2*pause, retryMost) {
		attempt, done := context.WithTimeout(ctx, connectTimeout)
		err := f(attempt)
		done()
		if err == nil {
			return nil
		}
		err = clean("connect", err)
		if now := w.clock.Now(); now.Sub(reported) >= retryReport {
			reported = now
			w.log.WarnContext(ctx, "Waiting for the database", "error", err, "duration", now.Sub(start).Round(time.Second))
		}
		if !sleep(ctx, w.clock, pause) {
			return fmt.Errorf("wait for the database for %s: %w", w.timeout, err)
		}
	}
}

// sleep waits, and reports whether it did so to the end.
func sleep(ctx context.Context, c clock.Clock, d time.Duration) bool {
	timer := c.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}
