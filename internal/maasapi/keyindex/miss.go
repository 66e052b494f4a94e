// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

const (
	// missingFor is how long it is believed that a key does not exist.
	missingFor = time.Second
	// failuresUntilDown is after how many look-ups in a row that got no answer the
	// database is left alone until the next poll has tried it.
	failuresUntilDown = 3
)

var errAborted = errors.New("look-up aborted")

// flight is one look-up that everybody waits for who asks for the key
// meanwhile.
type flight struct {
	done chan struct{}
	// record and err are set before done is closed.
	record *apikey.Record
	err    error
	// change is what a poll read of the key meanwhile. It is guarded by the
	// shard's lock.
	change *Change
}

// overtake notes a change. The look-up may have read the key before it, and the
// change will not come again.
func (f *flight) overtake(c *Change) {
	kept := *c
	f.change = &kept
}

// answer is what a look-up came to.
type answer struct {
	record apikey.Record
	err    error
	// began is when the database was asked.
	began int64
}

// ask finds out about a key that is not held, or not confirmed.
func (x *Index) ask(ctx context.Context, t *table, digest apikey.Digest, held bool) (*apikey.Record, error) {
	now := x.elapsed()
	if t.absent(digest, now) {
		x.metrics.negative.Inc()
		return nil, apikey.ErrNotFound
	}
	if now < x.downUntil.Load() {
		return x.outage(digest, nil)
	}
	f, leader, err := x.board(t, digest, held)
	if err != nil {
		x.metrics.busy.Inc()
		return nil, err
	}
	if leader {
		x.fly(ctx, t, digest, f, held)
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the look-up of a key: %w", ctx.Err())
	}
	switch {
	case f.err == nil || errors.Is(f.err, apikey.ErrNotFound):
		x.metrics.missed.Inc()
		return f.record, f.err
	case errors.Is(f.err, ErrBusy) && !held:
		x.metrics.busy.Inc()
		return nil, f.err
	default:
		return x.unanswered(digest, f.err)
	}
}

// unanswered answers for a key of which a look-up has found out nothing.
func (x *Index) unanswered(digest apikey.Digest, cause error) (*apikey.Record, error) {
	if x.silent() {
		return x.outage(digest, cause)
	}
	x.metrics.unavailable.Inc()
	return nil, fmt.Errorf("%w: %w", ErrUnavailable, cause)
}

// board joins the flight for a key, or begins one. Whoever begins it must fly.
func (x *Index) board(t *table, digest apikey.Digest, held bool) (f *flight, leader bool, err error) {
	s := t.shard(digest)
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.flights[digest]; f != nil {
		return f, false, nil
	}
	now := x.elapsed()
	if e := s.entries[digest]; e != nil && now <= e.verified.Load()+int64(x.opts.StaleAfter) {
		// Somebody else has just looked it up.
		f := &flight{done: make(chan struct{}), record: &e.record}
		close(f.done)
		return f, false, nil
	}
	// Until everything is loaded, every key is an unknown one.
	if !held && t.loaded && !x.limiter.AllowN(x.start.Add(time.Duration(now)), 1) {
		return nil, false, ErrBusy
	}
	f = &flight{done: make(chan struct{})}
	s.flights[digest] = f
	return f, true, nil
}

// fly looks the key up and lands the flight, whatever happens. It goes on when
// the caller gives up, because others may wait; it ends by its own deadline.
func (x *Index) fly(ctx context.Context, t *table, digest apikey.Digest, f *flight, held bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), x.opts.LookupTimeout)
	defer cancel()
	a := answer{err: errAborted}
	defer func() { x.land(t, digest, f, &a) }()
	lane := x.unknown
	if held {
		lane = x.held
	}
	select {
	case lane <- struct{}{}:
		defer func() { <-lane }()
	case <-ctx.Done():
		a.err = ErrBusy
		return
	}
	a.began = x.elapsed()
	a.record, a.err = x.opts.Feed.Lookup(ctx, digest)
	x.lookedUp(a.err)
}

// land takes over what was found, unless a poll has read a change since the
// look-up was begun: then the order of the two is unknown, and only an end of
// the key, which is final, is taken from the look-up.
func (x *Index) land(t *table, digest apikey.Digest, f *flight, a *answer) {
	s := t.shard(digest)
	s.mu.Lock()
	delete(s.flights, digest)
	found := a.err == nil
	switch {
	case f.change != nil && (!found || a.record.Status == apikey.StatusActive):
		f.record, f.err = nil, apikey.ErrNotFound
		if !f.change.Deleted {
			f.record, f.err = &f.change.Record, nil
		}
	case found:
		e := t.put(s, digest, &a.record, a.began)
		e.touch(x.elapsed())
		f.record = &e.record
	case errors.Is(a.err, apikey.ErrNotFound):
		t.remove(s, digest)
		s.miss(digest, a.began+int64(missingFor))
		f.err = apikey.ErrNotFound
	default:
		f.err = a.err
	}
	s.mu.Unlock()
	close(f.done)
	t.shrink(digest, x.elapsed())
}

// lookedUp counts the outcome of a look-up, and leaves the database alone after
// several that got no answer.
func (x *Index) lookedUp(err error) {
	switch {
	case err == nil:
		x.metrics.lookups.WithLabelValues(lookupFound).Inc()
	case errors.Is(err, apikey.ErrNotFound):
		x.metrics.lookups.WithLabelValues(lookupNotFound).Inc()
	default:
		x.metrics.lookups.WithLabelValues(lookupError).Inc()
		if x.failures.Add(1) >= failuresUntilDown && x.silent() {
			x.failures.Store(0)
			x.leaveAlone(x.opts.PollInterval)
			x.Nudge()
		}
		return
	}
	x.failures.Store(0)
	x.alive()
}

// alive notes that the database has answered.
func (x *Index) alive() { x.answered.Store(x.elapsed()) }

// silent tells whether the database has not answered anything for so long that
// a look-up without an answer is an outage. One that answers others is slow, and
// may know of a revocation. When the database falls silent, the index is fresh
// for at least as long.
func (x *Index) silent() bool {
	return x.elapsed() >= x.answered.Load()+int64(x.opts.StaleAfter-x.opts.PollInterval)
}

// outage answers while the database does not: keys that were good when it last
// did remain so for the grace.
func (x *Index) outage(digest apikey.Digest, cause error) (*apikey.Record, error) {
	t := x.table.Load()
	confirmed := t.confirmed.Load()
	if e := t.find(digest); e != nil {
		now := x.elapsed()
		if now <= max(confirmed, e.verified.Load())+int64(x.opts.Grace) {
			e.touch(now)
			x.metrics.graced.Inc()
			return &e.record, nil
		}
	}
	x.metrics.unavailable.Inc()
	if cause != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, cause)
	}
	return nil, ErrUnavailable
}
