// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import (
	"context"
	"errors"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// ErrUnavailable is returned when the database does not answer and the key is
// not known to be good, or was known to be good too long ago.
var ErrUnavailable = errors.New("the database of API keys does not answer")

// ErrBusy is returned for a key that is not held while too many of them are
// being looked up.
var ErrBusy = errors.New("too many unknown API keys are being looked up")

// Position is how far the changes of a database have been read.
type Position struct {
	// Xid is the transaction below which everything is contained in what has been
	// read. It never falls while the database is the same.
	Xid uint64
	// Snapshot is the feed's own note of which later transactions are contained
	// too, so that a long transaction of others does not have everything read again.
	// It may be empty.
	Snapshot string
	// Database identifies the database and its history. When it changes, what was
	// read before means nothing any more. It changes with every start of the
	// server too, because only a server that is down can be put back to an older
	// state.
	Database string
	// Now is what the clock of the database said during the read.
	Now time.Time
}

// Change is the present state of a key that has been changed.
type Change struct {
	Digest apikey.Digest
	// Record is meaningless for a key that has been deleted.
	Record  apikey.Record
	Deleted bool
}

// Feed reads the keys of one tenant. Every method ends when its context does.
// Lookup must see everything that an earlier Changes or Load has seen: all of
// them ask the same database, not a replica of it.
type Feed interface {
	// Load yields keys that are active and not expired, and returns the position
	// of the snapshot it read them in. When there are limit of them or more, it
	// yields as many: those most likely to be used, and these first. It must not stop
	// at a time limit of its own as long as rows arrive.
	Load(ctx context.Context, limit int, yield func(apikey.Digest, apikey.Record) error) (Position, error)
	// Changes yields the present state of every key changed in a transaction that
	// since does not contain. It may yield keys again that were yielded before. It
	// returns the position of the snapshot it read them in, also when since is of
	// another database; then what it yields does not matter.
	Changes(ctx context.Context, since Position, yield func(Change) error) (Position, error)
	// Lookup returns the present state of one key, in whatever status, or
	// [apikey.ErrNotFound]. Every other error means that the database did not
	// answer.
	Lookup(ctx context.Context, digest apikey.Digest) (apikey.Record, error)
	// Listen calls notify as soon as it listens, and again whenever something may
	// have changed, until its connection ends or no longer carries notifications.
	// It returns an error at once where the database cannot be listened to.
	Listen(ctx context.Context, notify func()) error
}
