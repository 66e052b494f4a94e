// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

const (
	defaultInterval        = 3 * time.Second
	defaultTimeout         = 5 * time.Second
	defaultShutdownTimeout = 5 * time.Second
	defaultMaxPending      = 100_000

	shardCount = 16
	// batchSize is how many keys one statement is about at most.
	batchSize = 5000
	// retryPause is the time between two attempts at the end.
	retryPause = 100 * time.Millisecond
)

// Options are the settings of a [Recorder]. What is zero takes its default, but
// for Debounce, and for Writer, Clock, Log and Registerer, which must be set.
type Options struct {
	Writer     Writer
	Clock      clock.WithTicker
	Log        *slog.Logger
	Registerer prometheus.Registerer

	// Debounce is for how long further uses of a key are not noted once one was.
	// Zero notes every use.
	Debounce time.Duration
	// Interval is the time between two writes, 3 s by default. Several uses of a
	// key in one interval become one write, of the latest.
	Interval time.Duration
	// Timeout is how long one write may take, 5 s by default.
	Timeout time.Duration
	// ShutdownTimeout is how long writes may take altogether at the end, 5 s by
	// default.
	ShutdownTimeout time.Duration
	// MaxPending bounds the keys that wait to be written, 100,000 by default.
	MaxPending int
}

// Recorder notes uses of keys. Its methods may be called at the same time.
type Recorder struct {
	opts    Options
	metrics *metrics
	seed    maphash.Seed
	shards  [shardCount]shard
	pending atomic.Int64
	swept   int
	failing bool
}

type shard struct {
	mu    sync.Mutex
	stamp map[string]stamp
	// dirty are the ids with a pending use.
	dirty []string
	// latest is the time of the last call for any key.
	latest int64
}

// stamp is what is known of a key, in nanoseconds of Unix; zero is never.
type stamp struct{ written, pending int64 }

// New returns a recorder that writes nothing until [Recorder.Run]. Its metrics
// are registered.
func New(o Options) (*Recorder, error) {
	if o.Writer == nil || o.Clock == nil || o.Log == nil || o.Registerer == nil {
		return nil, errors.New("check options: writer, clock, log and registerer must be set")
	}
	if o.Debounce < 0 || o.MaxPending < 0 {
		return nil, errors.New("check options: neither the debounce nor the bound may be negative")
	}
	o.Interval = cmp.Or(o.Interval, defaultInterval)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.ShutdownTimeout = cmp.Or(o.ShutdownTimeout, defaultShutdownTimeout)
	o.MaxPending = cmp.Or(o.MaxPending, defaultMaxPending)
	r := &Recorder{opts: o, seed: maphash.MakeSeed()}
	for i := range r.shards {
		r.shards[i].stamp = map[string]stamp{}
	}
	var err error
	r.metrics, err = newMetrics(r)
	return r, err
}

func (r *Recorder) shard(id string) *shard {
	return &r.shards[maphash.String(r.seed, id)%shardCount]
}

// Seen notes that a key was used. It never waits for a write, and does not
// allocate for a key that was seen before. A use before the one that was written
// last means that the clock was set back: it is noted as if that were long ago.
func (r *Recorder) Seen(id string, at time.Time) {
	now := at.UnixNano()
	s := r.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = now
	k, known := s.stamp[id]
	switch {
	case k.pending != 0:
		if now > k.pending {
			k.pending = now
			s.stamp[id] = k
		}
	case known && now >= k.written && now-k.written < int64(r.opts.Debounce):
	case r.pending.Load() >= int64(r.opts.MaxPending):
		// The next use tries again.
		r.metrics.dropped.Inc()
	default:
		k.pending = now
		s.stamp[id] = k
		s.dirty = append(s.dirty, id)
		r.pending.Add(1)
	}
}

// Run writes what was noted every interval until the context ends, and then
// what is left. What it cannot write is kept and tried again; at the end it is
// given up after a while, and the error says how much of it there was.
func (r *Recorder) Run(ctx context.Context) error {
	ticker := r.opts.Clock.NewTicker(r.opts.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return r.finish(ctx)
		case <-ticker.C():
			// Once begun, a write is not broken off by the end.
			r.report(ctx, r.flush(context.WithoutCancel(ctx)))
			r.sweep()
		}
	}
}

// finish writes what is left, trying again until the time is over.
func (r *Recorder) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.opts.ShutdownTimeout)
	defer cancel()
	for {
		err := r.flush(ctx)
		if err == nil && r.pending.Load() == 0 {
			return nil
		}
		pause := r.opts.Clock.NewTimer(retryPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			if err == nil {
				err = ctx.Err()
			}
			return fmt.Errorf("write the last uses of %d keys: %w", r.pending.Load(), err)
		case <-pause.C():
		}
	}
}

// report logs when writes begin to fail and when they work again.
func (r *Recorder) report(ctx context.Context, err error) {
	switch {
	case err != nil && !r.failing:
		r.opts.Log.ErrorContext(ctx, "Writing uses of API keys failed; they are kept and tried again", "error", err)
	case err == nil && r.failing:
		r.opts.Log.InfoContext(ctx, "Writing uses of API keys again", "pending", r.pending.Load())
	}
	r.failing = err != nil
}

// flush writes everything that is pending, and keeps what it could not write.
func (r *Recorder) flush(ctx context.Context) error {
	entries := r.collect()
	for len(entries) > 0 {
		batch := entries[:min(batchSize, len(entries))]
		if err := r.write(ctx, batch); err != nil {
			r.keep(entries)
			return err
		}
		r.settle(batch)
		entries = entries[len(batch):]
	}
	return nil
}

func (r *Recorder) write(ctx context.Context, batch []Entry) error {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	if err := r.opts.Writer.WriteUsage(ctx, batch); err != nil {
		r.metrics.writes.WithLabelValues(writeError).Inc()
		return fmt.Errorf("write uses of API keys: %w", err)
	}
	r.metrics.writes.WithLabelValues(writeOK).Inc()
	r.metrics.entries.Add(float64(len(batch)))
	return nil
}

// collect returns what is pending, sorted by id, so that several writers at
// once wait for each other and never for themselves.
func (r *Recorder) collect() []Entry {
	var entries []Entry
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		for _, id := range s.dirty {
			entries = append(entries, Entry{ID: id, At: time.Unix(0, s.stamp[id].pending).UTC()})
		}
		s.dirty = s.dirty[:0]
		s.mu.Unlock()
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.ID, b.ID) })
	return entries
}

// keep has entries collected again.
func (r *Recorder) keep(entries []Entry) {
	for _, e := range entries {
		s := r.shard(e.ID)
		s.mu.Lock()
		s.dirty = append(s.dirty, e.ID)
		s.mu.Unlock()
	}
}

// settle notes that entries were written. A later use that came meanwhile is
// pending as if it came now.
func (r *Recorder) settle(entries []Entry) {
	for _, e := range entries {
		s := r.shard(e.ID)
		s.mu.Lock()
		k := s.stamp[e.ID]
		k.written = e.At.UnixNano()
		if later := k.pending - k.written; later > 0 && later >= int64(r.opts.Debounce) {
			s.dirty = append(s.dirty, e.ID)
		} else {
			k.pending = 0
			r.pending.Add(-1)
		}
		s.stamp[e.ID] = k
		s.mu.Unlock()
	}
}

// sweep forgets, in one shard, keys that were written so long ago that their
// next use is noted anyway.
func (r *Recorder) sweep() {
	r.swept++
	s := &r.shards[r.swept%shardCount]
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, k := range s.stamp {
		if k.pending == 0 && s.latest-k.written >= int64(r.opts.Debounce) {
			delete(s.stamp, id)
		}
	}
}
