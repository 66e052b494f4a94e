// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/keyindex"
)

// What a row of readChanges tells of.
const (
	rowPosition = iota
	rowDeleted
	rowChanged
)

// readChanges tells in one snapshot how far it sees, and what was written by
// transactions that snapshot $3 did not contain: those from $2 on that were
// running or did not exist. It tells no changes if the history is not $4.
//
// Nothing visible was written by a transaction from the end of the present
// snapshot on: what claims to be was restored from elsewhere, and is no change.
// Deletions come first, in case a key was deleted and added again.
//
//nolint:dupword // Columns that have no value.
const readChanges = `
WITH here AS MATERIALIZED (
    SELECT s, pg_snapshot_xmax(s)::text::bigint AS upto, maas_api_history() AS history FROM pg_current_snapshot() AS s)
SELECT 0 AS kind, pg_snapshot_xmin(s)::text::bigint AS xid, s::text AS snapshot, history, clock_timestamp() AS clock, NULL AS key_hash,
       NULL AS id, NULL AS username, NULL AS name, NULL AS subscription, NULL::text[] AS user_groups, NULL AS status,
       NULL::timestamptz AS expires_at
FROM here
UNION ALL
SELECT 1, NULL, NULL, NULL, NULL, key_hash, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM api_key_tombstones
WHERE tenant = $1 AND (SELECT history FROM here) = $4 AND deleted_xid >= $2 AND deleted_xid < (SELECT upto FROM here)
  AND NOT pg_visible_in_snapshot(deleted_xid::text::xid8, $3::text::pg_snapshot)
UNION ALL
SELECT 2, NULL, NULL, NULL, NULL, key_hash, id, username, name, subscription, user_groups, status, expires_at
FROM api_keys
WHERE tenant = $1 AND (SELECT history FROM here) = $4 AND changed_xid >= $2 AND changed_xid < (SELECT upto FROM here)
  AND NOT pg_visible_in_snapshot(changed_xid::text::xid8, $3::text::pg_snapshot)`

// Changes implements [keyindex.Feed].
func (s *Store) Changes(ctx context.Context, since keyindex.Position, yield func(keyindex.Change) error) (keyindex.Position, error) {
	var (
		position keyindex.Position
		refused  error
	)
	args := []any{s.opts.Tenant, int64(since.Xid), snapshotOf(since), since.Database} //nolint:gosec // It came from an int64.
	err := s.run(ctx, s.kinds.polling("read changes"), func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, readChanges, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var row changeRow
			if err := rows.Scan(row.fields()...); err != nil {
				return err
			}
			if row.kind == rowPosition {
				position = row.position()
				continue
			}
			if digest, known := s.digest(ctx, *row.hash); known {
				refused = yield(row.change(digest))
			}
			if refused != nil {
				return refused
			}
		}
		return rows.Err()
	})
	if refused != nil {
		return keyindex.Position{}, refused
	}
	if err != nil {
		return keyindex.Position{}, err
	}
	switch {
	case position.Database != since.Database:
	case position.Xid < since.Xid:
		position.Database += historyRewound
	case position.Now.Sub(since.Now) > memory:
		position.Database += historyForgotten
	}
	return position, nil
}

// changeRow is a row of readChanges.
type changeRow struct {
	kind                                           int
	xid                                            *int64
	snapshot, history                              *string
	clock                                          *time.Time
	hash, id, username, name, subscription, status *string
	groups                                         []string
	expires                                        *time.Time
}

func (r *changeRow) fields() []any {
	return []any{
		&r.kind, &r.xid, &r.snapshot, &r.history, &r.clock, &r.hash,
		&r.id, &r.username, &r.name, &r.subscription, &r.groups, &r.status, &r.expires,
	}
}

func (r *changeRow) position() keyindex.Position {
	return keyindex.Position{
		Xid: uint64(*r.xid), Snapshot: *r.snapshot, Database: *r.history, Now: *r.clock, //nolint:gosec // Transaction ids are positive.
	}
}

func (r *changeRow) change(digest apikey.Digest) keyindex.Change {
	if r.kind == rowDeleted {
		return keyindex.Change{Digest: digest, Deleted: true}
	}
	return keyindex.Change{Digest: digest, Record: apikey.Record{
		ID: *r.id, Username: *r.username, Name: *r.name, Subscription: *r.subscription, Groups: r.groups,
		Status: apikey.Status(*r.status), ExpiresAt: timeOf(r.expires),
	}}
}
