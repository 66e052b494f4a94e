// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import (
	"testing"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// A look-up that read a key before it was revoked must not undo the revocation
// that a poll took over while the look-up was under way: no later poll would
// read it again.
func TestLookupOvertakenByAChangeDoesNotUndoIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(f *fixture, d apikey.Digest)
		want   string
	}{
		"revoked": {func(f *fixture, d apikey.Digest) { f.revoke(d) }, revoked},
		"deleted": {func(f *fixture, d apikey.Digest) { f.put(d, nil) }, notFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := loaded(t, 1, func(o *Options) { o.LookupTimeout = time.Minute })
			f.put(digest(2), record(2))
			f.read = func(d apikey.Digest) {
				f.read = nil
				c.change(f, d)
				f.round(t)
			}
			f.wantVerdict(t, digest(2), c.want)
			f.round(t)
			f.wantVerdict(t, digest(2), c.want)
		})
	}
}

// The same for a key that is held but not fresh.
func TestLookupOfAStaleKeyOvertakenByAChangeDoesNotUndoIt(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, func(o *Options) { o.LookupTimeout = time.Minute })
	f.clock.Step(DefaultStaleAfter + time.Nanosecond)
	f.read = func(d apikey.Digest) {
		f.read = nil
		f.revoke(d)
		f.round(t)
	}
	f.wantVerdict(t, digest(1), revoked)
	f.round(t)
	f.wantVerdict(t, digest(1), revoked)
}

// A key is made while somebody asks for it: the look-up read too early.
func TestLookupOvertakenByTheMakingOfTheKeyFindsIt(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, func(o *Options) { o.LookupTimeout = time.Minute })
	f.read = func(d apikey.Digest) {
		f.read = nil
		f.put(d, record(2))
		f.round(t)
	}
	f.wantVerdict(t, digest(2), accepted)
	f.wantVerdict(t, digest(2), accepted)
	f.wantLookups(t, 1)
}

// The other way round: a poll that read a key before its revocation does not
// bring it back after a look-up has seen it.
func TestPollOlderThanALookupDoesNotUndoIt(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	f.put(digest(2), record(2))
	f.polled = func() {
		f.polled = nil
		f.revoke(digest(2))
		f.wantVerdict(t, digest(2), revoked)
	}
	f.round(t)
	f.wantVerdict(t, digest(2), revoked)
	f.round(t)
	f.wantVerdict(t, digest(2), revoked)
}

// The same when the look-up was begun before the poll, had to wait for its
// connection, and landed before the poll took the key over.
func TestPollDoesNotUndoALookupThatBeganBeforeIt(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	f.put(digest(2), record(2))
	began := f.index.elapsed()
	f.clock.Step(time.Millisecond)
	f.polled = func() {
		f.polled = nil
		f.revoke(digest(2))
		ended := *record(2)
		ended.Status = apikey.StatusRevoked
		table := f.index.table.Load()
		flight, leader, err := f.index.board(table, digest(2), false)
		if err != nil || !leader {
			t.Errorf("board: leader %v, %v", leader, err)
			return
		}
		f.index.land(table, digest(2), flight, &answer{record: ended, began: began})
	}
	f.round(t)
	f.wantVerdict(t, digest(2), revoked)
}

// A look-up of the former database lands after the load of the present one.
func TestLookupOfTheFormerDatabaseReachesNothing(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, func(o *Options) { o.LookupTimeout = time.Minute })
	f.put(digest(2), record(2))
	f.read = func(d apikey.Digest) {
		f.set(func() {
			f.read = nil
			f.identity = "two"
			delete(f.rows, d)
		})
		f.round(t)
	}
	f.verdict(t, digest(2)) // It was true when it was read.
	f.wantVerdict(t, digest(2), notFound)
}

func TestKeyThatIsSwitchedOnAgainByHandIsAcceptedAgain(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	f.revoke(digest(1))
	f.round(t)
	f.wantVerdict(t, digest(1), revoked)
	f.clock.Step(time.Second)
	f.put(digest(1), record(1))
	f.round(t)
	f.wantVerdict(t, digest(1), accepted)
	f.wantVerdict(t, digest(1), accepted)
	f.wantLookups(t, 1)
}

func TestLookedUpKeyIsTrustedAsLongAsAPolledOne(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	f.clock.Step(time.Minute)
	f.wantVerdict(t, digest(1), accepted)
	f.clock.Step(DefaultStaleAfter)
	f.wantVerdict(t, digest(1), accepted)
	f.wantLookups(t, 1)
	f.clock.Step(time.Nanosecond)
	f.wantVerdict(t, digest(1), accepted)
	f.wantLookups(t, 2)
}
