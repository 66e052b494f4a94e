// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// patience is how long what is not urgent waits for a connection, at least.
	patience = 2 * time.Second
	// longStatement bounds statements that change many rows.
	longStatement = 2 * time.Minute
	// attempts is how often a transaction is tried that others have disturbed.
	attempts   = 4
	retryPause = 20 * time.Millisecond
)

// kind is what one operation may take of time and connections.
type kind struct {
	// name is what errors and metrics call it.
	name string
	// acquire bounds the wait for a connection, statement the work; 0 leaves that
	// to the caller's context.
	acquire, statement time.Duration
	// patient operations leave connections for urgent ones.
	patient bool
}

// kinds make the kind of an operation from its name.
type kinds struct{ urgent, polling, usual, long func(name string) kind }

func kindsOf(o Options) kinds {
	patience := max(patience, o.AcquireTimeout)
	return kinds{
		urgent:  func(name string) kind { return kind{name, o.AcquireTimeout, o.StatementTimeout, false} },
		polling: func(name string) kind { return kind{name, max(time.Second, o.AcquireTimeout), 0, false} },
		usual:   func(name string) kind { return kind{name, patience, o.StatementTimeout, true} },
		long:    func(name string) kind { return kind{name, patience, max(longStatement, o.StatementTimeout), true} },
	}
}

// run lends a connection to f. When other transactions disturbed it, f is called
// again: it must leave nothing behind then, neither here nor in the database.
func (s *Store) run(ctx context.Context, k kind, f func(context.Context, *pgx.Conn) error) error {
	start := s.clock.Now()
	ctx, end := traced(ctx, k.name)
	var err error
	for attempt := range attempts {
		err = s.once(ctx, k, f)
		if code := codeOf(err); code != codeSerialization && code != codeDeadlock {
			break
		}
		// Those that disturbed each other must not meet again.
		pause := time.Duration((1 + rand.Float64()) * float64(retryPause<<attempt)) //nolint:gosec // No secret.
		if attempt == attempts-1 || !sleep(ctx, s.clock, pause) {
			break
		}
		s.metrics.retries.Inc()
	}
	s.metrics.observe(k.name, s.clock.Since(start), err)
	end(err)
	return clean(k.name, err)
}

func (s *Store) once(ctx context.Context, k kind, f func(context.Context, *pgx.Conn) error) error {
	acquiring, cancel := context.WithTimeout(ctx, k.acquire)
	defer cancel()
	if k.patient {
		if err := s.patient.Acquire(acquiring, 1); err != nil {
			return err
		}
		defer s.patient.Release(1)
	}
	conn, err := s.pool.Acquire(acquiring)
	if err != nil {
		return err
	}
	defer conn.Release()
	if k.statement > 0 {
		var done context.CancelFunc
		ctx, done = context.WithTimeout(ctx, k.statement)
		defer done()
	}
	return f(ctx, conn.Conn())
}

// transact calls f in a transaction that begins with one of [begins], and
// commits it unless f fails.
func transact(ctx context.Context, conn *pgx.Conn, begin string, f func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{BeginQuery: begin}, f)
}
