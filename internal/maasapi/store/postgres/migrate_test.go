// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func wantError(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("got error %v, want %v", got, want)
	}
}

// direct is the URL of a database of the shared server without a pooler.
func (p route) direct(t *testing.T, url string) string {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	return server.URL(config.Database)
}

func TestAnEmptyDatabaseIsMigratedOnce(t *testing.T) {
	t.Parallel()
	for _, p := range routes {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			url := p.database(t)
			s := open(t, url)
			for _, want := range []bool{false, true, true} {
				got, err := s.Migrated(t.Context())
				if err != nil || got != want {
					t.Fatalf("migrated: %t, %v, want %t", got, err, want)
				}
				migrated(t, url)
			}
			checkSchema(t, sqlConn(t, p.direct(t, url)))
		})
	}
}

func TestASchemaOfALaterReleaseIsLeftAlone(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	conn := sqlConn(t, url)
	execute(t, conn, "INSERT INTO maas_api_migrations (version_id, is_applied) VALUES (999, true)")
	migrated(t, url)
	if got, err := open(t, url).Migrated(t.Context()); err != nil || !got {
		t.Errorf("migrated: %t, %v", got, err)
	}
}

func TestAnIndexThatWasNotFinishedIsBuiltAgain(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"idx_api_keys_key_hash_tenant", "idx_api_keys_labels_gin"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := routes[0].database(t)
			conn := sqlConn(t, url)
			earlier(t, conn, earlierVersion)
			interruptBuild(t, url, name)
			if ask[bool](t, conn, "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)", name) {
				t.Fatal("the index was finished")
			}
			migrated(t, url)
			checkSchema(t, conn)
		})
	}
}

// interruptBuild drops an index and interrupts its building, which waits for a
// transaction.
func interruptBuild(t *testing.T, url, name string) {
	t.Helper()
	old, builder, observer := sqlConn(t, url), sqlConn(t, url), sqlConn(t, url)
	execute(t, builder, "DROP INDEX "+name)
	execute(t, old, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM api_keys")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	for _, x := range wantedIndexes() {
		if x.name == name {
			if _, err := builder.Exec(ctx, x.create); err == nil {
				t.Fatal("the index was built in spite of the transaction")
			}
		}
	}
	// The server ends the interrupted statement a moment later.
	for ask[bool](t, observer, "SELECT EXISTS (SELECT FROM pg_stat_progress_create_index)") {
		execute(t, observer, "SELECT pg_sleep(0.01)")
	}
	execute(t, old, "ROLLBACK")
}

// TestASchemaOfItsOwnGetsIndexesOfItsOwn proves that a tenant whose schema stands
// before another one in the search path does not take that one's indexes for its
// own, nor drop them.
func TestASchemaOfItsOwnGetsIndexesOfItsOwn(t *testing.T) {
	t.Parallel()
	url := routes[0].database(t)
	conn := sqlConn(t, url)
	earlier(t, conn, earlierVersion)
	const indexes = "SELECT coalesce(string_agg(indexname, ' ' ORDER BY indexname), '') FROM pg_indexes WHERE tablename = 'api_keys' AND schemaname = $1"
	others := ask[string](t, conn, indexes, "public")
	execute(t, conn, "CREATE SCHEMA own")

	migrated(t, url+"&search_path=own,public")
	if got := ask[string](t, conn, indexes, "own"); got != ask[string](t, sqlConn(t, migrated(t, routes[0].database(t))), indexes, "public") {
		t.Errorf("the indexes of the schema are %s", got)
	}
	if got := ask[string](t, conn, indexes, "public"); got != others {
		t.Errorf("the indexes of the other schema are %s, were %s", got, others)
	}
}

func TestAMigrationWaitsForOthersWithoutBlockingThem(t *testing.T) {
	t.Parallel()
	url := routes[0].database(t)
	conn, reader := sqlConn(t, url), sqlConn(t, url)
	earlier(t, conn, earlierVersion)
	execute(t, conn, "BEGIN; SELECT count(*) FROM api_keys") // It holds a lock on the table until it ends.

	var log bytes.Buffer
	o := migrateOptions(t, url)
	o.Timeout, o.Log = 4*time.Second, slog.New(slog.NewTextHandler(&log, nil))
	ended := make(chan error)
	go func() { ended <- Migrate(t.Context(), o) }()
	slowest := time.Duration(0)
	for done := false; !done; {
		select {
		case err := <-ended:
			if err == nil {
				t.Error("it succeeded although it could not")
			}
			done = true
		default:
			start := now()
			execute(t, reader, "SELECT count(*) FROM api_keys; SELECT pg_sleep(0.01)")
			slowest = max(slowest, now().Sub(start))
		}
	}
	if most := lockTimeout + 2*time.Second; slowest > most {
		t.Errorf("a reader waited for %s, more than %s", slowest, most)
	}
	if !bytes.Contains(log.Bytes(), []byte("Waiting for other transactions")) {
		t.Errorf("nobody is told: %s", &log)
	}
	execute(t, conn, "COMMIT")
	migrated(t, url)
	checkSchema(t, conn)
}

func TestAMigrationWaitsForTheDatabaseForABoundedTime(t *testing.T) {
	t.Parallel()
	o := migrateOptions(t, "postgres://nobody@127.0.0.1:1/none")
	o.StartTimeout = 300 * time.Millisecond
	start := now()
	var failure *Error
	if err := Migrate(t.Context(), o); !errors.As(err, &failure) {
		t.Errorf("got error %v", err)
	}
	if took := now().Sub(start); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}
