// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// The ways in which a cache of keys goes wrong, by number, here and in the other
// files. Those that live in the database are tested with PostgreSQL too.

// Mode 1.
func TestLostListenerIsReplacedAndWhatItMissedIsPolledFor(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	lost := make(chan struct{})
	f.listen = func(ctx context.Context, notify func()) error {
		notify()
		select {
		case <-lost:
		case <-ctx.Done():
		}
		return errBroken
	}
	f.run(t)
	eventually(t, "somebody listens", func() bool { return f.listens.Load() == 1 })
	eventually(t, "the nudges are used up", func() bool {
		f.clock.Step(pollGap)
		return len(f.index.nudges) == 0 && f.polls.Load() > 1
	})
	f.revoke(digest(1))
	lost <- struct{}{}
	close(lost)
	// Less than an interval passes: it is the loss that has it polled for.
	passed := time.Duration(0)
	eventually(t, "the revocation is seen", func() bool {
		if passed < DefaultPollInterval/2 {
			passed += pollGap
			f.clock.Step(pollGap)
		}
		return f.verdict(t, digest(1)) == revoked
	})
	eventually(t, "somebody listens again", func() bool {
		f.clock.Step(listenFirst)
		return f.listens.Load() >= 2
	})
}

// Mode 1, the bound.
func TestKeyThatNoPollConfirmsIsNotTrustedForLong(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	f.revoke(digest(1))
	f.clock.Step(DefaultStaleAfter)
	f.wantVerdict(t, digest(1), accepted)
	f.clock.Step(time.Nanosecond)
	f.wantVerdict(t, digest(1), revoked)
	f.wantLookups(t, 1)
}

// Mode 2.
func TestPollThatHangsOnAHalfOpenConnectionIsBrokenOff(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	f.pollFrozen = true
	f.revoke(digest(1))
	done := make(chan error, 1)
	go func() { done <- f.index.round(t.Context()) }()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a poll that hangs reported success")
		}
	case <-deadline.C:
		t.Fatal("the poll hangs for ever")
	}
	f.clock.Step(DefaultStaleAfter + time.Nanosecond)
	// Other connections work: the database is asked.
	f.wantVerdict(t, digest(1), revoked)
	if got := f.index.State(); got != StateStale {
		t.Errorf("state = %s", got)
	}
}

// Mode 3.
func TestChangeIsSeenWithoutItsNotification(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	f.listen = func(ctx context.Context, notify func()) error {
		notify() // And never again.
		<-ctx.Done()
		return ctx.Err()
	}
	f.run(t)
	before := f.polls.Load()
	f.revoke(digest(1))
	eventually(t, "the revocation is seen", func() bool {
		f.clock.Step(DefaultPollInterval / 10)
		return f.polls.Load() >= before+3 && f.verdict(t, digest(1)) == revoked
	})
}

// Mode 4.
func TestWithoutListeningThePollsGoOnAndItIsTriedEverMoreRarely(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	f.listen = func(context.Context, func()) error { return errBroken }
	f.run(t)
	f.revoke(digest(1))
	eventually(t, "two minutes of polls have passed", func() bool {
		f.clock.Step(DefaultPollInterval / 2)
		return f.polls.Load() > 120
	})
	f.wantVerdict(t, digest(1), revoked)
	// After 0, 1, 3, 7, 15, 31, 63 and 123 seconds, a little more when steps are
	// faster than polls.
	if got := f.listens.Load(); got > 20 {
		t.Errorf("listening was tried %d times", got)
	}
}

// Mode 5.
func TestTransactionThatCommitsOutOfOrderIsNotSkipped(t *testing.T) {
	t.Parallel()
	f := loaded(t, 2, nil)
	slow := f.begin()
	f.revoke(digest(2))
	f.round(t)
	f.wantVerdict(t, digest(2), revoked)
	ended := record(1)
	ended.Status = apikey.StatusRevoked
	f.commit(slow, digest(1), ended)
	f.round(t)
	f.wantVerdict(t, digest(1), revoked)
	f.wantLookups(t, 0)
}

// Mode 9.
func TestOutageIsBridgedByKnownKeysForTheGraceAndThenClosed(t *testing.T) {
	t.Parallel()
	f := loaded(t, 3, nil)
	f.set(func() {
		r := f.rows[digest(3)]
		r.record.ExpiresAt = epoch.Add(10 * time.Second)
		f.rows[digest(3)] = r
		f.next++
	})
	f.put(digest(3), new(f.rows[digest(3)].record))
	f.revoke(digest(2))
	f.round(t)
	f.set(func() { f.pollBroken, f.lookupBroken = true, true })
	f.clock.Step(DefaultStaleAfter + time.Nanosecond)
	f.failingRound(t)
	asked := f.lookups.Load()

	f.wantVerdict(t, digest(1), accepted)
	f.wantVerdict(t, digest(2), revoked)
	f.wantVerdict(t, digest(3), accepted)
	f.wantVerdict(t, digest(4), unavailable)
	if got, err := f.index.State(), f.index.Ready(); got != StateGrace || err != nil {
		t.Errorf("state = %s, ready: %v", got, err)
	}
	f.wantLookups(t, asked)

	f.clock.Step(9 * time.Second)
	f.failingRound(t)
	f.wantVerdict(t, digest(3), revoked) // It expired meanwhile.

	f.clock.SetTime(epoch.Add(DefaultGrace))
	f.failingRound(t)
	f.wantVerdict(t, digest(1), accepted)
	f.clock.Step(time.Nanosecond)
	f.wantVerdict(t, digest(1), unavailable)
	if got, err := f.index.State(), f.index.Ready(); got != StateUnavailable || err == nil {
		t.Errorf("state = %s, ready: %v", got, err)
	}

	f.set(func() { f.pollBroken, f.lookupBroken = false, false })
	f.round(t)
	f.wantVerdict(t, digest(1), accepted)
	if got, err := f.index.State(), f.index.Ready(); got != StateFresh || err != nil {
		t.Errorf("state = %s, ready: %v", got, err)
	}
}

// Mode 9: the database takes connections and says nothing.
func TestFrozenDatabaseHangsNobodyAndIsSoonLeftAlone(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, hasty)
	f.set(func() { f.pollFrozen, f.lookupFrozen = true, true })
	f.clock.Step(DefaultStaleAfter + time.Nanosecond)
	// No poll has found out yet.
	for range 10 {
		f.wantVerdict(t, digest(1), accepted)
	}
	f.wantLookups(t, failuresUntilDown)
	// Unknown keys find the same out.
	f.wantVerdict(t, digest(2), unavailable)
	f.wantLookups(t, failuresUntilDown)
}

// Mode 9: a database that answers others is none that is gone. It may know of a
// revocation, so that nobody is let in on what was known before.
func TestSlowDatabaseIsNoOutage(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	f.clock.Step(DefaultStaleAfter + time.Nanosecond)
	f.wantVerdict(t, digest(2), notFound)
	f.set(func() { f.lookupBroken = true })
	for range 2 * failuresUntilDown {
		f.wantVerdict(t, digest(1), unavailable)
	}
	f.clock.Step(DefaultStaleAfter - DefaultPollInterval)
	f.wantVerdict(t, digest(1), accepted)
}

// Mode 10.
func TestExpiryGoesByTheClockOfTheDatabase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ahead time.Duration
		want  string
	}{
		"ours is behind": {time.Hour, revoked},
		"ours is ahead":  {-time.Hour, accepted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			r := record(1)
			r.ExpiresAt = epoch.Add(30 * time.Minute)
			if c.ahead < 0 {
				r.ExpiresAt = epoch.Add(-30 * time.Minute)
			}
			f.now = func() time.Time { return f.clock.Now().Add(c.ahead) }
			f.put(digest(1), r)
			f.round(t)
			f.wantVerdict(t, digest(1), c.want)
		})
	}
}

// Mode 11.
func TestBulkRevocationIsOnePoll(t *testing.T) {
	t.Parallel()
	const keys = 100_000
	f := newFixture(t, func(o *Options) { o.MaxEntries, o.PollTimeout = keys/2, time.Minute })
	xid := f.begin()
	f.set(func() {
		for i := range keys {
			f.rows[digest(i)] = row{record: *record(i), xid: xid}
		}
		delete(f.open, xid)
	})
	f.round(t)
	xid = f.begin()
	f.set(func() {
		for d, r := range f.rows {
			r.xid, r.record.Status = xid, apikey.StatusRevoked
			f.rows[d] = r
		}
		delete(f.open, xid)
	})
	before := f.polls.Load()
	f.round(t)
	if got := f.polls.Load() - before; got != 1 {
		t.Errorf("%d polls", got)
	}
	// Those held are refused from memory; those not held took no room.
	table := f.index.table.Load()
	if got := table.count.Load(); got != keys/2 {
		t.Errorf("%d keys are held, want %d", got, keys/2)
	}
	for i := range table.shards {
		for d := range table.shards[i].entries {
			f.wantVerdict(t, d, revoked)
		}
	}
	f.wantLookups(t, 0)
	if got := testutil.ToFloat64(f.index.metrics.evictions); got != 0 {
		t.Errorf("%v keys were let go for keys that had ended", got)
	}
	if len(table.names.words) != 0 || len(table.names.lists) != 0 {
		t.Errorf("%d names and %d lists are kept of keys that ended", len(table.names.words), len(table.names.lists))
	}
}

// Mode 12.
func TestNotReadyBeforeTheFirstLoadButServedByTheDatabase(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *Options) { o.MissRate = 1 })
	for i := range 5 {
		f.put(digest(i), record(i))
	}
	checked := false
	f.loading = func() {
		checked = true
		if f.index.Ready() == nil || f.index.State() != StateLoading {
			t.Errorf("during the first load: state %s, ready: %v", f.index.State(), f.index.Ready())
		}
		// Nothing tells known keys from unknown ones yet: none is turned away.
		for i := range 5 {
			f.wantVerdict(t, digest(i), accepted)
		}
	}
	f.round(t)
	if !checked {
		t.Fatal("nothing was loaded")
	}
	if err := f.index.Ready(); err != nil {
		t.Errorf("after the first load: %v", err)
	}
}

// Mode 12: what was looked up during the load is not forgotten in its favour.
func TestKeyRevokedDuringALoadStaysRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.put(digest(1), record(1))
	f.loading = func() {
		f.revoke(digest(1))
		f.wantVerdict(t, digest(1), revoked)
	}
	between := ""
	f.polled = func() { between = f.verdict(t, digest(1)) }
	f.round(t)
	if between != revoked {
		t.Errorf("between the load and the first poll, the key was %q", between)
	}
	f.wantVerdict(t, digest(1), revoked)
}

// Mode 13: neither what is held nor what is asked for can hold the text of a
// key. That of the request is wiped by who serves it.
func TestOnlyDigestsAreHeld(t *testing.T) {
	t.Parallel()
	entries := reflect.TypeFor[shard]()
	for name, want := range map[string]reflect.Type{
		"entries": reflect.TypeFor[map[apikey.Digest]*entry](),
		"missing": reflect.TypeFor[map[apikey.Digest]int64](),
		"flights": reflect.TypeFor[map[apikey.Digest]*flight](),
	} {
		if field, found := entries.FieldByName(name); !found || field.Type != want {
			t.Errorf("%s are held as %v", name, field.Type)
		}
	}
	var fields []string
	for field := range reflect.TypeFor[apikey.Record]().Fields() {
		fields = append(fields, field.Name)
	}
	want := []string{"ID", "Username", "Name", "Subscription", "Groups", "Status", "ExpiresAt"}
	if !reflect.DeepEqual(fields, want) {
		t.Errorf("a record has %v: none of it may be a secret", fields)
	}
}
