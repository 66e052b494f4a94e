// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// searched are the keys that searches look through: one of each kind.
func searched(base time.Time) []apikey.NewKey {
	at := func(hours int) time.Time { return base.Add(time.Duration(hours) * time.Hour) }
	return []apikey.NewKey{
		makeKey("a", func(k *apikey.NewKey) {
			k.Name, k.Description, k.CreatedAt, k.ExpiresAt, k.LastUsedAt = "Alpha 100%", "For CI_jobs", at(-5), at(10), at(-1)
			k.Labels = map[string]string{"team": "x", "env": "prod"}
		}),
		makeKey("b", func(k *apikey.NewKey) {
			k.Name, k.Description, k.CreatedAt, k.ExpiresAt, k.LastUsedAt = "beta", `back\slash 'quote'`, at(-4), time.Time{}, time.Time{}
			k.Username, k.Labels = "bob", map[string]string{"team": "x"}
		}),
		makeKey("c", func(k *apikey.NewKey) {
			k.Name, k.Description, k.CreatedAt, k.ExpiresAt, k.LastUsedAt = "beta", "", at(-3), at(-2), at(-2)
			k.Subscription = "silver"
		}),
		makeKey("d", func(k *apikey.NewKey) {
			k.Name, k.Description, k.CreatedAt, k.ExpiresAt, k.LastUsedAt = "delta", "", at(-3), at(20), time.Time{}
			k.Status = apikey.StatusRevoked
		}),
		makeKey("e", func(k *apikey.NewKey) {
			k.Name, k.Description, k.CreatedAt, k.ExpiresAt, k.Ephemeral = "ephemeral", "", at(-2), at(1), true
		}),
	}
}

func TestASearchFindsWhatEachBoundAllows(t *testing.T) {
	t.Parallel()
	base := now()
	at := func(hours int) time.Time { return base.Add(time.Duration(hours) * time.Hour) }
	cases := map[string]struct {
		query apikey.Query
		want  string
	}{
		"nothing asked for, newest first":     {apikey.Query{}, "d c b a"},
		"ephemeral keys too":                  {apikey.Query{IncludeEphemeral: true}, "e d c b a"},
		"a user":                              {apikey.Query{Username: "bob"}, "b"},
		"a user who is a pattern":             {apikey.Query{Username: "%"}, ""},
		"a subscription":                      {apikey.Query{Subscription: "silver"}, "c"},
		"active, not those past expiry":       {apikey.Query{Statuses: []apikey.Status{apikey.StatusActive}}, "b a"},
		"expired, those past expiry":          {apikey.Query{Statuses: []apikey.Status{apikey.StatusExpired}}, "c"},
		"revoked":                             {apikey.Query{Statuses: []apikey.Status{apikey.StatusRevoked}}, "d"},
		"two states":                          {apikey.Query{Statuses: []apikey.Status{apikey.StatusRevoked, apikey.StatusExpired}}, "d c"},
		"a label":                             {apikey.Query{Labels: map[string]string{"team": "x"}}, "b a"},
		"two labels":                          {apikey.Query{Labels: map[string]string{"team": "x", "env": "prod"}}, "a"},
		"no such label":                       {apikey.Query{Labels: map[string]string{"team": "'}"}}, ""},
		"made after":                          {apikey.Query{CreatedAfter: at(-4)}, "d c"},
		"made before":                         {apikey.Query{CreatedBefore: at(-4)}, "a"},
		"expires after":                       {apikey.Query{ExpiresAfter: at(5)}, "d a"},
		"expires before":                      {apikey.Query{ExpiresBefore: at(15)}, "c a"},
		"used after":                          {apikey.Query{LastUsedAfter: at(-2)}, "a"},
		"name, whatever the case":             {apikey.Query{NameContains: "ALPHA"}, "a"},
		"name with a percent sign":            {apikey.Query{NameContains: "0%"}, "a"},
		"name that is a pattern":              {apikey.Query{NameContains: "%a%"}, ""},
		"description with an underscore":      {apikey.Query{DescriptionContains: "ci_jobs"}, "a"},
		"description that is a pattern":       {apikey.Query{DescriptionContains: "ci_job_"}, ""},
		"description with a backslash":        {apikey.Query{DescriptionContains: `k\s`}, "b"},
		"description with a quote":            {apikey.Query{DescriptionContains: `'quote'`}, "b"},
		"description that ends a statement":   {apikey.Query{DescriptionContains: `'); DROP TABLE api_keys; --`}, ""},
		"with an expiry":                      {apikey.Query{HasExpiration: new(true)}, "d c a"},
		"without an expiry":                   {apikey.Query{HasExpiration: new(false)}, "b"},
		"used":                                {apikey.Query{HasBeenUsed: new(true)}, "c a"},
		"never used":                          {apikey.Query{HasBeenUsed: new(false)}, "d b"},
		"by name":                             {apikey.Query{SortBy: apikey.SortName, Ascending: true}, "a b c d"},
		"by name, descending":                 {apikey.Query{SortBy: apikey.SortName}, "d c b a"},
		"by expiry, none last":                {apikey.Query{SortBy: apikey.SortExpiresAt, Ascending: true}, "c a d b"},
		"by expiry, descending, none last":    {apikey.Query{SortBy: apikey.SortExpiresAt}, "d a c b"},
		"by last use, never last":             {apikey.Query{SortBy: apikey.SortLastUsedAt, Ascending: true}, "c a b d"},
		"by last use, descending, nulls last": {apikey.Query{SortBy: apikey.SortLastUsedAt}, "a c d b"},
		"by creation, ascending":              {apikey.Query{SortBy: apikey.SortCreatedAt, Ascending: true}, "a b c d"},
		"an offset":                           {apikey.Query{Offset: 1}, "c b a"},
		"a limit":                             {apikey.Query{Limit: 2}, "d c"},
		"everything at once": {apikey.Query{
			Username: "alice", Statuses: []apikey.Status{apikey.StatusActive}, Subscription: "gold", Labels: map[string]string{"env": "prod"},
			CreatedAfter: at(-6), CreatedBefore: at(0), ExpiresAfter: at(0), ExpiresBefore: at(11), LastUsedAfter: at(-3),
			NameContains: "a", DescriptionContains: "c", HasExpiration: new(true), HasBeenUsed: new(true),
		}, "a"},
	}
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t, r.database(t))
			s := open(t, url)
			insert(t, s, searched(base)...)
			for name, tc := range cases {
				if tc.query.Limit == 0 {
					tc.query.Limit = 10
				}
				if got := idsOf(search(t, s, tc.query)); got != tc.want {
					t.Errorf("%s: got %q, want %q", name, got, tc.want)
				}
			}
		})
	}
}

func search(t *testing.T, s *Store, q apikey.Query) []apikey.Key {
	t.Helper()
	keys, err := s.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func idsOf(keys []apikey.Key) string {
	ids := make([]string, len(keys))
	for i, k := range keys {
		ids[i] = k.ID
	}
	return strings.Join(ids, " ")
}

func TestPagesFollowEachOtherWithoutGapsInEveryOrder(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t, r.database(t))
			s := open(t, url)
			base := now()
			for i := range 23 {
				insert(t, s, makeKey(fmt.Sprintf("%02d", i), func(k *apikey.NewKey) {
					// Many equals, and many without a time.
					k.Name, k.CreatedAt = fmt.Sprint("name ", i%3), base.Add(time.Duration(i%4)*time.Microsecond)
					k.ExpiresAt, k.LastUsedAt = time.Time{}, time.Time{}
					if i%3 > 0 {
						k.ExpiresAt, k.LastUsedAt = base.Add(time.Duration(i%3)*time.Hour), base.Add(-time.Duration(i%3)*time.Hour)
					}
				}))
			}
			for _, by := range []apikey.SortField{apikey.SortCreatedAt, apikey.SortName, apikey.SortExpiresAt, apikey.SortLastUsedAt} {
				for _, ascending := range []bool{true, false} {
					all := idsOf(search(t, s, apikey.Query{SortBy: by, Ascending: ascending, Limit: 100}))
					var paged []apikey.Key
					q := apikey.Query{SortBy: by, Ascending: ascending, Limit: 4}
					for {
						page := search(t, s, q)
						paged = append(paged, page...)
						if len(page) < q.Limit {
							break
						}
						q.After = positionOf(page[len(page)-1], by)
					}
					if got := idsOf(paged); got != all {
						t.Errorf("%s, ascending %t: pages give\n%s, want\n%s", by, ascending, got, all)
					}
				}
			}
		})
	}
}

func positionOf(k apikey.Key, by apikey.SortField) *apikey.Position {
	at := map[apikey.SortField]time.Time{
		apikey.SortCreatedAt: k.CreatedAt, apikey.SortExpiresAt: k.ExpiresAt, apikey.SortLastUsedAt: k.LastUsedAt,
	}[by]
	if by == apikey.SortName {
		return &apikey.Position{ID: k.ID, Text: k.Name}
	}
	return &apikey.Position{ID: k.ID, Time: at, Null: at.IsZero()}
}

func TestASearchThatTheServiceShouldHaveRefusedIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, migrated(t, routes[0].database(t)))
	insert(t, s, makeKey("kept"))
	for name, q := range map[string]apikey.Query{
		"an order that is a statement": {SortBy: "name; DROP TABLE api_keys", Limit: 1},
		"an order by another column":   {SortBy: "key_hash", Limit: 1},
		"no limit":                     {},
		"a negative limit":             {Limit: -1},
		"a negative offset":            {Limit: 1, Offset: -1},
		"an offset beside a position":  {Limit: 1, Offset: 1, After: &apikey.Position{}},
	} {
		if _, err := s.Search(t.Context(), q); err == nil {
			t.Errorf("%s was searched", name)
		}
	}
	if _, err := s.Get(t.Context(), "kept"); err != nil {
		t.Error(err)
	}
}

func TestASearchShowsEveryMember(t *testing.T) {
	t.Parallel()
	s := open(t, migrated(t, routes[0].database(t)))
	want := makeKey("all", func(k *apikey.NewKey) {
		k.Ephemeral, k.LastUsedAt, k.Labels = true, now(), map[string]string{"a": "b"}
	})
	insert(t, s, want)
	got := search(t, s, apikey.Query{Limit: 1, IncludeEphemeral: true})
	if diff := cmp.Diff([]apikey.Key{want.Key}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
