// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// earlierSteps are what the earlier service's migrations amount to, one version
// each. The table of versions is kept beside them.
var earlierSteps = []string{
	1: `
CREATE TABLE api_keys (
    id TEXT PRIMARY KEY, username TEXT NOT NULL, name TEXT NOT NULL, description TEXT, key_hash TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'active', user_groups TEXT[] NOT NULL, created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
    expires_at TIMESTAMPTZ, last_used_at TIMESTAMPTZ,
    CONSTRAINT api_keys_status_check CHECK (status IN ('active', 'revoked', 'expired')));
CREATE INDEX idx_api_keys_username_created ON api_keys (username, created_at DESC);
CREATE UNIQUE INDEX idx_api_keys_key_hash ON api_keys (key_hash);
CREATE INDEX idx_api_keys_last_used ON api_keys (last_used_at) WHERE last_used_at IS NOT NULL;
CREATE INDEX idx_api_keys_user_groups ON api_keys USING GIN (user_groups)`,
	2: `
ALTER TABLE api_keys ADD COLUMN ephemeral BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX idx_api_keys_ephemeral_expired ON api_keys (status, expires_at) WHERE ephemeral`,
	3: `ALTER TABLE api_keys ADD COLUMN subscription TEXT NOT NULL`,
	4: `
ALTER TABLE api_keys ADD COLUMN tenant TEXT NOT NULL DEFAULT 'models-as-a-service';
CREATE INDEX idx_api_keys_tenant_username_created ON api_keys (tenant, username, created_at DESC)`,
	5: `
DROP INDEX idx_api_keys_key_hash;
CREATE UNIQUE INDEX idx_api_keys_key_hash_tenant ON api_keys (key_hash, tenant)`,
	6: `
ALTER TABLE api_keys ADD COLUMN labels JSONB DEFAULT NULL;
ALTER TABLE api_keys ADD CONSTRAINT api_keys_labels_is_object CHECK (labels IS NULL OR jsonb_typeof(labels) = 'object')`,
}

// earlierLabels is built by the earlier service at every start, once it is at its
// last version.
const earlierLabels = `CREATE INDEX CONCURRENTLY IF NOT EXISTS idx_api_keys_labels_gin ON api_keys USING gin (labels jsonb_path_ops)`

// vector is a key of the earlier service with its stored hash.
const (
	vectorText = "sk-oai-testKeyID123_testSecretValue456"
	vectorID   = "2f5a3a8e-0b86-4b34-9a3e-0f6ad8a9f1d2"
)

func vectorHash(t *testing.T) string {
	t.Helper()
	d, err := apikey.Parse(vectorText)
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

// earlier makes a database as the earlier service has it at a version, with one
// key in it.
func earlier(t *testing.T, conn *pgx.Conn, version int) {
	t.Helper()
	for step := 1; step <= version; step++ {
		execute(t, conn, earlierSteps[step])
		if step == 1 {
			execute(t, conn, `INSERT INTO api_keys (id, username, name, description, key_hash, user_groups, created_at, expires_at, last_used_at)
VALUES ($1, 'alice', 'old key', '', $2, '{users,"system:authenticated"}', now() - interval '1 day', now() + interval '1 day', now())`,
				vectorID, vectorHash(t))
		}
		if step == 2 && version > 2 {
			// Its third migration fails if there are keys.
			execute(t, conn, "CREATE TEMPORARY TABLE aside AS TABLE api_keys; DELETE FROM api_keys")
		}
		if step == 3 {
			execute(t, conn, "INSERT INTO api_keys SELECT *, 'gold' FROM aside")
		}
	}
	execute(t, conn, "CREATE TABLE schema_migrations (version bigint NOT NULL PRIMARY KEY, dirty boolean NOT NULL)")
	execute(t, conn, "INSERT INTO schema_migrations VALUES ("+strconv.Itoa(version)+", false)")
	if version == earlierVersion {
		execute(t, conn, earlierLabels)
	}
}

func TestADatabaseOfEveryEarlierVersionIsTakenOverWithItsKeys(t *testing.T) {
	t.Parallel()
	for version := 1; version <= earlierVersion; version++ {
		t.Run("version "+strconv.Itoa(version), func(t *testing.T) {
			t.Parallel()
			url := routes[0].database(t)
			conn := sqlConn(t, url)
			earlier(t, conn, version)
			migrated(t, url)

			s := open(t, url)
			d, err := apikey.Parse(vectorText)
			if err != nil {
				t.Fatal(err)
			}
			record, err := s.Lookup(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			want := apikey.Reason("")
			if version < 3 {
				want = apikey.ReasonNoSubscription // There were no subscriptions yet.
			}
			if got := record.Refusal(now()); got != want {
				t.Errorf("the key is refused with %q, want %q", got, want)
			}
			if loaded, _ := load(t, s); len(loaded) != 1 {
				t.Errorf("loaded %d keys", len(loaded))
			}
			checkSchema(t, conn)
		})
	}
}

// checkSchema compares a database with the plan.
func checkSchema(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for _, x := range wantedIndexes() {
		if valid := ask[bool](t, conn, "SELECT bool_and(indisvalid) FROM pg_index WHERE indexrelid = to_regclass($1)", x.name); !valid {
			t.Errorf("index %s is not valid", x.name)
		}
	}
	for _, x := range unwantedIndexes() {
		if exists := ask[bool](t, conn, "SELECT to_regclass($1) IS NOT NULL", x.name); exists {
			t.Errorf("index %s is still there", x.name)
		}
	}
	if got := ask[string](t, conn, "SELECT version || ' ' || dirty FROM schema_migrations"); got != "6 false" {
		t.Errorf("schema_migrations says %s", got)
	}
	// What an earlier service inserts has to be accepted.
	required := ask[string](t, conn, `SELECT string_agg(column_name, ' ' ORDER BY column_name) FROM information_schema.columns
WHERE table_name = 'api_keys' AND is_nullable = 'NO' AND column_default IS NULL`)
	if want := "id key_hash name subscription user_groups username"; required != want {
		t.Errorf("required columns: %s, want %s", required, want)
	}
}

// earlierStatements are the statements of the earlier service, in their shape.
var earlierStatements = map[string]string{
	"create": `INSERT INTO api_keys (id, username, name, description, key_hash, status, user_groups, created_at, expires_at, ephemeral,
subscription, tenant, labels) VALUES ('earlier', 'bob', 'n', '', 'h', 'active', '{g}', now(), now() + interval '1 hour', false, 'gold',
'models-as-a-service', '{"a":"b"}')`,
	"validate": `SELECT id, username, name, description, user_groups, subscription, tenant, status, expires_at, last_used_at, ephemeral
FROM api_keys WHERE key_hash = 'h' AND tenant = 'models-as-a-service'`,
	"expire":        `UPDATE api_keys SET status = 'expired' WHERE id = 'earlier' AND tenant = 'models-as-a-service' AND status = 'active'`,
	"use":           `UPDATE api_keys SET last_used_at = now() WHERE id = 'earlier' AND tenant = 'models-as-a-service'`,
	"revoke":        `UPDATE api_keys SET status = 'revoked' WHERE id = 'earlier' AND tenant = 'models-as-a-service' AND status = 'active'`,
	"revoke tenant": `UPDATE api_keys SET status = 'revoked' WHERE tenant = 'models-as-a-service' AND status = 'active'`,
	"clean up": `DELETE FROM api_keys WHERE tenant = 'models-as-a-service' AND ephemeral
AND expires_at < now() - interval '30 minutes'`,
	"build index": earlierLabels,
}

func TestTheEarlierServiceCanStillWorkOnTheDatabase(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	conn := sqlConn(t, url)
	s := open(t, url)
	_, position := load(t, s)
	for _, name := range []string{"create", "validate", "use"} {
		execute(t, conn, earlierStatements[name])
	}
	key, err := s.Get(t.Context(), "earlier")
	if err != nil {
		t.Fatal(err)
	}
	if key.Username != "bob" || key.Labels["a"] != "b" || key.LastUsedAt.IsZero() {
		t.Errorf("the key that it made is %+v", key)
	}
	for _, name := range []string{"expire", "revoke", "revoke tenant", "clean up", "build index"} {
		execute(t, conn, earlierStatements[name])
	}
	if got := status(t, conn, "earlier"); got != "expired" {
		t.Errorf("the key that it let expire is %s", got)
	}
	// Its key's hash is none, so the feed passes it over; what matters is the stamp.
	if got := ask[int64](t, conn, "SELECT changed_xid FROM api_keys WHERE id = 'earlier'"); uint64(got) < position.Xid {
		t.Errorf("its changes are not tracked: %d is before %d", got, position.Xid)
	}
}

func TestTheEarlierServiceReadsWhatOursWrites(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	conn := sqlConn(t, url)
	d, err := apikey.Parse(vectorText)
	if err != nil {
		t.Fatal(err)
	}
	insert(t, open(t, url), makeKey("ours", func(k *apikey.NewKey) { k.Digest, k.Description, k.Labels = d, "", nil }))
	got := ask[string](t, conn, `SELECT concat_ws('|', id, username, name, description, array_to_string(user_groups, ','), subscription, tenant,
status, expires_at > now(), last_used_at IS NULL, labels IS NULL) FROM api_keys WHERE key_hash = $1 AND tenant = $2`, vectorHash(t), tenant)
	if want := "ours|alice|key ours||users,system:authenticated|gold|models-as-a-service|active|t|t|t"; got != want {
		t.Errorf("it reads\n%s, want\n%s", got, want)
	}
}

func TestAnEarlierSchemaInAnUnknownStateIsRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		state string
		want  error
	}{
		"unfinished": {"(3, true)", ErrUnfinished},
		"newer":      {"(7, false)", ErrNewer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := routes[0].database(t)
			conn := sqlConn(t, url)
			earlier(t, conn, 2)
			execute(t, conn, "DELETE FROM schema_migrations; INSERT INTO schema_migrations VALUES "+tc.state)
			wantError(t, Migrate(t.Context(), migrateOptions(t, url)), tc.want)
			if ask[bool](t, conn, "SELECT to_regclass('maas_api_migrations') IS NOT NULL") {
				t.Error("the database was changed")
			}
		})
	}
}

func TestAVersionOfTheEarlierServiceThatComesLaterIsRefused(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	execute(t, sqlConn(t, url), "UPDATE schema_migrations SET version = 7")
	wantError(t, Migrate(t.Context(), migrateOptions(t, url)), ErrNewer)
}

// populate adds many keys to a database at the earlier service's last version.
func populate(t *testing.T, conn *pgx.Conn, keys int) {
	t.Helper()
	execute(t, conn, `INSERT INTO api_keys (id, username, name, description, key_hash, status, user_groups, created_at, expires_at, subscription, labels)
SELECT 'id-' || n, 'user-' || n % 997, 'key ' || n, '', encode(sha256(n::text::bytea), 'hex'),
       CASE WHEN n % 10 = 0 THEN 'revoked' ELSE 'active' END, '{users,"system:authenticated"}', now() - n * interval '1 second',
       CASE WHEN n % 7 > 0 THEN now() + n * interval '1 hour' END, 'sub-' || n % 101,
       CASE WHEN n % 5 = 0 THEN jsonb_build_object('team', (n % 50)::text) END
FROM generate_series(1, $1) AS n`, keys)
	execute(t, conn, "ANALYZE api_keys")
}

func TestManyMigrateAPopulatedTableAtOnce(t *testing.T) {
	t.Parallel()
	for _, p := range routes {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			url := p.database(t)
			conn := sqlConn(t, p.direct(t, url))
			earlier(t, conn, earlierVersion)
			populate(t, conn, 30_000)
			const processes = 8
			ended := make(chan error, processes)
			began := now()
			for range processes {
				go func() { ended <- Migrate(t.Context(), migrateOptions(t, url)) }()
			}
			for range processes {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
			t.Logf("%d processes took %s", processes, now().Sub(began).Round(time.Millisecond))
			checkSchema(t, conn)
			if got := ask[int](t, conn, "SELECT count(*) FROM api_keys"); got != 30_001 {
				t.Errorf("%d keys are left", got)
			}
			applied := ask[int](t, conn, "SELECT count(*) FROM maas_api_migrations WHERE version_id > 0")
			if want, err := wantedVersion(); err != nil || int64(applied) != want {
				t.Errorf("%d migrations were applied, want %d (%v)", applied, want, err)
			}
		})
	}
}
