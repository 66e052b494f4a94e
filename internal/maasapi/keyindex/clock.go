// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import (
	"sync/atomic"
	"time"
)

const (
	// maxRoundTrip bounds the error of the database's clock to half of it: what
	// was measured in a longer exchange is not used.
	maxRoundTrip = 500 * time.Millisecond
	// maxSkew is how far the clock of the database is followed. One that is
	// further off is wrong itself.
	maxSkew = 24 * time.Hour
)

// databaseClock goes by the clock of the database, as told by the last poll,
// and by elapsed time in between. A step of the process's own clock does not
// touch it.
type databaseClock struct {
	// offset is the database's time, in nanoseconds of Unix, at instant zero.
	offset   atomic.Int64
	measured bool
}

func (c *databaseClock) at(elapsed int64) time.Time {
	return time.Unix(0, elapsed+c.offset.Load()).UTC()
}

// measure takes over what the database's clock said between two instants, and
// returns how far that is from the process's own clock. It reports whether the
// difference had to be cut off.
func (c *databaseClock) measure(database time.Time, sent, received int64, own time.Time) (skew time.Duration, cut bool) {
	ownOffset := own.UnixNano() - received
	if database.IsZero() || (c.measured && received-sent > int64(maxRoundTrip)) {
		return time.Duration(c.offset.Load() - ownOffset), false
	}
	c.measured = true
	halfway := sent + (received-sent)/2
	// Sub saturates, so that even an absurd clock is only cut off.
	skew = database.Sub(own.Add(-time.Duration(received - halfway)))
	followed := min(max(skew, -maxSkew), maxSkew)
	c.offset.Store(ownOffset + int64(followed))
	return skew, followed != skew
}
