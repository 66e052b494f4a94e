// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey/apikeytest"
)

// firstPage returns a search and the cursor behind its first page.
func firstPage(t *testing.T, w *apikeytest.World, actor string, r apikey.SearchRequest) string {
	t.Helper()
	r.Page = &apikey.Page{Limit: new(2)}
	got, err := w.Search(t.Context(), apikeytest.Member(actor), r)
	if err != nil || got.Cursor == "" {
		t.Fatalf("Search: cursor %q, %v", got.Cursor, err)
	}
	return got.Cursor
}

// drawKeys puts keys into a world that often have equal or missing values.
func drawKeys(t *rapid.T, w *apikeytest.World, prefix string, most int) {
	now := w.Clock.Now()
	for i := range rapid.IntRange(0, most).Draw(t, "keys") {
		k := w.Key("alice", fmt.Sprint(prefix, i), rapid.IntRange(0, 3).Draw(t, "age"))
		k.Name = rapid.SampledFrom([]string{"", "a", "A", "é", "b"}).Draw(t, "name")
		for _, at := range []*time.Time{&k.ExpiresAt, &k.LastUsedAt} {
			*at = time.Time{}
			if rapid.Bool().Draw(t, "set") {
				*at = now.Add(time.Duration(rapid.IntRange(-2, 2).Draw(t, "microseconds")) * time.Microsecond)
			}
		}
		w.Store.Add(k)
	}
}

func TestCursorsVisitEveryKeyOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := apikeytest.NewWorld(t)
		drawKeys(rt, w, "before-", 20)
		r := apikey.SearchRequest{Sort: apikey.Sort{
			By:    rapid.SampledFrom([]string{"created_at", "expires_at", "last_used_at", "name"}).Draw(rt, "by"),
			Order: rapid.SampledFrom([]string{"asc", "desc"}).Draw(rt, "order"),
		}}
		all, err := w.Search(t.Context(), apikeytest.Member("alice"), r)
		if err != nil {
			rt.Fatalf("Search: %v", err)
		}
		var visited []string
		r.Page = &apikey.Page{Limit: new(rapid.IntRange(1, 4).Draw(rt, "limit"))}
		for page := 0; ; page++ {
			got, err := w.Search(t.Context(), apikeytest.Member("alice"), r)
			if err != nil {
				rt.Fatalf("Search of page %d: %v", page, err)
			}
			visited = append(visited, apikeytest.IDs(got.Keys)...)
			if !got.More {
				break
			}
			// What is made meanwhile moves nothing.
			drawKeys(rt, w, fmt.Sprint("page-", page, "-"), 1)
			r.Page.Cursor = got.Cursor
			if page > 100 {
				rt.Fatal("the pages have no end")
			}
		}
		known := apikeytest.IDs(all.Keys)
		visited = slices.DeleteFunc(visited, func(id string) bool { return !slices.Contains(known, id) })
		if !slices.Equal(known, visited) {
			rt.Fatalf("the pages show %v, want %v", visited, known)
		}
	})
}

func TestCursorTakesAnotherSizeOfPage(t *testing.T) {
	t.Parallel()
	w := shelf(t)
	cursor := firstPage(t, w, "alice", apikey.SearchRequest{})
	for name, page := range map[string]*apikey.Page{
		"the usual size": {Cursor: cursor}, "another": {Cursor: cursor, Limit: new(3)}, "an offset of zero": {Cursor: cursor, Offset: new(0)},
	} {
		if got, err := w.Search(t.Context(), apikeytest.Member("alice"), apikey.SearchRequest{Page: page}); err != nil || got.Keys[0].Name != "expired" {
			t.Errorf("%s: %v, %v", name, names(got.Keys), err)
		}
	}
}

func TestCursorOfAnotherSearchIsRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		actor   string
		request apikey.SearchRequest
	}{
		"with another filter": {"alice", apikey.SearchRequest{Filters: apikey.Filters{Status: []string{"active"}}}},
		"with a label":        {"alice", apikey.SearchRequest{Filters: apikey.Filters{LabelsContain: map[string]string{"a": "b"}}}},
		"with a time":         {"alice", apikey.SearchRequest{Filters: apikey.Filters{CreatedAfter: "2000-01-01T00:00:00Z"}}},
		"with a truth value":  {"alice", apikey.SearchRequest{Filters: apikey.Filters{HasBeenUsed: new(true)}}},
		"with ephemeral keys": {"alice", apikey.SearchRequest{Filters: apikey.Filters{IncludeEphemeral: true}}},
		"in another order":    {"alice", apikey.SearchRequest{Sort: apikey.Sort{Order: "asc"}}},
		"by another field":    {"alice", apikey.SearchRequest{Sort: apikey.Sort{By: "name"}}},
		"by somebody else":    {"bob", apikey.SearchRequest{}},
		"by an administrator": {"admin", apikey.SearchRequest{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shelf(t)
			test.request.Page = &apikey.Page{Cursor: firstPage(t, w, "alice", apikey.SearchRequest{})}
			_, err := w.Search(t.Context(), apikeytest.Member(test.actor), test.request)
			if kind, code, _ := apikeytest.CodeOf(t, err); kind != apikey.KindInvalid || code != apikey.CodeInvalidCursor {
				t.Errorf("Search: %v", err)
			}
		})
	}
}

func TestCursorOfTheSameFiltersInOtherWordsIsAccepted(t *testing.T) {
	t.Parallel()
	w := shelf(t)
	cursor := firstPage(t, w, "alice", apikey.SearchRequest{Filters: apikey.Filters{Status: []string{"active", "revoked"}}})
	_, err := w.Search(t.Context(), apikeytest.Member("alice"), apikey.SearchRequest{
		Filters: apikey.Filters{Username: "alice", Status: []string{"revoked", " active"}}, Sort: apikey.Sort{By: "created_at", Order: "DESC"},
		Page: &apikey.Page{Cursor: cursor},
	})
	if err != nil {
		t.Errorf("Search: %v", err)
	}
}

func TestChangedCursorIsRefused(t *testing.T) {
	t.Parallel()
	w := shelf(t)
	cursor := firstPage(t, w, "alice", apikey.SearchRequest{})
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatalf("the cursor is no base64: %v", err)
	}
	changed := map[string]string{"cut": cursor[:len(cursor)-4], "prolonged": cursor + "AAAA", "padded": cursor + "=", "broken": cursor[:20] + "\n" + cursor[20:], "no cursor": "x"}
	for i := range raw {
		other := bytes.Clone(raw)
		other[i] ^= 1
		changed[fmt.Sprint("byte ", i)] = base64.RawURLEncoding.EncodeToString(other)
	}
	for name, text := range changed {
		_, err := w.Search(t.Context(), apikeytest.Member("alice"), apikey.SearchRequest{Page: &apikey.Page{Cursor: text}})
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if _, code, _ := apikeytest.CodeOf(t, err); code != apikey.CodeInvalidCursor {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add("x")
	f.Add("eyJpZCI6IjBjOWU0YWMzIn0")
	f.Add(strings.Repeat("A", 200))
	f.Fuzz(func(t *testing.T, cursor string) {
		w := apikeytest.NewWorld(t)
		_, err := w.Search(t.Context(), apikeytest.Member("alice"), apikey.SearchRequest{Page: &apikey.Page{Limit: new(1), Cursor: cursor}})
		if cursor == "" && err == nil {
			return
		}
		if err == nil {
			t.Fatalf("the cursor %q is accepted", cursor)
		}
		if kind, code, _ := apikeytest.CodeOf(t, err); kind != apikey.KindInvalid || code != apikey.CodeInvalidCursor {
			t.Errorf("Search with cursor %q: %v", cursor, err)
		}
	})
}
