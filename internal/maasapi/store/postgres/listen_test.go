// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// backendOf is the process that serves a connection with an application name.
func backendOf(t *testing.T, conn *pgx.Conn, application string) int {
	t.Helper()
	for {
		pid := ask[int](t, conn, "SELECT COALESCE(max(pid), 0) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()", application)
		if pid != 0 {
			return pid
		}
	}
}

func TestAListenerIsToldOfItsTenantsChangesOnly(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	s, other, conn := open(t, url), open(t, url, ofTenant("other", "")), sqlConn(t, url)
	told, ended := listening(t, s)
	<-told // As soon as it listens.
	insert(t, s, makeKey("a"))
	<-told
	insert(t, other, makeKey("b"))
	writeUse(t, s, entries("a")...)
	execute(t, conn, "SELECT pg_notify('maas_keys', 'unknown')")
	insert(t, s, makeKey("c"))
	<-told
	execute(t, conn, "TRUNCATE api_keys")
	<-told
	select {
	case <-told:
		t.Error("it was told too often")
	default:
	}
	execute(t, conn, "SELECT pg_terminate_backend($1)", backendOf(t, conn, DefaultApplicationName+" listener"))
	if err := <-ended; err == nil {
		t.Error("it ended without an error")
	}
}

// listening listens until the test ends.
func listening(t *testing.T, s *Store) (told chan struct{}, ended chan error) {
	t.Helper()
	told, ended = make(chan struct{}), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended <- s.Listen(ctx, func() {
			select {
			case told <- struct{}{}:
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	return told, ended
}

func TestNobodyListensThroughAPooler(t *testing.T) {
	t.Parallel()
	s := open(t, migrated(t, routes[1].database(t)))
	_, ended := listening(t, s)
	wantError(t, <-ended, ErrPooled)
}

// How long the listeners of tests are silent, and how long they wait for what they
// say to themselves: test machines are slow.
const (
	quickEcho        = 300 * time.Millisecond
	quickEchoTimeout = 2 * time.Second
)

func echoes(o *Options) { o.echoEvery, o.echoTimeout = quickEcho, quickEchoTimeout }

func TestAListenerNoticesThatNothingArrivesAnyMore(t *testing.T) {
	t.Parallel()
	own := startOwn(t)
	url := migrated(t, routes[0].databaseOf(t, own))
	told, ended := listening(t, open(t, url, echoes))
	<-told
	if err := own.Freeze(); err != nil {
		t.Fatal(err)
	}
	start := now()
	if err := <-ended; err == nil {
		t.Error("it ended without an error")
	}
	if took := now().Sub(start); took > 2*(quickEcho+quickEchoTimeout) {
		t.Errorf("it noticed after %s", took)
	}
}

func TestAListenerHearsItselfAndGoesOn(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	s, conn := open(t, url, echoes), sqlConn(t, url)
	told, ended := listening(t, s)
	<-told
	execute(t, conn, "LISTEN maas_keys")
	for range 2 {
		if _, err := conn.WaitForNotification(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	insert(t, s, makeKey("a"))
	select {
	case <-told:
	case err := <-ended:
		t.Error(err)
	}
}
