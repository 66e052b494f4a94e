// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// keyColumns are what a key consists of, with its effective status.
const keyColumns = `id, username, name, COALESCE(description, ''), subscription, tenant, user_groups, labels,
       CASE WHEN status = 'active' AND expires_at <= now() THEN 'expired' ELSE status END,
       created_at, expires_at, last_used_at, ephemeral`

// insertKey adds a key, unless the tenant belongs to another UID than $15 by
// now. A registration that is under way is waited for.
const insertKey = `
WITH owner AS (SELECT uid FROM tenants WHERE name = $1 FOR KEY SHARE)
INSERT INTO api_keys (tenant, id, username, name, description, key_hash, status, user_groups, created_at, expires_at,
                      last_used_at, ephemeral, subscription, labels)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14
WHERE $15 = '' OR NOT EXISTS (SELECT FROM owner WHERE uid <> $15)`

// Insert implements [apikey.Store].
func (s *Store) Insert(ctx context.Context, k apikey.NewKey) error {
	groups, labels := k.Groups, k.Labels
	if groups == nil {
		groups = []string{}
	}
	if len(labels) == 0 {
		labels = nil
	}
	return s.run(ctx, s.kinds.usual("insert key"), func(ctx context.Context, conn *pgx.Conn) error {
		tag, err := conn.Exec(ctx, insertKey, s.opts.Tenant, k.ID, k.Username, k.Name, k.Description, k.Digest.String(), string(k.Status), groups,
			k.CreatedAt, null(k.ExpiresAt), null(k.LastUsedAt), k.Ephemeral, k.Subscription, labels, s.opts.TenantUID)
		if err == nil && tag.RowsAffected() == 0 {
			err = apikey.ErrTenantReplaced
		}
		return err
	})
}

const getKey = `SELECT ` + keyColumns + ` FROM api_keys WHERE tenant = $1 AND id = $2`

// Get implements [apikey.Store].
func (s *Store) Get(ctx context.Context, id string) (apikey.Key, error) {
	return s.one(ctx, s.kinds.usual("get key"), getKey, id)
}

const revokeKey = `UPDATE api_keys SET status = 'revoked' WHERE tenant = $1 AND id = $2 AND status = 'active'
RETURNING ` + keyColumns

// Revoke implements [apikey.Store].
func (s *Store) Revoke(ctx context.Context, id string) (apikey.Key, error) {
	return s.one(ctx, s.kinds.usual("revoke key"), revokeKey, id)
}

// one runs a statement about one key of the tenant.
func (s *Store) one(ctx context.Context, k kind, statement, id string) (apikey.Key, error) {
	var key apikey.Key
	err := s.run(ctx, k, func(ctx context.Context, conn *pgx.Conn) (err error) {
		key, err = scanKey(conn.QueryRow(ctx, statement, s.opts.Tenant, id))
		if errors.Is(err, pgx.ErrNoRows) {
			err = apikey.ErrNotFound
		}
		return err
	})
	return key, err
}

// scanKey reads [keyColumns].
func scanKey(row pgx.Row) (apikey.Key, error) {
	var (
		k                 apikey.Key
		expires, lastUsed *time.Time
	)
	err := row.Scan(&k.ID, &k.Username, &k.Name, &k.Description, &k.Subscription, &k.Tenant, &k.Groups, &k.Labels, &k.Status,
		&k.CreatedAt, &expires, &lastUsed, &k.Ephemeral)
	k.CreatedAt, k.ExpiresAt, k.LastUsedAt = k.CreatedAt.UTC(), timeOf(expires), timeOf(lastUsed)
	return k, err
}

// null is what stands for a time in the database: nothing if it is zero.
func null(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
