// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"database/sql"
	"errors"
)

// index is an index of the table api_keys. The statement creates it.
type index struct{ name, create, drop string }

// wantedIndexes serve, in this order: the uniqueness of keys and their look-up;
// lists of a user, of the tenant and of a subscription, and revoking its keys;
// revoking a tenant, and loading its keys; polls for changes; searches by label;
// cleaning up and purging.
func wantedIndexes() []index {
	return []index{
		{
			"idx_api_keys_key_hash_tenant",
			"CREATE UNIQUE INDEX CONCURRENTLY idx_api_keys_key_hash_tenant ON api_keys (key_hash, tenant)",
			"DROP INDEX CONCURRENTLY IF EXISTS idx_api_keys_key_hash_tenant",
		},
		{
			"idx_api_keys_tenant_username_created",
			"CREATE INDEX CONCURRENTLY idx_api_keys_tenant_username_created ON api_keys (tenant, username, created_at DESC)",
			"DROP INDEX CONCURRENTLY IF EXISTS idx_api_keys_tenant_username_created",
		},
		{
			"idx_api_keys_tenant_created",
			"CREATE INDEX CONCURRENTLY idx_api_keys_tenant_created ON api_keys (tenant, created_at DESC, id DESC)",
			"DROP INDEX CONCURRENTLY IF EXISTS idx_api_keys_tenant_created",
		},
		{
			"idx_api_keys_tenant_subscription",
			"CREATE INDEX CONCURRENTLY idx_api_keys_tenant_subscription ON api_keys (tenant, subscription, created_at DESC)",
			"DROP INDEX CONCURRENTLY IF EXISTS idx_api_keys_tenant_subscription",
		},
		{
			"idx_api_keys_tenant_status",
			"CREATE INDEX CONCURRENTLY idx_api_keys_tenant_status ON api_keys (tenant, status)",
			"DROP INDEX CONCURRENTLY IF EXISTS idx_api_keys_tenant_status",
		},
		{
			"idx_api_keys_tenant_changed",
			"CREATE INDEX CONCURRENTLY idx_api_keys_tenant_changed ON api_keys (tenant, changed_xid) WHERE changed_xid IS NOT NULL",
			"DROP INDEX CONCURRENTLY IF EXISTS idx_api_keys_tenant_changed",
		},
		{
			"idx_api_keys_labels_gin",
			"CREATE INDEX CONCURRENTLY idx_api_keys_labels_gin ON api_keys USING gin (labels jsonb_path_ops)",
			"DROP INDEX CONCURRENTLY IF EXISTS idx_api_keys_labels_gin",
		},
		{
			"idx_api_keys_tenant_ephemeral",
			"CREATE INDEX CONCURRENTLY idx_api_keys_tenant_ephemeral ON api_keys (tenant, expires_at) WHERE ephemeral",
			"DROP INDEX CONCURRENTLY IF EXISTS idx_api_keys_tenant_ephemeral",
		},
		{
			"idx_api_keys_purge_after",
			"CREATE INDEX CONCURRENTLY idx_api_keys_purge_after ON api_keys (purge_after) WHERE purge_after IS NOT NULL",
			"DROP INDEX CONCURRENTLY IF EXISTS idx_api_keys_purge_after",
		},
	}
}

// unwantedIndexes are the earlier implementation's that no statement of either
// uses, or that have a better successor. Each of them makes every write dearer;
// that of last_used_at keeps the use of a key from being noted in place.
func unwantedIndexes() []index {
	return []index{
		{name: "idx_api_keys_key_hash", drop: "DROP INDEX CONCURRENTLY IF EXISTS idx_api_keys_key_hash"},
		{name: "idx_api_keys_username_created", drop: "DROP INDEX CONCURRENTLY IF EXISTS idx_api_keys_username_created"},
		{name: "idx_api_keys_last_used", drop: "DROP INDEX CONCURRENTLY IF EXISTS idx_api_keys_last_used"},
		{name: "idx_api_keys_user_groups", drop: "DROP INDEX CONCURRENTLY IF EXISTS idx_api_keys_user_groups"},
		{name: "idx_api_keys_ephemeral_expired", drop: "DROP INDEX CONCURRENTLY IF EXISTS idx_api_keys_ephemeral_expired"},
	}
}

// index builds the indexes that are missing or were not finished, and then drops
// those that are no longer needed.
func (m *migration) index(ctx context.Context) error {
	for _, x := range wantedIndexes() {
		if err := m.build(ctx, x); err != nil {
			return clean("build index "+x.name, err)
		}
	}
	for _, x := range unwantedIndexes() {
		if err := m.discard(ctx, x); err != nil {
			return clean("drop index "+x.name, err)
		}
	}
	return nil
}

// indexState tells whether an index is complete, and whether somebody builds it. An
// index of the same name on the table of another schema is none of ours, even if
// that schema is in the search path.
const indexState = `
SELECT indisvalid AND indisready, EXISTS (SELECT FROM pg_stat_progress_create_index AS p WHERE p.index_relid = i.indexrelid)
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid WHERE i.indrelid = to_regclass('api_keys') AND c.relname = $1`

func (m *migration) build(ctx context.Context, x index) error {
	for {
		var complete, building bool
		err := m.db.QueryRowContext(ctx, indexState, x.name).Scan(&complete, &building)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return m.change(ctx, "Building index", x.name, x.create)
		case err != nil || complete:
			return err
		case building:
			// By the earlier implementation, at its start.
			if !sleep(ctx, m.Clock, disturbedPause) {
				return ctx.Err()
			}
		default:
			if err := m.change(ctx, "Dropping index that was not finished", x.name, x.drop); err != nil {
				return err
			}
		}
	}
}

func (m *migration) discard(ctx context.Context, x index) error {
	var complete, building bool
	err := m.db.QueryRowContext(ctx, indexState, x.name).Scan(&complete, &building)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return m.change(ctx, "Dropping index that is no longer needed", x.name, x.drop)
}

// change runs a statement that no transaction may contain.
func (m *migration) change(ctx context.Context, message, name, statement string) error {
	if err := m.held(ctx); err != nil {
		return err
	}
	m.Log.InfoContext(ctx, message, "index", name)
	start := m.Clock.Now()
	if _, err := m.db.ExecContext(ctx, statement); err != nil {
		return err
	}
	m.Log.InfoContext(ctx, message+" ended", "index", name, "duration", m.Clock.Since(start))
	return nil
}
