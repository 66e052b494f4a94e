// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCursorHoldsAPosition(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.August, 1, 10, 0, 0, 123_456_000, time.UTC)
	tests := map[string]struct {
		by       SortField
		position Position
	}{
		"a time":                      {SortCreatedAt, Position{ID: "id", Time: at}},
		"the start of Unix time":      {SortCreatedAt, Position{ID: "id", Time: time.Unix(0, 0).UTC()}},
		"no time":                     {SortExpiresAt, Position{ID: "id", Null: true}},
		"a time that may be missing":  {SortLastUsedAt, Position{ID: "id", Time: at}},
		"a name":                      {SortName, Position{ID: "id", Text: "naïve \"<key>\" 🔑"}},
		"an empty name":               {SortName, Position{ID: "id"}},
		"an id that is no UUID":       {SortCreatedAt, Position{ID: "7 ' --", Time: at}},
		"a time in a far away future": {SortExpiresAt, Position{ID: "id", Time: time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bindingOf("tenant", Query{SortBy: test.by})
			got, err := parseCursor(formatCursor(test.position, b), b, test.by)
			if diff := cmp.Diff(&test.position, got); err != nil || diff != "" {
				t.Errorf("parseCursor: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestForgedCursorHoldsNothingImpossible(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.August, 1, 10, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		by       SortField
		position Position
	}{
		"a NUL in the id":            {SortCreatedAt, Position{ID: "a\x00", Time: at}},
		"a NUL in the name":          {SortName, Position{ID: "id", Text: "a\x00"}},
		"a name where a time is due": {SortCreatedAt, Position{ID: "id", Text: "name"}},
		"no time of creation":        {SortCreatedAt, Position{ID: "id", Null: true}},
		"no name":                    {SortName, Position{ID: "id", Null: true}},
		"a time before all times":    {SortExpiresAt, Position{ID: "id", Time: time.Unix(-1<<60, 0)}},
		"a time after all times":     {SortExpiresAt, Position{ID: "id", Time: time.Unix(1<<60, 0)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bindingOf("tenant", Query{SortBy: test.by})
			if got, err := parseCursor(formatCursor(test.position, b), b, test.by); err == nil {
				t.Errorf("parseCursor = %+v", got)
			}
		})
	}
}

func TestCursorBelongsToATenant(t *testing.T) {
	t.Parallel()
	cursor := formatCursor(Position{ID: "id", Time: time.Unix(1, 0)}, bindingOf("a", Query{}))
	if got, err := parseCursor(cursor, bindingOf("b", Query{}), SortCreatedAt); err == nil {
		t.Errorf("parseCursor = %+v", got)
	}
}
