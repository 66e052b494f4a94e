// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

const (
	// shardCount is a power of two; digests are spread evenly by themselves.
	shardCount = 64
	// maxMissingPerShard bounds the keys of which is remembered that they do not
	// exist, to about 8000 altogether.
	maxMissingPerShard = 128
	// sampleSize is among how many entries the least recently used one is sought
	// when one must leave.
	sampleSize = 8
	// idleEnded is for how long a key that has ended is kept without being used:
	// a client that goes on trying it is refused from memory.
	idleEnded = time.Minute
	// never is an instant before all others that can still be added to.
	never = int64(math.MinInt64 / 2)
)

// entry is a key that is held. The record is never modified: a changed key is
// another entry.
type entry struct {
	record apikey.Record
	// verified is when the database was asked last for this key alone.
	verified atomic.Int64
	// used is the second in which the key was used last.
	used atomic.Uint32
}

func (e *entry) ended() bool { return e.record.Status != apikey.StatusActive }

func (e *entry) touch(now int64) {
	second := uint32(now / int64(time.Second)) //nolint:gosec // Wraps after 136 years of running.
	if e.used.Load() != second {
		e.used.Store(second)
	}
}

// table is what is held of one database. All instants are nanoseconds since the
// index was made. Another database, or another history of it, is another table,
// so that nothing which was begun on the former can reach it.
type table struct {
	shards [shardCount]shard
	count  atomic.Int64
	max    int64
	names  *interner
	// confirmed is when the last completed poll of this table began: the database
	// confirmed everything in it.
	confirmed atomic.Int64
	// loaded and complete are set before the table is published. Complete means
	// that all active keys fitted when it was loaded.
	loaded, complete bool
	evicted          func()
}

type shard struct {
	mu      sync.RWMutex
	entries map[apikey.Digest]*entry
	// missing are keys that do not exist, with the instant until which that is
	// believed.
	missing map[apikey.Digest]int64
	flights map[apikey.Digest]*flight
}

func newTable(limit int, evicted func()) *table {
	t := &table{max: int64(limit), names: newInterner(), evicted: evicted}
	t.confirmed.Store(never)
	for i := range t.shards {
		t.shards[i].entries = map[apikey.Digest]*entry{}
		t.shards[i].missing = map[apikey.Digest]int64{}
		t.shards[i].flights = map[apikey.Digest]*flight{}
	}
	return t
}

func (t *table) shard(digest apikey.Digest) *shard { return &t.shards[digest[0]%shardCount] }

func (t *table) find(digest apikey.Digest) *entry {
	s := t.shard(digest)
	s.mu.RLock()
	e := s.entries[digest]
	s.mu.RUnlock()
	return e
}

// absent tells whether the database said a moment ago that there is no such key.
func (t *table) absent(digest apikey.Digest, now int64) bool {
	s := t.shard(digest)
	s.mu.RLock()
	until, known := s.missing[digest]
	s.mu.RUnlock()
	return known && now < until
}

// fill adds a key to a table that nobody else sees yet, unless it is full.
func (t *table) fill(digest apikey.Digest, r *apikey.Record) {
	if t.count.Load() >= t.max {
		t.complete = false
		return
	}
	t.put(t.shard(digest), digest, r, never)
}

// put holds a key in place of what was held of it. The shard is locked.
func (t *table) put(s *shard, digest apikey.Digest, r *apikey.Record, verified int64) *entry {
	held := s.entries[digest]
	if held != nil && same(&held.record, r) {
		held.verified.Store(max(held.verified.Load(), verified))
		return held
	}
	e := &entry{}
	if r.Status == apikey.StatusActive {
		e.record = t.names.acquire(r)
	} else {
		e.record.Status = constant(r.Status)
	}
	e.verified.Store(verified)
	if held != nil {
		e.used.Store(held.used.Load())
		t.names.release(&held.record)
	} else {
		t.count.Add(1)
	}
	s.entries[digest] = e
	return e
}

// remove no longer holds a key. The shard is locked.
func (t *table) remove(s *shard, digest apikey.Digest) {
	if held := s.entries[digest]; held != nil {
		t.names.release(&held.record)
		delete(s.entries, digest)
		t.count.Add(-1)
	}
}

// apply takes over a change that a poll has read, which began at the given
// instant.
func (t *table) apply(c *Change, began, now int64) {
	s := t.shard(c.Digest)
	s.mu.Lock()
	delete(s.missing, c.Digest)
	flight, held := s.flights[c.Digest], s.entries[c.Digest]
	if flight != nil {
		flight.overtake(c)
	}
	ended := c.Record.Status != apikey.StatusActive
	switch {
	case c.Deleted:
		t.remove(s, c.Digest)
	case held == nil && ended:
		// What is not held need not be forgotten.
	case held != nil && held.ended() && !ended:
		// The key may have been looked up after the poll read it: its end must not be
		// undone. If somebody switched it on again, the next look-up says so.
		t.remove(s, c.Digest)
	default:
		e := t.put(s, c.Digest, &c.Record, began)
		if held == nil {
			e.touch(now)
		}
	}
	s.mu.Unlock()
	t.shrink(c.Digest, now)
}

// shrink lets entries go until the table keeps its bound, but not the given
// key, for which room is made.
func (t *table) shrink(keep apikey.Digest, now int64) {
	for i := 0; t.count.Load() > t.max && i < shardCount; i++ {
		s := &t.shards[(int(keep[0])+i)%shardCount]
		s.mu.Lock()
		for t.count.Load() > t.max {
			victim, found := s.victim(keep, now)
			if !found {
				break
			}
			t.remove(s, victim)
			t.evicted()
		}
		s.mu.Unlock()
	}
}

// victim is the least recently used of some entries, keys that have ended
// before all others.
func (s *shard) victim(keep apikey.Digest, now int64) (apikey.Digest, bool) {
	var (
		victim apikey.Digest
		oldest int64 = -1
		seen   int
	)
	second := uint32(now / int64(time.Second)) //nolint:gosec // Wraps after 136 years of running.
	for digest, e := range s.entries {
		if digest == keep {
			continue
		}
		age := max(0, int64(second)-int64(e.used.Load())) // It may have been used since.
		if e.ended() {
			age += math.MaxUint32
		}
		if age > oldest {
			victim, oldest = digest, age
		}
		if seen++; seen == sampleSize {
			break
		}
	}
	return victim, seen > 0
}

// sweep lets go what has ended and is no longer tried, in one shard.
func (t *table) sweep(number int, now int64, wall time.Time) {
	s := &t.shards[number%shardCount]
	idle := uint32(max(0, now-int64(idleEnded)) / int64(time.Second)) //nolint:gosec // Wraps after 136 years of running.
	s.mu.Lock()
	defer s.mu.Unlock()
	for digest, e := range s.entries {
		expired := !e.record.ExpiresAt.IsZero() && !wall.Before(e.record.ExpiresAt)
		if (expired || e.ended()) && e.used.Load() <= idle {
			t.remove(s, digest)
		}
	}
	s.forgetMissing(now)
}

func (s *shard) forgetMissing(now int64) {
	for digest, until := range s.missing {
		if now >= until {
			delete(s.missing, digest)
		}
	}
}

// miss remembers that a key does not exist. When too many are remembered, all
// are forgotten: that costs a look-up each, and those are limited.
func (s *shard) miss(digest apikey.Digest, until int64) {
	if len(s.missing) >= maxMissingPerShard {
		clear(s.missing)
	}
	s.missing[digest] = until
}

func same(a, b *apikey.Record) bool {
	if a.Status != b.Status {
		return false
	}
	if a.Status != apikey.StatusActive {
		return true
	}
	return a.ID == b.ID && a.Username == b.Username && a.Name == b.Name &&
		a.Subscription == b.Subscription && a.ExpiresAt.Equal(b.ExpiresAt) && slices.Equal(a.Groups, b.Groups)
}
