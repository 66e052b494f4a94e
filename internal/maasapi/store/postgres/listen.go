// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// Defaults of the unexported members of [Options].
	defaultEchoEvery   = 5 * time.Second
	defaultEchoTimeout = 2 * time.Second

	channel = "maas_keys"
	// everyTenant is the payload of changes to all keys.
	everyTenant = ""
)

const (
	listen     = `LISTEN maas_keys`
	tenantHash = `SELECT encode(sha256(convert_to($1, 'UTF8')), 'hex')`
	sendEcho   = `SELECT pg_notify('maas_keys', $1)`
)

var (
	// ErrPooled is returned by [Store.Listen] when a pooler lends the connection
	// out between transactions, so that nothing can be listened to.
	ErrPooled = errors.New("listen for changes: a connection pooler stands before the database")

	errNoEcho = &Error{Operation: "listen for changes", Reason: "the connection no longer carries notifications"}
)

// Listen implements [keyindex.Feed]. It has a connection of its own.
func (s *Store) Listen(ctx context.Context, notify func()) error {
	err := s.listen(ctx, notify)
	if errors.Is(err, ErrPooled) {
		return err
	}
	return clean("listen for changes", err)
}

func (s *Store) listen(ctx context.Context, notify func()) error {
	config, err := connConfig(s.opts.URL, s.opts.ApplicationName+" listener")
	if err != nil {
		return err
	}
	connecting, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(connecting, config)
	if err != nil {
		return err
	}
	defer func() {
		closing, done := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer done()
		_ = conn.Close(closing) // The server notices without it.
	}()
	direct, err := settle(connecting, conn, s.opts.StatementTimeout)
	if err != nil {
		return err
	}
	if !direct {
		return ErrPooled
	}
	l := listener{conn: conn, notify: notify, echo: rand.Text(), every: s.opts.echoEvery, timeout: s.opts.echoTimeout}
	if err := conn.QueryRow(connecting, tenantHash, s.opts.Tenant).Scan(&l.tenant); err != nil {
		return err
	}
	if _, err := conn.Exec(connecting, listen); err != nil {
		return err
	}
	notify()
	for {
		if err := l.round(ctx); err != nil {
			return err
		}
	}
}

// listener is a connection that listens.
type listener struct {
	conn   *pgx.Conn
	notify func()
	// tenant is the payload of changes to the tenant's keys, echo that of what the
	// connection says to itself; that of others means nothing to it.
	tenant, echo string
	// every is the longest silence, timeout the longest wait for the echo.
	every, timeout time.Duration
}

// round waits for notifications until there is silence, and then makes sure that
// they still arrive.
func (l *listener) round(ctx context.Context) error {
	for {
		heard, err := l.hear(ctx, l.every)
		if err != nil {
			return err
		}
		if heard == "" {
			break
		}
	}
	asking, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	if _, err := l.conn.Exec(asking, sendEcho, l.echo); err != nil {
		return err
	}
	for {
		heard, err := l.hear(asking, l.timeout)
		switch {
		case err != nil:
			return err
		case heard == "":
			return errNoEcho
		case heard == channel+l.echo:
			return nil
		}
	}
}

// hear waits for one notification and passes it on. It returns what it said, or
// nothing if there was none in time.
func (l *listener) hear(ctx context.Context, timeout time.Duration) (string, error) {
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	notification, err := l.conn.WaitForNotification(waiting)
	switch {
	case err == nil:
		if notification.Payload == l.tenant || notification.Payload == everyTenant {
			l.notify()
		}
		return notification.Channel + notification.Payload, nil
	case waiting.Err() != nil && ctx.Err() == nil && !l.conn.IsClosed():
		return "", nil
	default:
		return "", err
	}
}
