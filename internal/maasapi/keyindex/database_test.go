// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

var errBroken = errors.New("connection refused")

// database is a database of keys in memory that can be made to fail in every
// way. Transactions get their numbers when they begin and are seen when they
// commit.
type database struct {
	mu       sync.Mutex
	identity string
	next     uint64
	open     map[uint64]bool
	rows     map[apikey.Digest]row
	now      func() time.Time

	// broken parts answer with an error, frozen ones only when their context
	// ends.
	pollBroken, lookupBroken, pollFrozen, lookupFrozen bool
	// read is called after a look-up has read its key and before it returns.
	read func(apikey.Digest)
	// loading is called in the middle of a load, polled after a poll has read and
	// before it yields.
	loading, polled func()

	lookups, polls, loads, listens atomic.Int64
	// inLookup and mostLookups count look-ups at the same time.
	inLookup, mostLookups atomic.Int64
	listen                func(ctx context.Context, notify func()) error
}

type row struct {
	record  apikey.Record
	xid     uint64
	deleted bool
}

func (d *database) begin() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	xid := d.next
	d.next++
	d.open[xid] = true
	return xid
}

func (d *database) commit(xid uint64, digest apikey.Digest, r *apikey.Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, xid)
	if r == nil {
		d.rows[digest] = row{xid: xid, deleted: true}
		return
	}
	d.rows[digest] = row{record: *r, xid: xid}
}

// put stores a key in a transaction of its own; without a record it deletes it.
func (d *database) put(digest apikey.Digest, r *apikey.Record) { d.commit(d.begin(), digest, r) }

func (d *database) revoke(digest apikey.Digest) {
	d.mu.Lock()
	r := d.rows[digest].record
	d.mu.Unlock()
	r.Status = apikey.StatusRevoked
	d.put(digest, &r)
}

// set changes how the database behaves.
func (d *database) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

// position is that of a snapshot of now. The lock is held.
func (d *database) position() Position {
	xmin := d.next
	for xid := range d.open {
		xmin = min(xmin, xid)
	}
	return Position{Xid: xmin, Database: d.identity, Now: d.now()}
}

func (d *database) Load(ctx context.Context, limit int, yield func(apikey.Digest, apikey.Record) error) (Position, error) {
	d.loads.Add(1)
	d.mu.Lock()
	broken, frozen, loading, position := d.pollBroken, d.pollFrozen, d.loading, d.position()
	type pair struct {
		digest apikey.Digest
		record apikey.Record
	}
	var found []pair
	for digest, r := range d.rows {
		if !r.deleted && r.record.Status == apikey.StatusActive && len(found) < limit {
			found = append(found, pair{digest, r.record})
		}
	}
	d.mu.Unlock()
	if err := misbehave(ctx, broken, frozen); err != nil {
		return Position{}, err
	}
	if loading != nil {
		loading()
	}
	for _, p := range found {
		if err := yield(p.digest, p.record); err != nil {
			return Position{}, err
		}
	}
	return position, nil
}

func (d *database) Changes(ctx context.Context, since Position, yield func(Change) error) (Position, error) {
	d.polls.Add(1)
	d.mu.Lock()
	broken, frozen, polled, position := d.pollBroken, d.pollFrozen, d.polled, d.position()
	var found []Change
	for digest, r := range d.rows {
		if r.xid >= since.Xid {
			found = append(found, Change{Digest: digest, Record: r.record, Deleted: r.deleted})
		}
	}
	d.mu.Unlock()
	if err := misbehave(ctx, broken, frozen); err != nil {
		return Position{}, err
	}
	if polled != nil {
		polled()
	}
	for _, c := range found {
		if err := yield(c); err != nil {
			return Position{}, err
		}
	}
	return position, nil
}

func (d *database) Lookup(ctx context.Context, digest apikey.Digest) (apikey.Record, error) {
	d.lookups.Add(1)
	d.mostLookups.Store(max(d.mostLookups.Load(), d.inLookup.Add(1)))
	defer d.inLookup.Add(-1)
	d.mu.Lock()
	broken, frozen, read := d.lookupBroken, d.lookupFrozen, d.read
	r, found := d.rows[digest]
	d.mu.Unlock()
	if err := misbehave(ctx, broken, frozen); err != nil {
		return apikey.Record{}, err
	}
	if read != nil {
		read(digest)
	}
	if !found || r.deleted {
		return apikey.Record{}, apikey.ErrNotFound
	}
	return r.record, nil
}

func (d *database) Listen(ctx context.Context, notify func()) error {
	d.listens.Add(1)
	d.mu.Lock()
	listen := d.listen
	d.mu.Unlock()
	if listen != nil {
		return listen(ctx, notify)
	}
	<-ctx.Done()
	return ctx.Err()
}

func misbehave(ctx context.Context, broken, frozen bool) error {
	if frozen {
		<-ctx.Done()
		return ctx.Err()
	}
	if broken {
		return errBroken
	}
	return nil
}

// fixture is an index of a database, both of which go by a clock that stands.
type fixture struct {
	*database
	index    *Index
	clock    *clocktesting.FakeClock
	registry *prometheus.Registry
}

var epoch = time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC)

func newFixture(t *testing.T, change func(*Options)) *fixture {
	t.Helper()
	f := &fixture{clock: clocktesting.NewFakeClock(epoch), registry: prometheus.NewRegistry()}
	f.database = &database{
		identity: "one", next: 100, open: map[uint64]bool{}, rows: map[apikey.Digest]row{}, now: f.clock.Now,
	}
	o := Options{
		Feed: f.database, Clock: f.clock, Log: slog.New(slog.DiscardHandler), Registerer: f.registry,
		PollTimeout: time.Second, LookupTimeout: time.Second, // Test machines are slow.
	}
	if change != nil {
		change(&o)
	}
	index, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	f.index = index
	return f
}

// hasty gives up look-ups soon, for tests in which they hang.
func hasty(o *Options) { o.LookupTimeout = 50 * time.Millisecond }

// loaded has keys 1 to n in the database and in the index.
func loaded(t *testing.T, n int, change func(*Options)) *fixture {
	t.Helper()
	f := newFixture(t, change)
	for i := 1; i <= n; i++ {
		f.put(digest(i), record(i))
	}
	f.round(t)
	if got := f.index.State(); got != StateFresh {
		t.Fatalf("state after the first round: %s", got)
	}
	return f
}

// round polls once and wants it to work.
func (f *fixture) round(t *testing.T) {
	t.Helper()
	if err := f.index.round(t.Context()); err != nil {
		t.Fatalf("poll: %v", err)
	}
}

// failingRound polls once and wants it to fail.
func (f *fixture) failingRound(t *testing.T) {
	t.Helper()
	if err := f.index.round(t.Context()); err == nil {
		t.Fatal("poll: no error")
	}
}

// run runs the index until the test ends, or until stop is called.
func (f *fixture) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f.index.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

// verdict is what validation would make of a key: accepted, a reason, or an
// error.
func (f *fixture) verdict(t *testing.T, d apikey.Digest) string {
	t.Helper()
	r, err := f.index.Get(t.Context(), d)
	switch {
	case errors.Is(err, ErrUnavailable):
		return ErrUnavailable.Error()
	case err != nil:
		return err.Error()
	}
	if reason := r.Refusal(f.index.Now()); reason != "" {
		return string(reason)
	}
	return accepted
}

func (f *fixture) wantVerdict(t *testing.T, d apikey.Digest, want string) {
	t.Helper()
	if got := f.verdict(t, d); got != want {
		t.Errorf("verdict = %q, want %q", got, want)
	}
}

func (f *fixture) wantLookups(t *testing.T, want int64) {
	t.Helper()
	if got := f.lookups.Load(); got != want {
		t.Errorf("look-ups = %d, want %d", got, want)
	}
}

const accepted = "accepted"

var (
	revoked     = string(apikey.ReasonRevokedOrExpired)
	notFound    = apikey.ErrNotFound.Error()
	unavailable = ErrUnavailable.Error()
)

func digest(i int) apikey.Digest {
	var d apikey.Digest
	binary.BigEndian.PutUint64(d[1:], uint64(i))
	d[0] = byte(i)
	return d
}

func record(i int) *apikey.Record {
	return &apikey.Record{
		ID: fmt.Sprintf("00000000-0000-4000-8000-%012d", i), Username: fmt.Sprintf("user-%d", i%10), Name: fmt.Sprintf("key %d", i),
		Subscription: "free", Groups: []string{"system:authenticated", fmt.Sprintf("team-%d", i%3)}, Status: apikey.StatusActive,
	}
}

// eventually waits for something that other goroutines do.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			t.Fatalf("it never happened that %s", what)
		}
	}
}
