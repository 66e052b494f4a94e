// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// Index is a coherent view of the keys of one tenant. Its methods may be called
// at the same time.
type Index struct {
	opts    Options
	metrics *metrics
	start   time.Time
	clock   databaseClock

	table atomic.Pointer[table]
	// everLoaded is set by the first load.
	everLoaded atomic.Bool
	// downUntil is the instant before which the database is known not to answer.
	downUntil atomic.Int64
	// answered is when the database last answered anything.
	answered atomic.Int64
	// failures counts look-ups in a row that got no answer.
	failures atomic.Int32

	limiter       *rate.Limiter
	unknown, held chan struct{}
	nudges        chan struct{}
	refreshes     chan chan error

	// What follows belongs to the poller.

	position  Position
	swept     int
	sweptAt   int64
	troubled  bool
	discarded string
}

// New returns an index that holds nothing until [Index.Run] has loaded it. Its
// metrics are registered.
func New(o Options) (*Index, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	x := &Index{
		opts: o, start: o.Clock.Now(), discarded: reloadStart,
		limiter:   rate.NewLimiter(rate.Limit(o.MissRate), o.MissRate),
		unknown:   make(chan struct{}, o.MissConcurrency),
		held:      make(chan struct{}, o.MissConcurrency),
		nudges:    make(chan struct{}, 1),
		refreshes: make(chan chan error),
	}
	x.clock.offset.Store(x.start.UnixNano())
	x.downUntil.Store(never)
	if x.metrics, err = newMetrics(x); err != nil {
		return nil, err
	}
	x.table.Store(x.newTable())
	return x, nil
}

func (x *Index) newTable() *table { return newTable(x.opts.MaxEntries, x.metrics.evictions.Inc) }

// elapsed is the present instant: nanoseconds since the index was made, by a
// clock that is never set.
func (x *Index) elapsed() int64 { return int64(x.opts.Clock.Since(x.start)) }

// Get returns the record of a key, whatever its status: the caller asks
// [apikey.Record.Refusal]. It returns [apikey.ErrNotFound] when there is no such
// key, [ErrBusy] when too many unknown keys are being looked up, and an error
// that is [ErrUnavailable] when the database does not answer and the key is not
// known, or was confirmed too long ago. It answers within the time limit of
// look-ups, and from memory without waiting or allocating.
func (x *Index) Get(ctx context.Context, digest apikey.Digest) (*apikey.Record, error) {
	t := x.table.Load()
	// The order matters: what was confirmed is read before the entry. The other way
	// round, a poll could replace the entry and vouch for it in between.
	confirmed := t.confirmed.Load()
	e := t.find(digest)
	if e == nil {
		return x.ask(ctx, t, digest, false)
	}
	now := x.elapsed()
	if now <= max(confirmed, e.verified.Load())+int64(x.opts.StaleAfter) {
		e.touch(now)
		x.metrics.hits.Inc()
		return &e.record, nil
	}
	return x.ask(ctx, t, digest, true)
}

// Now is the time by the clock of the database, to judge expiry by: replicas
// agree on it, whatever their own clocks say. It does not allocate.
func (x *Index) Now() time.Time { return x.clock.at(x.elapsed()) }

// Nudge has the database polled for changes at once. It does not wait.
func (x *Index) Nudge() {
	select {
	case x.nudges <- struct{}{}:
	default:
	}
}

// Refresh returns when everything that was committed before it was called is
// taken into account, so that a revocation is in force here once it is
// confirmed to the caller. It waits for [Options.StaleAfter] at most, after
// which that is so in any case; an error is no reason to fail.
func (x *Index) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, x.opts.StaleAfter)
	defer cancel()
	done := make(chan error, 1)
	select {
	case x.refreshes <- done:
	case <-ctx.Done():
		return fmt.Errorf("refresh API keys: %w", ctx.Err())
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("refresh API keys: %w", ctx.Err())
	}
}

// State is what the index goes by.
type State string

// The states of an index.
const (
	// StateLoading: the first load is not done; the database is asked for every
	// key.
	StateLoading State = "loading"
	// StateFresh: what is held was confirmed a short time ago, and is trusted.
	StateFresh State = "fresh"
	// StateStale: what is held was not confirmed lately, or is being loaded anew;
	// the database answers and is asked for every key.
	StateStale State = "stale"
	// StateGrace: the database does not answer; what is held is still trusted.
	StateGrace State = "grace"
	// StateUnavailable: the database has not answered for too long; nobody is let
	// in.
	StateUnavailable State = "unavailable"
)

// State returns the present state.
func (x *Index) State() State {
	t := x.table.Load()
	now, confirmed := x.elapsed(), t.confirmed.Load()
	switch {
	case !x.everLoaded.Load():
		return StateLoading
	case now <= confirmed+int64(x.opts.StaleAfter):
		return StateFresh
	case now >= x.downUntil.Load():
		return StateStale
	case now <= confirmed+int64(x.opts.Grace):
		return StateGrace
	default:
		return StateUnavailable
	}
}

// Ready returns nil once the first load is done, for as long as keys can be
// validated: from memory, by the database, or within the grace.
func (x *Index) Ready() error {
	switch x.State() {
	case StateLoading:
		return errors.New("the API keys have not been loaded yet")
	case StateUnavailable:
		return ErrUnavailable
	default:
		return nil
	}
}
