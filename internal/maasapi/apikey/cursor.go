// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// checkLength is how much of the digest in a cursor is kept, in bytes.
const checkLength = 16

// binding identifies the search that a cursor belongs to.
type binding [sha256.Size]byte

// cursor is what follows the check in a cursor.
type cursor struct {
	ID      string `json:"i"`
	Text    string `json:"t,omitempty"`
	Seconds int64  `json:"s,omitempty"`
	Nanos   int64  `json:"n,omitempty"`
	Null    bool   `json:"z,omitempty"`
}

var cursorEncoding = base64.RawURLEncoding.Strict()

// bindingOf identifies a query by everything but which page of it is wanted.
func bindingOf(tenant string, q Query) binding {
	q.Limit, q.Offset, q.After = 0, 0, nil
	text, err := json.Marshal(struct {
		Tenant string
		Query  Query
	}{tenant, q})
	if err != nil {
		// Only times outside the years 0 to 9999 cannot be encoded, and such bounds
		// are not accepted. Nothing is bound to the zero binding.
		return binding{}
	}
	return sha256.Sum256(text)
}

// positionOf is the place of a key in the order of a query.
func positionOf(k *Key, by SortField) Position {
	p := Position{ID: k.ID}
	switch by {
	case SortName:
		p.Text = k.Name
	case SortExpiresAt:
		p.Time, p.Null = k.ExpiresAt, k.ExpiresAt.IsZero()
	case SortLastUsedAt:
		p.Time, p.Null = k.LastUsedAt, k.LastUsedAt.IsZero()
	default:
		p.Time = k.CreatedAt
	}
	return p
}

// formatCursor writes a position so that it can be given back with the same
// search. A cursor is no secret and gives no rights: whoever forges one sees
// another part of what the search shows them anyway. The check keeps cursors
// from being used with another search, and mistakes from going unnoticed.
func formatCursor(p Position, b binding) string {
	c := cursor{ID: p.ID, Text: p.Text, Null: p.Null}
	if !p.Time.IsZero() {
		c.Seconds, c.Nanos = p.Time.Unix(), int64(p.Time.Nanosecond())
	}
	body, err := json.Marshal(c)
	if err != nil {
		return "" // Texts and numbers can always be encoded.
	}
	return cursorEncoding.EncodeToString(append(check(body, b), body...))
}

func check(body []byte, b binding) []byte {
	sum := sha256.Sum256(append(b[:], body...))
	return sum[:checkLength:checkLength]
}

// parseCursor reads what [formatCursor] wrote for the same search.
func parseCursor(text string, b binding, by SortField) (*Position, error) {
	raw, err := cursorEncoding.DecodeString(text)
	// The decoder passes over line breaks.
	if err != nil || len(raw) < checkLength || strings.ContainsAny(text, "\r\n") || b == (binding{}) {
		return nil, badCursor()
	}
	body := raw[checkLength:]
	var c cursor
	if subtle.ConstantTimeCompare(raw[:checkLength], check(body, b)) != 1 || json.Unmarshal(body, &c) != nil {
		return nil, badCursor()
	}
	p := Position{ID: c.ID, Text: c.Text, Null: c.Null}
	if by != SortName && !c.Null {
		p.Time = time.Unix(c.Seconds, c.Nanos).UTC()
	}
	if !p.possible(by) {
		return nil, badCursor()
	}
	return &p, nil
}

// possible tells whether the store can hold a key at the position. The check of
// a cursor can be computed by anybody.
func (p Position) possible(by SortField) bool {
	if !storable(p.ID) || !storable(p.Text) {
		return false
	}
	switch by {
	case SortName:
		return !p.Null
	case SortExpiresAt, SortLastUsedAt:
	default:
		if p.Null {
			return false
		}
	}
	return p.Text == "" && (p.Null || inCalendar(p.Time))
}

func badCursor() error {
	return &Error{
		Kind: KindInvalid, Code: CodeInvalidCursor,
		Message: "invalid pagination.cursor: it must be the next_cursor of the page before, with the same filters and sorting",
	}
}
