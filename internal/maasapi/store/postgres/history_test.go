// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"strings"
	"testing"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/keyindex"
	pgtest "github.com/opendatahub-io/maas-operator/test/postgres"
)

// wantNewHistory fails unless a reader is told to load everything.
func wantNewHistory(t *testing.T, s *Store, since keyindex.Position) {
	t.Helper()
	told, next := changes(t, s, since)
	if next.Database == since.Database {
		t.Error("the history is still the same")
	}
	if len(told) > 0 && !strings.HasPrefix(next.Database, since.Database) {
		t.Errorf("changes of another history were told: %d", len(told))
	}
	// Once it has, it goes on from there.
	_, position := load(t, s)
	wantChanges(t, s, position, "")
}

func TestAnotherHistoryMakesReadersLoadEverything(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t, r.database(t))
			s, conn := open(t, url), sqlConn(t, url)
			for name, change := range map[string]func(p *keyindex.Position){
				"the table was emptied": func(*keyindex.Position) { execute(t, conn, "TRUNCATE api_keys") },
				"an administrator began an epoch": func(*keyindex.Position) {
					execute(t, conn, "UPDATE maas_api_state SET epoch = gen_random_uuid()")
				},
				"transactions went back":         func(p *keyindex.Position) { p.Xid += 1000 },
				"tombstones are no longer there": func(p *keyindex.Position) { p.Now = p.Now.Add(-24 * time.Hour) },
				"it is another database":         func(p *keyindex.Position) { p.Database = "another" },
				"there was none":                 func(p *keyindex.Position) { *p = keyindex.Position{} },
			} {
				t.Log(name)
				insert(t, s, makeKey(name))
				_, position := load(t, s)
				change(&position)
				wantNewHistory(t, s, position)
			}
		})
	}
}

func TestATableRestoredFromABackupIsAnotherHistory(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	s, conn := open(t, url), sqlConn(t, url)
	_, position := load(t, s)
	triggers := ask[string](t, conn, `SELECT string_agg(pg_get_triggerdef(oid), '; ') FROM pg_trigger
		WHERE tgrelid = 'api_keys'::regclass AND NOT tgisinternal`)
	execute(t, conn, "ALTER TABLE api_keys RENAME TO former; CREATE TABLE api_keys (LIKE former INCLUDING ALL)")
	execute(t, conn, "DROP TABLE former; "+triggers)
	wantNewHistory(t, s, position)
}

func TestARestartOfTheServerIsAnotherHistory(t *testing.T) {
	t.Parallel()
	own := startOwn(t)
	url := migrated(t, routes[0].databaseOf(t, own))
	s := open(t, url)
	_, position := load(t, s)
	if err := own.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.pool.Reset() // The first use of a connection would tell that it broke.
	wantNewHistory(t, s, position)
}

// startOwn starts a server for one test.
func startOwn(t *testing.T) *pgtest.Server {
	t.Helper()
	own, err := pgtest.Start(t.Context(), pgtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	return own
}

func TestTheHistoryNamesServerAndTimeline(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	_, position := load(t, open(t, url))
	want := ask[string](t, sqlConn(t, url), "SELECT '/' || system_identifier || '/00000001' FROM pg_control_system()")
	if !strings.HasSuffix(position.Database, want) {
		t.Errorf("%s does not end in %s", position.Database, want)
	}
}

func TestStampsOfARestoredBackupAreNoChanges(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	s, conn := open(t, url), sqlConn(t, url)
	_, position := load(t, s)
	// A backup brings the stamps of another server, whose transactions were far ahead.
	execute(t, conn, "ALTER TABLE api_keys DISABLE TRIGGER USER")
	insert(t, s, makeKey("a"), makeKey("b"))
	execute(t, conn, "UPDATE api_keys SET changed_xid = 1000000000; ALTER TABLE api_keys ENABLE TRIGGER USER")
	wantChanges(t, s, position, "")
	if loaded, _ := load(t, s); len(loaded) != 2 {
		t.Errorf("loaded %d keys", len(loaded))
	}
	if _, err := s.Revoke(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	wantChanges(t, s, position, "a revoked")
}
