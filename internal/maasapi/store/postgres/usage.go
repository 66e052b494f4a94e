// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/usage"
)

// writeUsage locks the rows in the order of their ids, so that two processes that
// note the use of the same keys wait for each other instead of blocking each
// other, and then changes a column that no index holds.
const writeUsage = `
WITH news AS MATERIALIZED (
    SELECT k.id, u.at FROM unnest($2::text[], $3::timestamptz[]) AS u(id, at)
    JOIN api_keys AS k ON k.tenant = $1 AND k.id = u.id AND (k.last_used_at IS NULL OR k.last_used_at < u.at)
    ORDER BY k.id FOR NO KEY UPDATE OF k)
UPDATE api_keys AS k SET last_used_at = GREATEST(k.last_used_at, news.at) FROM news WHERE k.tenant = $1 AND k.id = news.id`

// WriteUsage implements [usage.Writer].
func (s *Store) WriteUsage(ctx context.Context, entries []usage.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	ids, times := make([]string, len(entries)), make([]time.Time, len(entries))
	for i, entry := range entries {
		ids[i], times[i] = entry.ID, entry.At
	}
	return s.run(ctx, s.kinds.usual("write usage"), func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, writeUsage, s.opts.Tenant, ids, times)
		return err
	})
}
