// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/keyindex"
)

func TestReadersAreToldWhenNothingTracksChanges(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"a trigger is disabled":             "ALTER TABLE api_keys DISABLE TRIGGER maas_api_keys_changed",
		"a trigger is missing":              "DROP TRIGGER maas_api_keys_deleted ON api_keys",
		"the table was copied without them": "CREATE TABLE k2 (LIKE api_keys INCLUDING ALL); ALTER TABLE api_keys RENAME TO k1; ALTER TABLE k2 RENAME TO api_keys",
	}
	for name, statement := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t, routes[0].database(t))
			s := open(t, url)
			_, position := load(t, s)
			execute(t, sqlConn(t, url), statement)
			if _, err := s.Changes(t.Context(), position, func(keyindex.Change) error { return nil }); err == nil {
				t.Error("changes are told as if all were known")
			}
		})
	}
}

func TestWhatReplicationWritesIsTracked(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	s := open(t, url)
	insert(t, s, makeKey("a"))
	_, position := load(t, s)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	conn := sqlConn(t, server.AdminURL(config.Database))
	execute(t, conn, "SET session_replication_role = replica")
	execute(t, conn, "UPDATE api_keys SET status = 'revoked'")
	if changed, _ := changes(t, s, position); len(changed) != 1 {
		t.Errorf("%d changes are told, want 1", len(changed))
	}
}
