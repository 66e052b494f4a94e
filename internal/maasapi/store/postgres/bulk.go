// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// batch is how many keys one statement deletes at most.
const batch = 1000

// inScope selects the keys of a tenant that are in force. An empty bound is none.
const inScope = `tenant = $1 AND status = 'active' AND (expires_at IS NULL OR expires_at > now())
  AND ($2 = '' OR username = $2) AND ($3 = '' OR subscription = $3)`

const countActive = `SELECT count(*) FROM api_keys WHERE ` + inScope

// CountActive implements [apikey.Store].
func (s *Store) CountActive(ctx context.Context, scope apikey.Scope) (int64, error) {
	if scope.Empty() {
		return 0, apikey.ErrEmptyScope
	}
	var count int64
	err := s.run(ctx, s.kinds.usual("count keys"), func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, countActive, s.opts.Tenant, scope.Username, scope.Subscription).Scan(&count)
	})
	return count, err
}

const revokeActive = `UPDATE api_keys SET status = 'revoked' WHERE ` + inScope

// RevokeActive implements [apikey.Store].
func (s *Store) RevokeActive(ctx context.Context, scope apikey.Scope) (int64, error) {
	if scope.Empty() {
		return 0, apikey.ErrEmptyScope
	}
	return s.changeMany(ctx, "revoke keys", revokeActive, s.opts.Tenant, scope.Username, scope.Subscription)
}

const deleteExpiredEphemeral = `
DELETE FROM api_keys WHERE tenant = $1 AND id IN (
    SELECT id FROM api_keys WHERE tenant = $1 AND ephemeral AND expires_at < now() - interval '30 minutes'
    ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)`

// DeleteExpiredEphemeral implements [apikey.Store].
func (s *Store) DeleteExpiredEphemeral(ctx context.Context) (int64, error) {
	return s.inBatches(ctx, "delete ephemeral keys", deleteExpiredEphemeral, s.opts.Tenant, batch)
}

// The statements that purge are about all tenants: a tenant that is gone has no
// process of its own left.
const (
	purgeKeys = `
DELETE FROM api_keys WHERE id IN (
    SELECT id FROM api_keys WHERE purge_after <= now() AND invalidated_at IS NOT NULL AND status <> 'active'
    ORDER BY purge_after LIMIT $1 FOR UPDATE SKIP LOCKED)`
	purgeTombstones = `
DELETE FROM api_key_tombstones WHERE ctid IN (
    SELECT ctid FROM api_key_tombstones WHERE deleted_at < now() - interval '24 hours'
    ORDER BY deleted_at LIMIT $1 FOR UPDATE SKIP LOCKED)`
)

// PurgeDue implements [apikey.Store]. It also forgets deletions that every reader
// has long known of.
func (s *Store) PurgeDue(ctx context.Context) (int64, error) {
	if _, err := s.inBatches(ctx, "purge tombstones", purgeTombstones, batch); err != nil {
		return 0, err
	}
	return s.inBatches(ctx, "purge keys", purgeKeys, batch)
}

// changeMany runs one statement that may change many rows.
func (s *Store) changeMany(ctx context.Context, name, statement string, args ...any) (int64, error) {
	var changed int64
	err := s.run(ctx, s.kinds.long(name), func(ctx context.Context, conn *pgx.Conn) error {
		return transact(ctx, conn, s.begin.long, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, statement, args...)
			changed = tag.RowsAffected()
			return err
		})
	})
	return changed, err
}

// inBatches runs a statement, whose last argument bounds the rows it changes,
// until it finds fewer. Rows that another process works on are left to that one.
func (s *Store) inBatches(ctx context.Context, name, statement string, args ...any) (int64, error) {
	var total int64
	for {
		changed, err := s.changeMany(ctx, name, statement, args...)
		total += changed
		if err != nil || changed < batch {
			return total, err
		}
	}
}
