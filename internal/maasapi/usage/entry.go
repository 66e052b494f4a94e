// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"context"
	"time"
)

// Entry says when a key was used last.
type Entry struct {
	// ID is the id of the key's row.
	ID string
	At time.Time
}

// Writer writes down when keys were used.
type Writer interface {
	// WriteUsage sets the time at which each key was used last, unless a later one
	// is known. The entries are sorted by id, and each id occurs once. Either all
	// are written or none; ids that no longer exist are passed over.
	WriteUsage(ctx context.Context, entries []Entry) error
}
