// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// start starts a server that ends with the test.
func start(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newDatabase(t *testing.T, s *Server) string {
	t.Helper()
	url, err := s.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// ask connects and runs one query with one value in its answer.
func ask[T any](ctx context.Context, t *testing.T, url, query string) (T, error) {
	t.Helper()
	var answer T
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return answer, err
	}
	err = conn.QueryRow(ctx, query).Scan(&answer)
	return answer, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}

func TestDatabasesAreTheirOwnersAndKeepTheirDataOverARestart(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	url := newDatabase(t, s)
	if _, err := ask[int](t.Context(), t, url, "CREATE TABLE kept AS SELECT 7 AS value RETURNING 1"); err == nil {
		t.Fatal("a statement that PostgreSQL does not know succeeded")
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 7 AS value"); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("a connection survived the restart")
	}
	if got, err := ask[int](t.Context(), t, url, "SELECT value FROM kept"); err != nil || got != 7 {
		t.Errorf("after the restart: %d, %v", got, err)
	}
	if super, err := ask[bool](t.Context(), t, url, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"); err != nil || super {
		t.Errorf("the owner is a superuser: %t, %v", super, err)
	}
}

func TestAFrozenServerAnswersAfterTheThaw(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	url := newDatabase(t, s)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Freeze(); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := conn.Ping(short); err == nil {
		t.Error("a frozen server answered")
	}
	if err := s.Thaw(); err != nil {
		t.Fatal(err)
	}
	if _, err := ask[int](t.Context(), t, url, "SELECT 1"); err != nil {
		t.Error(err)
	}
}

func TestThePoolerHandsOutItsOwnConnections(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"plain": {}, "with TLS to the server": {TLS: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, o)
			pooler, err := s.StartPooler(t.Context(), newDatabase(t, s))
			if err != nil {
				t.Fatal(err)
			}
			conn, err := pgx.Connect(t.Context(), pooler.URL)
			if err != nil {
				t.Fatal(err)
			}
			var pid uint32
			if err := conn.QueryRow(t.Context(), "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&pid); err != nil {
				t.Fatal(err)
			}
			if pid == conn.PgConn().PID() {
				t.Error("the client is connected to the server itself")
			}
			if err := pooler.Stop(); err != nil {
				t.Fatal(err)
			}
			if _, err := ask[int](t.Context(), t, pooler.URL, "SELECT 1"); err == nil {
				t.Error("a stopped pooler answered")
			}
		})
	}
}

func TestAServerWithTLSRefusesOthers(t *testing.T) {
	t.Parallel()
	s := start(t, Options{TLS: true})
	url := newDatabase(t, s)
	if secure, err := ask[bool](t.Context(), t, url, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"); err != nil || !secure {
		t.Errorf("TLS: %t, %v", secure, err)
	}
	s.options.TLS = false
	if _, err := ask[int](t.Context(), t, s.URL("postgres"), "SELECT 1"); err == nil {
		t.Error("a connection without TLS was accepted")
	}
	s.options.TLS = true
}

func TestADirectoryIsUsedAgainUntilItIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, Options{Dir: dir})
	if err := first.CreateDatabase(t.Context(), "kept"); err != nil {
		t.Fatal(err)
	}
	address := first.Address()
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := start(t, Options{Dir: dir, Settings: map[string]string{"max_connections": "17"}})
	if second.Address() != address {
		t.Errorf("address %s became %s", address, second.Address())
	}
	if got, err := ask[string](t.Context(), t, second.URL("kept"), "SHOW max_connections"); err != nil || got != "17" {
		t.Errorf("max_connections: %s, %v", got, err)
	}

	if err := second.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := Remove(dir); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{dir, second.dir} {
		if _, err := os.Stat(gone); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", gone, err)
		}
	}
}

func TestDataThatOthersMayEnterIsClosedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := Start(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(first.data(), 0o755); err != nil {
		t.Fatal(err)
	}
	newDatabase(t, start(t, Options{Dir: dir}))
}
