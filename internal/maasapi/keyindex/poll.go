// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

const (
	// pollGap is the least time between two polls, so that a burst of
	// notifications is one poll.
	pollGap = 20 * time.Millisecond
	// loadStall is how long a load may go without its first row: a large table is
	// sorted before.
	loadStall = 30 * time.Second
	// aliveEvery is after how many rows a read is given its time anew.
	aliveEvery = 64
)

var errStalled = errors.New("the database stopped answering")

// Run loads the keys and keeps them coherent until the context ends. It returns
// nil, and leaves nothing running.
func (x *Index) Run(ctx context.Context) error {
	var group sync.WaitGroup
	group.Go(func() { x.poll(ctx) })
	group.Go(func() { x.listen(ctx) })
	group.Wait()
	return nil
}

// poll reads changes until the context ends: every interval, and at once when
// somebody asks for it.
func (x *Index) poll(ctx context.Context) {
	var waiting []chan error
	for ctx.Err() == nil {
		began := x.elapsed()
		err := x.round(ctx)
		for _, w := range waiting {
			w <- err
		}
		waiting = x.pause(ctx, began)
	}
}

// pause waits until the next poll is due, and returns who waits for it. Who
// does so waits for nothing else; a nudge waits for the gap.
func (x *Index) pause(ctx context.Context, began int64) []chan error {
	passed := time.Duration(x.elapsed() - began)
	if passed >= x.opts.PollInterval {
		return x.alsoWaiting(nil)
	}
	due := x.opts.Clock.NewTimer(x.opts.PollInterval - passed)
	defer due.Stop()
	var gap <-chan time.Time
	nudges := x.nudges
	if passed < pollGap {
		early := x.opts.Clock.NewTimer(pollGap - passed)
		defer early.Stop()
		gap, nudges = early.C(), nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case w := <-x.refreshes:
			return x.alsoWaiting([]chan error{w})
		case <-gap:
			gap, nudges = nil, x.nudges
		case <-nudges:
			return nil
		case <-due.C():
			return nil
		}
	}
}

// alsoWaiting adds everybody else who waits for a poll now.
func (x *Index) alsoWaiting(waiting []chan error) []chan error {
	for {
		select {
		case w := <-x.refreshes:
			waiting = append(waiting, w)
		default:
			return waiting
		}
	}
}

// round makes what is held agree with the database once, and finds out whether
// the database answers at all when that fails.
func (x *Index) round(ctx context.Context) error {
	err := x.agree(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	now := x.elapsed()
	if now-x.sweptAt >= int64(x.opts.PollInterval) {
		x.sweptAt = now
		x.swept++
		x.table.Load().sweep(x.swept, now, x.Now())
	}
	if err == nil {
		x.metrics.polls.WithLabelValues(pollOK).Inc()
		x.downUntil.Store(never)
		if x.troubled {
			x.troubled = false
			x.opts.Log.InfoContext(ctx, "Reading changes of API keys again")
		}
		return nil
	}
	x.metrics.polls.WithLabelValues(pollError).Inc()
	answers := x.answers(ctx)
	if !answers {
		// Until the next round has found out.
		x.leaveAlone(x.opts.PollInterval + x.opts.PollTimeout + 2*x.opts.LookupTimeout)
	} else {
		x.downUntil.Store(never)
	}
	if !x.troubled {
		x.troubled = true
		x.opts.Log.ErrorContext(ctx, "Reading changes of API keys failed", "error", err, "databaseAnswers", answers)
	}
	return err
}

// answers asks the database for a key that does not exist.
func (x *Index) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, x.opts.LookupTimeout)
	defer cancel()
	_, err := x.opts.Feed.Lookup(ctx, apikey.Digest{})
	answers := err == nil || errors.Is(err, apikey.ErrNotFound)
	if answers {
		x.alive()
	}
	return answers
}

// leaveAlone has the database asked for no key for a while. It never shortens what
// somebody else has found out: look-ups that were begun before end after it.
func (x *Index) leaveAlone(d time.Duration) {
	until := x.elapsed() + int64(d)
	for {
		current := x.downUntil.Load()
		if current >= until || x.downUntil.CompareAndSwap(current, until) {
			return
		}
	}
}

// agree reads what has changed, and everything when there is nothing to go on
// from.
func (x *Index) agree(ctx context.Context) error {
	if !x.table.Load().loaded {
		if err := x.load(ctx); err != nil {
			return err
		}
	}
	reason, err := x.changes(ctx)
	if err != nil || reason == "" {
		return err
	}
	// What is held comes from another database, or another history of this one.
	// Nothing of it is trusted from here on, and the database is asked for every
	// key until all are loaded.
	x.opts.Log.WarnContext(ctx, "Loading all API keys again, because the database is not what it was", "reason", reason)
	// That it has answered ends an outage before.
	x.downUntil.Store(never)
	x.discarded = reason
	x.table.Load().confirmed.Store(never)
	x.table.Store(x.newTable())
	if err := x.load(ctx); err != nil {
		return err
	}
	if reason, err = x.changes(ctx); err != nil || reason == "" {
		return err
	}
	x.table.Store(x.newTable())
	return fmt.Errorf("load API keys: the database changed meanwhile: %s", reason)
}

// load reads all keys into a new table. It is not trusted before changes have
// been read once more: keys may have been looked up, and found revoked, since
// the load began.
func (x *Index) load(ctx context.Context) error {
	began := x.elapsed()
	next := x.newTable()
	next.loaded, next.complete = true, true
	var position Position
	err := x.guarded(ctx, max(loadStall, x.opts.PollTimeout), x.opts.PollTimeout, func(ctx context.Context, alive func()) (err error) {
		position, err = x.opts.Feed.Load(ctx, x.opts.MaxEntries+1, func(digest apikey.Digest, r apikey.Record) error {
			alive()
			next.fill(digest, &r)
			return nil
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("load API keys: %w", err)
	}
	x.position = position
	x.table.Store(next)
	x.everLoaded.Store(true)
	x.metrics.reloads.WithLabelValues(x.discarded).Inc()
	x.opts.Log.InfoContext(ctx, "Loaded API keys", "keys", next.count.Load(), "complete", next.complete,
		"duration", time.Duration(x.elapsed()-began))
	return nil
}

// changes takes over what has changed since the last position. It returns the
// reason why that position means nothing any more, if so.
func (x *Index) changes(ctx context.Context) (reason string, err error) {
	t, began := x.table.Load(), x.elapsed()
	var position Position
	err = x.guarded(ctx, x.opts.PollTimeout, x.opts.PollTimeout, func(ctx context.Context, alive func()) (err error) {
		position, err = x.opts.Feed.Changes(ctx, x.position, func(c Change) error {
			alive()
			x.metrics.changes.Inc()
			t.apply(&c, began, x.elapsed())
			return nil
		})
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read changes of API keys: %w", err)
	}
	switch {
	case position.Database != x.position.Database:
		return reloadDatabase, nil
	case position.Xid < x.position.Xid:
		return reloadWentBack, nil
	}
	x.position = position
	skew, cut := x.clock.measure(position.Now, began, x.elapsed(), x.opts.Clock.Now())
	x.metrics.skew.Set(skew.Seconds())
	if cut {
		x.opts.Log.WarnContext(ctx, "The clock of the database is more than a day off and is not followed further", "skew", skew)
	}
	t.confirmed.Store(began)
	return "", nil
}

// guarded ends a read that stops making progress: first is how long it may take
// to the first row, or altogether without any, and then is the longest pause
// after it. Like the deadlines of contexts, and of the connections that the read
// waits for, these go by real time, whatever clock the index goes by.
func (x *Index) guarded(ctx context.Context, first, then time.Duration, read func(ctx context.Context, alive func()) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(first, func() { cancel(errStalled) })
	defer timer.Stop()
	rows := 0
	err := read(ctx, func() {
		if rows%aliveEvery == 0 {
			timer.Reset(then)
			x.alive()
		}
		rows++
	})
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		x.alive()
	}
	return err
}
