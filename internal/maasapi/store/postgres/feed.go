// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/keyindex"
)

const (
	// memory is for how long changes can be told to somebody who has heard nothing:
	// a little less than tombstones are kept.
	memory = 23 * time.Hour

	// What is appended to a history so that it is no longer the one that a reader
	// knows.
	historyForgotten = "/forgotten"
	historyRewound   = "/rewound"
)

// positionColumns tell how far a statement with the snapshot s sees.
const positionColumns = `pg_snapshot_xmin(s)::text::bigint, s::text, maas_api_history(), clock_timestamp()`

const (
	readPosition = `SELECT ` + positionColumns + ` FROM pg_current_snapshot() AS s`
	// loadKeys prefers keys that were used or made a short time ago.
	loadKeys = `
SELECT key_hash, id, username, name, subscription, user_groups, status, expires_at FROM api_keys
WHERE tenant = $1 AND status = 'active' AND (expires_at IS NULL OR expires_at > now())
ORDER BY GREATEST(last_used_at, created_at) DESC LIMIT $2`
	// loadAllKeys does without an order.
	loadAllKeys = `
SELECT key_hash, id, username, name, subscription, user_groups, status, expires_at FROM api_keys
WHERE tenant = $1 AND status = 'active' AND (expires_at IS NULL OR expires_at > now())`
	countLoad = `
SELECT count(*) FROM (SELECT FROM api_keys
WHERE tenant = $1 AND status = 'active' AND (expires_at IS NULL OR expires_at > now()) LIMIT $2) AS found`

	lookUpKey = `
SELECT id, username, name, subscription, user_groups, status, expires_at FROM api_keys WHERE tenant = $1 AND key_hash = $2`
)

// Load implements [keyindex.Feed].
func (s *Store) Load(ctx context.Context, limit int, yield func(apikey.Digest, apikey.Record) error) (keyindex.Position, error) {
	var (
		position keyindex.Position
		refused  error
	)
	err := s.run(ctx, s.kinds.polling("load keys"), func(ctx context.Context, conn *pgx.Conn) error {
		return transact(ctx, conn, s.begin.snapshot, func(tx pgx.Tx) error {
			var err error
			if position, err = scanPosition(tx.QueryRow(ctx, readPosition)); err != nil {
				return err
			}
			var count int
			if err := tx.QueryRow(ctx, countLoad, s.opts.Tenant, limit).Scan(&count); err != nil {
				return err
			}
			statement, args := loadAllKeys, []any{s.opts.Tenant}
			if count >= limit { // The reader may have asked for one more than it can hold.
				statement, args = loadKeys, []any{s.opts.Tenant, limit}
			}
			rows, err := tx.Query(ctx, statement, args...)
			if err != nil {
				return err
			}
			refused, err = s.each(ctx, rows, func(c keyindex.Change) error { return yield(c.Digest, c.Record) })
			return errors.Join(refused, err)
		})
	})
	if refused != nil {
		return keyindex.Position{}, refused
	}
	return position, err
}

// each yields keys. It returns what yield returned apart from errors of the
// database.
func (s *Store) each(ctx context.Context, rows pgx.Rows, yield func(keyindex.Change) error) (refused, err error) {
	defer rows.Close()
	for rows.Next() {
		var (
			hash    string
			change  keyindex.Change
			expires *time.Time
		)
		r := &change.Record
		if err := rows.Scan(&hash, &r.ID, &r.Username, &r.Name, &r.Subscription, &r.Groups, &r.Status, &expires); err != nil {
			return nil, err
		}
		r.ExpiresAt = timeOf(expires)
		var known bool
		if change.Digest, known = s.digest(ctx, hash); !known {
			continue
		}
		if err := yield(change); err != nil {
			return err, nil
		}
	}
	return nil, rows.Err()
}

// digest reads a stored hash. One that is none belongs to no key that anybody
// could present; it is passed over.
func (s *Store) digest(ctx context.Context, hash string) (apikey.Digest, bool) {
	digest, err := apikey.ParseDigest(hash)
	if err != nil {
		s.opts.Log.WarnContext(ctx, "Passing over a key whose stored hash is no SHA-256 in lower-case hexadecimal digits")
	}
	return digest, err == nil
}

func scanPosition(row pgx.Row) (keyindex.Position, error) {
	var (
		position keyindex.Position
		xid      int64
	)
	err := row.Scan(&xid, &position.Snapshot, &position.Database, &position.Now)
	position.Xid = uint64(xid) //nolint:gosec // Transaction ids are positive.
	return position, err
}

// Lookup implements [keyindex.Feed].
func (s *Store) Lookup(ctx context.Context, digest apikey.Digest) (apikey.Record, error) {
	var (
		r       apikey.Record
		expires *time.Time
	)
	err := s.run(ctx, s.kinds.urgent("look up key"), func(ctx context.Context, conn *pgx.Conn) error {
		err := conn.QueryRow(ctx, lookUpKey, s.opts.Tenant, digest.String()).
			Scan(&r.ID, &r.Username, &r.Name, &r.Subscription, &r.Groups, &r.Status, &expires)
		if errors.Is(err, pgx.ErrNoRows) {
			err = apikey.ErrNotFound
		}
		return err
	})
	r.ExpiresAt = timeOf(expires)
	return r, err
}

// snapshotOf is what a position contained: everything below its transaction, if
// it does not say more.
func snapshotOf(p keyindex.Position) string {
	if p.Snapshot != "" {
		return p.Snapshot
	}
	return fmt.Sprintf("%[1]d:%[1]d:", max(p.Xid, 1))
}
