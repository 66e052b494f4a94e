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
)

// errQuery is returned for a query that the service should have refused.
var errQuery = errors.New("search keys: the order, the bounds or the page of the query cannot be served")

// searchKeys selects by all bounds of a query; one that is null is none. Texts are
// looked for as they are: nothing in them is a pattern. The server plans with the
// values at hand, so that bounds that are not there cost nothing.
const searchKeys = `SELECT ` + keyColumns + ` FROM api_keys
WHERE tenant = $1
  AND ($2::text IS NULL OR username = $2)
  AND ($3::text[] IS NULL OR CASE WHEN status = 'active' AND expires_at <= now() THEN 'expired' ELSE status END = ANY($3))
  AND ($4::text IS NULL OR subscription = $4)
  AND ($5::boolean OR NOT ephemeral)
  AND ($6::jsonb IS NULL OR labels @> $6)
  AND ($7::timestamptz IS NULL OR created_at > $7)
  AND ($8::timestamptz IS NULL OR created_at < $8)
  AND ($9::timestamptz IS NULL OR expires_at > $9)
  AND ($10::timestamptz IS NULL OR expires_at < $10)
  AND ($11::timestamptz IS NULL OR last_used_at > $11)
  AND ($12::text IS NULL OR strpos(lower(name), lower($12)) > 0)
  AND ($13::text IS NULL OR strpos(lower(description), lower($13)) > 0)
  AND ($14::boolean IS NULL OR (expires_at IS NOT NULL) = $14)
  AND ($15::boolean IS NULL OR (last_used_at IS NOT NULL) = $15)
  AND ($18::text IS NULL OR `

// The order of each kind of search, after what a page before may have left over:
// $18 is the id of its last key, $19 the text, $20 the time, null for none.
const (
	pageEnd = ` LIMIT $16 OFFSET $17`

	byCreatedDescending = `(created_at, id) < ($20::timestamptz, $18)) AND ($19::text IS NULL)
ORDER BY created_at DESC, id DESC` + pageEnd
	byCreatedAscending = `(created_at, id) > ($20::timestamptz, $18)) AND ($19::text IS NULL)
ORDER BY created_at, id` + pageEnd
	byNameDescending = `(name, id) < ($19::text, $18)) AND ($20::timestamptz IS NULL)
ORDER BY name DESC, id DESC` + pageEnd
	byNameAscending = `(name, id) > ($19::text, $18)) AND ($20::timestamptz IS NULL)
ORDER BY name, id` + pageEnd
	byExpiryDescending = `(expires_at, id) < ($20::timestamptz, $18) OR expires_at IS NULL AND ($20::timestamptz IS NOT NULL OR id < $18))
  AND ($19::text IS NULL) ORDER BY expires_at DESC NULLS LAST, id DESC` + pageEnd
	byExpiryAscending = `(expires_at, id) > ($20::timestamptz, $18) OR expires_at IS NULL AND ($20::timestamptz IS NOT NULL OR id > $18))
  AND ($19::text IS NULL) ORDER BY expires_at, id` + pageEnd
	byLastUsedDescending = `(last_used_at, id) < ($20::timestamptz, $18) OR last_used_at IS NULL AND ($20::timestamptz IS NOT NULL OR id < $18))
  AND ($19::text IS NULL) ORDER BY last_used_at DESC NULLS LAST, id DESC` + pageEnd
	byLastUsedAscending = `(last_used_at, id) > ($20::timestamptz, $18) OR last_used_at IS NULL AND ($20::timestamptz IS NOT NULL OR id > $18))
  AND ($19::text IS NULL) ORDER BY last_used_at, id` + pageEnd
)

// searchStatement is the allow-list of orders.
func searchStatement(by apikey.SortField, ascending bool) (string, bool) {
	type order struct {
		by        apikey.SortField
		ascending bool
	}
	statement, allowed := map[order]string{
		{"", false}:                    searchKeys + byCreatedDescending,
		{"", true}:                     searchKeys + byCreatedAscending,
		{apikey.SortCreatedAt, false}:  searchKeys + byCreatedDescending,
		{apikey.SortCreatedAt, true}:   searchKeys + byCreatedAscending,
		{apikey.SortName, false}:       searchKeys + byNameDescending,
		{apikey.SortName, true}:        searchKeys + byNameAscending,
		{apikey.SortExpiresAt, false}:  searchKeys + byExpiryDescending,
		{apikey.SortExpiresAt, true}:   searchKeys + byExpiryAscending,
		{apikey.SortLastUsedAt, false}: searchKeys + byLastUsedDescending,
		{apikey.SortLastUsedAt, true}:  searchKeys + byLastUsedAscending,
	}[order{by, ascending}]
	return statement, allowed
}

// Search implements [apikey.Store].
func (s *Store) Search(ctx context.Context, q apikey.Query) ([]apikey.Key, error) {
	statement, allowed := searchStatement(q.SortBy, q.Ascending)
	if !allowed || q.Limit < 1 || q.Offset < 0 || q.After != nil && q.Offset != 0 {
		return nil, errQuery
	}
	afterID, afterText, afterTime := page(q)
	var labels map[string]string
	if len(q.Labels) > 0 {
		labels = q.Labels
	}
	args := []any{
		s.opts.Tenant, orNull(q.Username), statuses(q.Statuses), orNull(q.Subscription), q.IncludeEphemeral, labels,
		null(q.CreatedAfter), null(q.CreatedBefore), null(q.ExpiresAfter), null(q.ExpiresBefore), null(q.LastUsedAfter),
		orNull(q.NameContains), orNull(q.DescriptionContains), q.HasExpiration, q.HasBeenUsed,
		q.Limit, q.Offset, afterID, afterText, afterTime,
	}
	var keys []apikey.Key
	err := s.run(ctx, s.kinds.usual("search keys"), func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, statement, args...)
		if err != nil {
			return err
		}
		keys, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (apikey.Key, error) { return scanKey(row) })
		return err
	})
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// page is where the page before ended.
func page(q apikey.Query) (id, text *string, at *time.Time) {
	switch {
	case q.After == nil:
		return nil, nil, nil
	case q.SortBy == apikey.SortName:
		return &q.After.ID, &q.After.Text, nil
	case q.After.Null:
		return &q.After.ID, nil, nil
	default:
		return &q.After.ID, nil, &q.After.Time
	}
}

func statuses(all []apikey.Status) []string {
	if len(all) == 0 {
		return nil
	}
	texts := make([]string, len(all))
	for i, status := range all {
		texts[i] = fmt.Sprint(status)
	}
	return texts
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
