// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/keyindex"
	pgtest "github.com/opendatahub-io/maas-operator/test/postgres"
)

// server is shared by the tests that leave it running.
var server *pgtest.Server

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) (code int) {
	var err error
	if server, err = pgtest.Start(context.Background(), pgtest.Options{Out: os.Stderr}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code = m.Run()
	if err := errors.Join(server.Stop(), goleak.Find()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

const tenant = "models-as-a-service"

// route is a way from the service to the database.
type route struct {
	name   string
	pooled bool
}

var routes = []route{{name: "direct"}, {name: "through a pooler", pooled: true}}

// database is an empty database of the shared server; url leads to it.
func (p route) database(t *testing.T) (url string) {
	t.Helper()
	return p.databaseOf(t, server)
}

func (p route) databaseOf(t *testing.T, s *pgtest.Server) (url string) {
	t.Helper()
	url, err := s.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !p.pooled {
		return url
	}
	pooler, err := s.StartPooler(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pooler.Stop(); err != nil {
			t.Error(err)
		}
	})
	return pooler.URL
}

// migrated brings a database to the present schema.
func migrated(t *testing.T, url string) string {
	t.Helper()
	if err := Migrate(t.Context(), migrateOptions(t, url)); err != nil {
		t.Fatal(err)
	}
	return url
}

func migrateOptions(t *testing.T, url string) MigrateOptions {
	t.Helper()
	return MigrateOptions{URL: url, Log: discard(), Clock: clock.RealClock{}}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// open opens a store that is closed with the test.
func open(t *testing.T, url string, adjust ...func(*Options)) *Store {
	t.Helper()
	o := Options{
		URL: url, Tenant: tenant, MaxConns: 8, Log: discard(), Clock: clock.RealClock{}, Registerer: prometheus.NewRegistry(),
	}
	for _, f := range adjust {
		f(&o)
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func ofTenant(name, uid string) func(*Options) {
	return func(o *Options) { o.Tenant, o.TenantUID = name, uid }
}

// sqlConn is a connection that ends with the test.
func sqlConn(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

type executor interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// execute runs statements that must succeed.
func execute(t *testing.T, conn executor, statement string, args ...any) {
	t.Helper()
	args = append([]any{pgx.QueryExecModeExec}, args...)
	if len(args) == 1 {
		args[0] = pgx.QueryExecModeSimpleProtocol
	}
	rows, err := conn.Query(t.Context(), statement, args...)
	if err == nil {
		rows.Close()
		err = rows.Err()
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, statement)
	}
}

// ask returns the one value that a query has for an answer.
func ask[T any](t *testing.T, conn executor, query string, args ...any) T {
	t.Helper()
	rows, err := conn.Query(t.Context(), query, append([]any{pgx.QueryExecModeExec}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	value, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	if err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
	return value
}

// now is a time that the database keeps as it is.
func now() time.Time { return clock.RealClock{}.Now().UTC().Truncate(time.Microsecond) }

func digest(text string) apikey.Digest { return sha256.Sum256([]byte(text)) }

// makeKey is a key whose id and digest come from one text.
func makeKey(id string, adjust ...func(*apikey.NewKey)) apikey.NewKey {
	k := apikey.NewKey{Digest: digest(id), Key: apikey.Key{
		ID: id, Username: "alice", Name: "key " + id, Description: "for tests", Subscription: "gold", Tenant: tenant,
		Groups: []string{"users", "system:authenticated"}, Status: apikey.StatusActive,
		CreatedAt: now(), ExpiresAt: now().Add(time.Hour),
	}}
	for _, f := range adjust {
		f(&k)
	}
	return k
}

// insert adds keys that a store must accept.
func insert(t *testing.T, s *Store, keys ...apikey.NewKey) {
	t.Helper()
	for _, k := range keys {
		if err := s.Insert(t.Context(), k); err != nil {
			t.Fatalf("insert %s: %v", k.ID, err)
		}
	}
}

// load returns all keys of a feed by id, and the position.
func load(t *testing.T, s *Store) (map[string]apikey.Record, keyindex.Position) {
	t.Helper()
	records := map[string]apikey.Record{}
	position, err := s.Load(t.Context(), 1_000_000, func(_ apikey.Digest, r apikey.Record) error {
		records[r.ID] = r
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return records, position
}

// changes returns what has changed since a position, and the next one. A deleted
// key has no id.
func changes(t *testing.T, s *Store, since keyindex.Position) ([]keyindex.Change, keyindex.Position) {
	t.Helper()
	var all []keyindex.Change
	position, err := s.Changes(t.Context(), since, func(c keyindex.Change) error {
		all = append(all, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, position
}

// status returns how a key is stored.
func status(t *testing.T, conn executor, id string) string {
	t.Helper()
	return ask[string](t, conn, "SELECT status FROM api_keys WHERE id = $1", id)
}
