// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"context"
	"errors"
	"time"
)

var (
	// ErrNotFound is returned by a store that has no such key.
	ErrNotFound = errors.New("key not found")
	// ErrTenantReplaced is returned by the store of a tenant that was deleted and
	// made again: this process serves the former one and must do no more.
	ErrTenantReplaced = errors.New("tenant replaced")
	// ErrEmptyScope is returned for a bulk operation without any bound.
	ErrEmptyScope = errors.New("neither username nor subscription given")
)

// Store keeps the keys of one tenant. Its errors hold no values of keys or of
// people.
type Store interface {
	// Insert adds a key. Its tenant is the store's.
	Insert(ctx context.Context, k NewKey) error
	// Get returns a key, or ErrNotFound.
	Get(ctx context.Context, id string) (Key, error)
	// Revoke revokes a key and returns it as it is then. ErrNotFound unless it is
	// stored as active, be it past its expiry or not.
	Revoke(ctx context.Context, id string) (Key, error)
	// Search returns q.Limit keys at most, in the order of the query.
	Search(ctx context.Context, q Query) ([]Key, error)
	// CountActive counts the keys that are active and not past their expiry.
	CountActive(ctx context.Context, s Scope) (int64, error)
	// RevokeActive revokes the keys that CountActive counts.
	RevokeActive(ctx context.Context, s Scope) (int64, error)
	// RevokeTenant revokes every key that is stored as active, those past their
	// expiry included, and marks what is to be purged after the retention.
	RevokeTenant(ctx context.Context) (int64, error)
	// DeleteExpiredEphemeral deletes, in batches, ephemeral keys that expired more
	// than 30 minutes ago.
	DeleteExpiredEphemeral(ctx context.Context) (int64, error)
	// PurgeDue deletes, in batches, keys of any tenant whose retention is over.
	PurgeDue(ctx context.Context) (int64, error)
}

// Scope says which keys a bulk operation is about. An empty member is no bound;
// a scope without bounds is refused with [ErrEmptyScope], by the store too.
type Scope struct {
	Username, Subscription string
}

// Empty tells whether the scope has no bounds.
func (s Scope) Empty() bool { return s.Username == "" && s.Subscription == "" }

// SortField is what the keys of a search are ordered by. A store accepts only
// those below, and an empty one for [SortCreatedAt].
type SortField string

// Fields to sort by.
const (
	SortCreatedAt  SortField = "created_at"
	SortExpiresAt  SortField = "expires_at"
	SortLastUsedAt SortField = "last_used_at"
	SortName       SortField = "name"
)

// Valid tells whether keys can be sorted by the field.
func (f SortField) Valid() bool {
	switch f {
	case SortCreatedAt, SortExpiresAt, SortLastUsedAt, SortName:
		return true
	default:
		return false
	}
}

// Query is a search. All of its bounds must hold; zero members are no bounds,
// but for IncludeEphemeral.
type Query struct {
	Username string
	// Statuses are compared with the effective one; any of them will do.
	Statuses     []Status
	Subscription string
	// IncludeEphemeral shows ephemeral keys beside the others.
	IncludeEphemeral bool
	// Labels must all be among those of the key.
	Labels map[string]string

	// Bounds of times exclude the given time. A key that never expires, or was
	// never used, has no such time and is outside any bound of it.
	CreatedAfter, CreatedBefore, ExpiresAfter, ExpiresBefore, LastUsedAfter time.Time

	// NameContains and DescriptionContains are plain text, found regardless of
	// case.
	NameContains, DescriptionContains string

	HasExpiration, HasBeenUsed *bool

	// SortBy orders the keys, descending unless Ascending. Keys without the time
	// come last in either direction. Among equals the id decides, in the same
	// direction.
	SortBy        SortField
	Ascending     bool
	Limit, Offset int
	// After is the place of the last key of the page before; it excludes Offset.
	After *Position
}

// Position is the place of a key in the order of a query: the value of the
// field and the id.
type Position struct {
	ID string
	// Text is the name, when sorted by it.
	Text string
	// Time is the field in all other cases, unless Null: the key has none.
	Time time.Time
	Null bool
}
