// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey/apikeytest"
)

// shelf makes a world with keys that differ in everything that can be searched
// for. Their names are what tests expect.
func shelf(t *testing.T) *apikeytest.World {
	t.Helper()
	w := apikeytest.NewWorld(t)
	w.Admins.Names = []string{"admin"}
	now := w.Clock.Now().Truncate(time.Microsecond)
	plain := w.Key("alice", "plain", 10)
	forever := w.Key("alice", "forever", 9)
	forever.ExpiresAt, forever.Description = time.Time{}, "Runs 100% of the nightly_batch"
	used := w.Key("alice", "Used", 8)
	used.LastUsedAt, used.Labels = now.Add(-time.Hour), map[string]string{"team": "search", "env": "prod"}
	expired := w.Key("alice", "expired", 7)
	expired.ExpiresAt, expired.LastUsedAt = now.Add(-time.Minute), now.Add(-2*time.Hour)
	revoked := w.Key("alice", "revoked", 6)
	revoked.Status, revoked.Labels = apikey.StatusRevoked, map[string]string{"team": "search"}
	premium := w.Key("alice", "premium", 5)
	premium.Subscription = "premium"
	ephemeral := w.Key("alice", "ephemeral", 4)
	ephemeral.Ephemeral = true
	w.Store.Add(plain, forever, used, expired, revoked, premium, ephemeral, w.Key("bob", "bobs", 3))
	return w
}

func names(keys []apikey.Key) []string {
	out := make([]string, 0, len(keys))
	for i := range keys {
		out = append(out, keys[i].Name)
	}
	return out
}

func TestSearchFilters(t *testing.T) {
	t.Parallel()
	// E-53, E-55, E-56, E-58, E-61, E-64.
	at := func(hours int) string {
		return time.Date(2026, time.August, 1, 10-hours, 0, 0, 123_456_000, time.UTC).Format(time.RFC3339Nano)
	}
	tests := map[string]struct {
		actor   string
		filters apikey.Filters
		want    []string
	}{
		"none: all of one's own, the newest first": {want: []string{"premium", "revoked", "expired", "Used", "forever", "plain"}},
		"ephemeral ones too":                       {filters: apikey.Filters{IncludeEphemeral: true}, want: []string{"ephemeral", "premium", "revoked", "expired", "Used", "forever", "plain"}},
		"active":                                   {filters: apikey.Filters{Status: []string{"active"}}, want: []string{"premium", "Used", "forever", "plain"}},
		"revoked":                                  {filters: apikey.Filters{Status: []string{" revoked "}}, want: []string{"revoked"}},
		"expired":                                  {filters: apikey.Filters{Status: []string{"expired"}}, want: []string{"expired"}},
		"several states":                           {filters: apikey.Filters{Status: []string{"revoked", "expired", "revoked"}}, want: []string{"revoked", "expired"}},
		"no states":                                {filters: apikey.Filters{Status: []string{}}, want: []string{"premium", "revoked", "expired", "Used", "forever", "plain"}},
		"a subscription":                           {filters: apikey.Filters{Subscription: " premium "}, want: []string{"premium"}},
		"a part of its name":                       {filters: apikey.Filters{Subscription: "prem"}},
		"one's own name":                           {filters: apikey.Filters{Username: "alice", Subscription: "premium"}, want: []string{"premium"}},
		"an administrator: everybody":              {actor: "admin", want: []string{"bobs", "premium", "revoked", "expired", "Used", "forever", "plain"}},
		"an administrator: somebody":               {actor: "admin", filters: apikey.Filters{Username: " bob "}, want: []string{"bobs"}},
		"an administrator: somebody's, revoked":    {actor: "admin", filters: apikey.Filters{Username: "bob", Status: []string{"revoked"}}},
		"somebody without keys":                    {actor: "carol"},
		"a label":                                  {filters: apikey.Filters{LabelsContain: map[string]string{"team": "search"}}, want: []string{"revoked", "Used"}},
		"labels, all of them":                      {filters: apikey.Filters{LabelsContain: map[string]string{"team": "search", "env": "prod"}}, want: []string{"Used"}},
		"a label of another value":                 {filters: apikey.Filters{LabelsContain: map[string]string{"team": "other"}}},
		"created after":                            {filters: apikey.Filters{CreatedAfter: at(6)}, want: []string{"premium"}},
		"created before":                           {filters: apikey.Filters{CreatedBefore: at(9)}, want: []string{"plain"}},
		"created between":                          {filters: apikey.Filters{CreatedAfter: at(9), CreatedBefore: at(6)}, want: []string{"expired", "Used"}},
		"created after, in another zone":           {filters: apikey.Filters{CreatedAfter: "2026-08-01T06:30:00+02:00"}, want: []string{"premium"}},
		"expires after":                            {filters: apikey.Filters{ExpiresAfter: "2026-08-02T00:00:00Z"}, want: []string{"premium", "revoked", "Used", "plain"}},
		"expires before":                           {filters: apikey.Filters{ExpiresBefore: "2026-08-02T00:00:00Z"}, want: []string{"expired"}},
		"last used after":                          {filters: apikey.Filters{LastUsedAfter: at(2)}, want: []string{"Used"}},
		"a part of the name, in any case":          {filters: apikey.Filters{NameContains: "uSe"}, want: []string{"Used"}},
		"a part of the description, in any case":   {filters: apikey.Filters{DescriptionContains: "RUNS"}, want: []string{"forever"}},
		"signs that patterns are made of":          {filters: apikey.Filters{DescriptionContains: "100% of the nightly_"}, want: []string{"forever"}},
		"are no patterns":                          {filters: apikey.Filters{NameContains: "%"}},
		"with an expiry":                           {filters: apikey.Filters{HasExpiration: new(true), Status: []string{"active"}}, want: []string{"premium", "Used", "plain"}},
		"without one":                              {filters: apikey.Filters{HasExpiration: new(false)}, want: []string{"forever"}},
		"used":                                     {filters: apikey.Filters{HasBeenUsed: new(true)}, want: []string{"expired", "Used"}},
		"never used":                               {filters: apikey.Filters{HasBeenUsed: new(false), Status: []string{"active"}}, want: []string{"premium", "forever", "plain"}},
		"several filters must all hold":            {filters: apikey.Filters{NameContains: "e", HasBeenUsed: new(true), Status: []string{"active"}}, want: []string{"Used"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			actor := test.actor
			if actor == "" {
				actor = "alice"
			}
			got, err := shelf(t).Search(t.Context(), apikeytest.Member(actor), apikey.SearchRequest{Filters: test.filters})
			if diff := cmp.Diff(test.want, names(got.Keys), cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Errorf("Search: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestSearchSorts(t *testing.T) {
	t.Parallel()
	// E-57.
	tests := map[string]struct {
		sort apikey.Sort
		want []string
	}{
		"by creation":                      {apikey.Sort{By: " created_at "}, []string{"premium", "revoked", "expired", "Used", "forever", "plain"}},
		"by creation, ascending":           {apikey.Sort{Order: " ASC "}, []string{"plain", "forever", "Used", "expired", "revoked", "premium"}},
		"by name":                          {apikey.Sort{By: "name"}, []string{"revoked", "premium", "plain", "forever", "expired", "Used"}},
		"by name, ascending":               {apikey.Sort{By: "name", Order: "asc"}, []string{"Used", "expired", "forever", "plain", "premium", "revoked"}},
		"by use, the unused ones last":     {apikey.Sort{By: "last_used_at", Order: "Desc"}, []string{"Used", "expired"}},
		"by use, ascending, last as well":  {apikey.Sort{By: "last_used_at", Order: "asc"}, []string{"expired", "Used"}},
		"by expiry, the endless ones last": {apikey.Sort{By: "expires_at", Order: "asc"}, []string{"expired"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := shelf(t).Search(t.Context(), apikeytest.Member("alice"), apikey.SearchRequest{Sort: test.sort})
			if err != nil || len(got.Keys) != 6 {
				t.Fatalf("Search: %d keys, %v", len(got.Keys), err)
			}
			if diff := cmp.Diff(test.want, names(got.Keys)[:len(test.want)]); diff != "" {
				t.Errorf("Search (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSearchPages(t *testing.T) {
	t.Parallel()
	// E-53, E-54.
	tests := map[string]struct {
		page     *apikey.Page
		want     int
		wantMore bool
	}{
		"no page":               {nil, 50, true},
		"ten":                   {&apikey.Page{Limit: new(10)}, 10, true},
		"exactly what there is": {&apikey.Page{Limit: new(75)}, 75, false},
		"a hundred at most":     {&apikey.Page{Limit: new(1000)}, 75, false},
		"the rest":              {&apikey.Page{Limit: new(50), Offset: new(50)}, 25, false},
		"nothing behind it":     {&apikey.Page{Limit: new(50), Offset: new(75)}, 0, false},
		"nothing far behind it": {&apikey.Page{Limit: new(50), Offset: new(1 << 40)}, 0, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := apikeytest.NewWorld(t)
			for i := range 75 {
				w.Store.Add(w.Key("alice", fmt.Sprint("key-", i), i))
			}
			got, err := w.Search(t.Context(), apikeytest.Member("alice"), apikey.SearchRequest{Page: test.page})
			if err != nil || len(got.Keys) != test.want || got.More != test.wantMore || (got.Cursor != "") != test.wantMore {
				t.Errorf("Search: %d keys, more %v, cursor %q, %v; want %d, %v", len(got.Keys), got.More, got.Cursor, err, test.want, test.wantMore)
			}
		})
	}
}

func TestSearchNeverAsksForMoreThanAPage(t *testing.T) {
	t.Parallel()
	w := apikeytest.NewWorld(t)
	for i := range 150 {
		w.Store.Add(w.Key("alice", fmt.Sprint("key-", i), i))
	}
	got, err := w.Search(t.Context(), apikeytest.Member("alice"), apikey.SearchRequest{Page: &apikey.Page{Limit: new(1000)}})
	if err != nil || len(got.Keys) != 100 || !got.More {
		t.Errorf("Search: %d keys, more %v, %v; want 100", len(got.Keys), got.More, err)
	}
}

func TestSearchRefuses(t *testing.T) {
	t.Parallel()
	// E-54, E-55, E-57, E-58, E-61.
	const (
		by    = "invalid sort.by: must be one of: created_at, expires_at, last_used_at, name"
		order = "invalid sort.order: must be asc or desc"
		limit = "pagination.limit must be at least 1"
	)
	tests := map[string]struct {
		request apikey.SearchRequest
		kind    apikey.Kind
		want    string
	}{
		"an unknown state":                {apikey.SearchRequest{Filters: apikey.Filters{Status: []string{"active", "invalid"}}}, apikey.KindInvalid, "invalid status 'invalid': must be active, revoked, or expired"},
		"an empty state":                  {apikey.SearchRequest{Filters: apikey.Filters{Status: []string{""}}}, apikey.KindInvalid, "invalid status '': must be active, revoked, or expired"},
		"somebody else's keys":            {apikey.SearchRequest{Filters: apikey.Filters{Username: "bob"}}, apikey.KindForbidden, "non-admin users can only search their own API keys"},
		"an unknown field":                {apikey.SearchRequest{Sort: apikey.Sort{By: "name; drop table api_keys"}}, apikey.KindInvalid, by},
		"a column of no order":            {apikey.SearchRequest{Sort: apikey.Sort{By: "key_hash"}}, apikey.KindInvalid, by},
		"an unknown order":                {apikey.SearchRequest{Sort: apikey.Sort{Order: "asc nulls first"}}, apikey.KindInvalid, order},
		"a limit of zero":                 {apikey.SearchRequest{Page: &apikey.Page{Limit: new(0)}}, apikey.KindInvalid, limit},
		"a negative limit":                {apikey.SearchRequest{Page: &apikey.Page{Limit: new(-1)}}, apikey.KindInvalid, limit},
		"an offset alone":                 {apikey.SearchRequest{Page: &apikey.Page{Offset: new(10)}}, apikey.KindInvalid, limit},
		"an empty page":                   {apikey.SearchRequest{Page: &apikey.Page{}}, apikey.KindInvalid, limit},
		"a limit of zero beside a cursor": {apikey.SearchRequest{Page: &apikey.Page{Limit: new(0), Cursor: "x"}}, apikey.KindInvalid, limit},
		"a negative offset":               {apikey.SearchRequest{Page: &apikey.Page{Limit: new(1), Offset: new(-1)}}, apikey.KindInvalid, "pagination.offset must be non-negative"},
		"a cursor beside an offset": {
			apikey.SearchRequest{Page: &apikey.Page{Offset: new(1), Cursor: "x"}},
			apikey.KindInvalid,
			"pagination.cursor and pagination.offset exclude each other: leave the offset out",
		},
		"an impossible label":   {apikey.SearchRequest{Filters: apikey.Filters{LabelsContain: map[string]string{"k": ""}}}, apikey.KindInvalid, "label value for key 'k' cannot be empty"},
		"too many labels":       {apikey.SearchRequest{Filters: apikey.Filters{LabelsContain: manyLabels(51)}}, apikey.KindInvalid, "labels cannot exceed 50 key-value pairs"},
		"a date without a time": {apikey.SearchRequest{Filters: apikey.Filters{CreatedAfter: "2026-08-01"}}, apikey.KindInvalid, "invalid filters.createdAfter: must be a time in RFC 3339 such as 2026-01-31T12:00:00Z"},
		"a word for a time":     {apikey.SearchRequest{Filters: apikey.Filters{LastUsedAfter: "infinity"}}, apikey.KindInvalid, "invalid filters.lastUsedAfter: must be a time in RFC 3339 such as 2026-01-31T12:00:00Z"},
		"a time before all":     {apikey.SearchRequest{Filters: apikey.Filters{ExpiresBefore: "0000-01-01T00:00:00Z"}}, apikey.KindInvalid, "invalid filters.expiresBefore: must be a time in RFC 3339 such as 2026-01-31T12:00:00Z"},
		"a time after all":      {apikey.SearchRequest{Filters: apikey.Filters{ExpiresAfter: "9999-12-31T23:59:59-01:00"}}, apikey.KindInvalid, "invalid filters.expiresAfter: must be a time in RFC 3339 such as 2026-01-31T12:00:00Z"},
		"no time between": {
			apikey.SearchRequest{Filters: apikey.Filters{CreatedAfter: "2026-08-01T00:00:00Z", CreatedBefore: "2026-08-01T00:00:00Z"}},
			apikey.KindInvalid,
			"filters.createdAfter must be earlier than filters.createdBefore",
		},
		"no expiry between": {
			apikey.SearchRequest{Filters: apikey.Filters{ExpiresAfter: "2026-08-02T00:00:00Z", ExpiresBefore: "2026-08-01T00:00:00Z"}},
			apikey.KindInvalid,
			"filters.expiresAfter must be earlier than filters.expiresBefore",
		},
		"an expiry of endless keys": {
			apikey.SearchRequest{Filters: apikey.Filters{HasExpiration: new(false), ExpiresBefore: "2026-08-01T00:00:00Z"}},
			apikey.KindInvalid,
			"filters.hasExpiration must not be false beside filters.expiresAfter or filters.expiresBefore",
		},
		"the use of unused keys": {
			apikey.SearchRequest{Filters: apikey.Filters{HasBeenUsed: new(false), LastUsedAfter: "2026-08-01T00:00:00Z"}},
			apikey.KindInvalid,
			"filters.hasBeenUsed must not be false beside filters.lastUsedAfter",
		},
		"a NUL in a subscription":                    {apikey.SearchRequest{Filters: apikey.Filters{Subscription: "a\x00"}}, apikey.KindInvalid, "invalid filters.subscription: must be valid UTF-8 text without the character NUL"},
		"a NUL in a name":                            {apikey.SearchRequest{Filters: apikey.Filters{NameContains: "\x00"}}, apikey.KindInvalid, "invalid filters.nameContains: must be valid UTF-8 text without the character NUL"},
		"a part of a name that is longer than names": {apikey.SearchRequest{Filters: apikey.Filters{NameContains: strings.Repeat("é", 129)}}, apikey.KindInvalid, "invalid filters.nameContains: cannot exceed 128 characters"},
		"a description longer than any":              {apikey.SearchRequest{Filters: apikey.Filters{DescriptionContains: strings.Repeat("é", 1025)}}, apikey.KindInvalid, "invalid filters.descriptionContains: cannot exceed 1024 characters"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shelf(t)
			_, err := w.Search(t.Context(), apikeytest.Member("alice"), test.request)
			if kind, _, message := apikeytest.CodeOf(t, err); kind != test.kind || message != test.want {
				t.Errorf("Search: %v, %q; want %v, %q", kind, message, test.kind, test.want)
			}
			if got := w.Store.Calls("Search"); got != 0 {
				t.Error("the store was asked nevertheless")
			}
		})
	}
}

func TestSearchRefusesUsersThatAreNoText(t *testing.T) {
	t.Parallel()
	w := shelf(t)
	for name, actor := range map[string]apikey.Actor{"a NUL": apikeytest.Member("a\x00"), "no UTF-8": apikeytest.Member("\xff"), "nobody": {}} {
		_, err := w.Search(t.Context(), actor, apikey.SearchRequest{})
		if kind, _, _ := apikeytest.CodeOf(t, err); kind != apikey.KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := w.Search(t.Context(), apikeytest.Member("admin"), apikey.SearchRequest{Filters: apikey.Filters{Username: "a\x00"}})
	if _, _, message := apikeytest.CodeOf(t, err); message != "invalid filters.username: must be valid UTF-8 text without the character NUL" {
		t.Errorf("an administrator asks for one: %v", err)
	}
}

func TestSearchReportsFaultsInTheirOrder(t *testing.T) {
	t.Parallel()
	w := shelf(t)
	w.Admins.Err = errDown
	r := apikey.SearchRequest{
		Filters: apikey.Filters{
			Status: []string{"x"}, Username: "bob", LabelsContain: map[string]string{"": ""}, CreatedAfter: "x", NameContains: "\x00",
		},
		Sort: apikey.Sort{By: "x", Order: "x"}, Page: &apikey.Page{Limit: new(0), Cursor: "x"},
	}
	steps := []struct {
		want string
		mend func()
	}{
		{"invalid status 'x': must be active, revoked, or expired", func() { r.Filters.Status = nil }},
		{"Failed to check authorization", func() { w.Admins.Err = nil }},
		{"non-admin users can only search their own API keys", func() { r.Filters.Username = "" }},
		{"invalid sort.by: must be one of: created_at, expires_at, last_used_at, name", func() { r.Sort.By = "" }},
		{"invalid sort.order: must be asc or desc", func() { r.Sort.Order = "" }},
		{"pagination.limit must be at least 1", func() { r.Page.Limit = nil }},
		{"label keys cannot be empty", func() { r.Filters.LabelsContain = nil }},
		{"invalid filters.createdAfter: must be a time in RFC 3339 such as 2026-01-31T12:00:00Z", func() { r.Filters.CreatedAfter = "" }},
		{"invalid filters.nameContains: must be valid UTF-8 text without the character NUL", func() { r.Filters.NameContains = "" }},
		{"invalid pagination.cursor: it must be the next_cursor of the page before, with the same filters and sorting", func() { r.Page.Cursor = "" }},
		{"pagination.limit must be at least 1", func() { r.Page = nil }},
	}
	for _, step := range steps {
		_, err := w.Search(t.Context(), apikeytest.Member("alice"), r)
		if _, _, message := apikeytest.CodeOf(t, err); message != step.want {
			t.Fatalf("Search: %q, want %q", message, step.want)
		}
		step.mend()
	}
	if _, err := w.Search(t.Context(), apikeytest.Member("alice"), r); err != nil {
		t.Errorf("Search: %v", err)
	}
}

func TestSearchOfOnesOwnNeedsNoCheck(t *testing.T) {
	t.Parallel()
	w := shelf(t)
	w.Admins.Err = errDown
	r := apikey.SearchRequest{Filters: apikey.Filters{Username: "alice"}}
	if got, err := w.Search(t.Context(), apikeytest.Member("alice"), r); err != nil || len(got.Keys) != 6 || w.Admins.Calls() != 0 {
		t.Errorf("Search: %d keys, %v after %d checks", len(got.Keys), err, w.Admins.Calls())
	}
}

func TestEqualKeysAreOrderedByID(t *testing.T) {
	t.Parallel()
	w := apikeytest.NewWorld(t)
	var ids []string
	for i := range 9 {
		k := w.Key("alice", fmt.Sprint("key-", i), 1)
		k.Name = "same"
		w.Store.Add(k)
		ids = append(ids, k.ID)
	}
	slices.Sort(ids)
	got, err := w.Search(t.Context(), apikeytest.Member("alice"), apikey.SearchRequest{Sort: apikey.Sort{By: "name", Order: "asc"}})
	if diff := cmp.Diff(ids, apikeytest.IDs(got.Keys)); err != nil || diff != "" {
		t.Errorf("Search: %v (-want +got):\n%s", err, diff)
	}
}
