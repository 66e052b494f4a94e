// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import (
	"testing"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

func TestAboveTheBoundTheKeysInUseStayAndTheOthersAreAskedFor(t *testing.T) {
	t.Parallel()
	const bound, keys = 512, 4096
	f := loaded(t, keys, func(o *Options) {
		// A busy machine takes its time for so many keys.
		o.MaxEntries, o.MissRate, o.PollTimeout, o.LookupTimeout = bound, 100*keys, time.Minute, time.Minute
	})
	table := f.index.table.Load()
	if table.complete || table.count.Load() != bound {
		t.Fatalf("%d keys are held, complete: %v", table.count.Load(), table.complete)
	}
	for pass := range 20 {
		f.clock.Step(time.Second)
		f.round(t)
		for i := 1; i <= bound/8; i++ {
			f.wantVerdict(t, digest(i), accepted)
		}
		for i := range bound / 2 {
			f.wantVerdict(t, digest(1000+pass*bound/8+i), accepted)
		}
		if got := table.count.Load(); got > bound {
			t.Fatalf("%d keys are held", got)
		}
	}
	held := 0
	for i := 1; i <= bound/8; i++ {
		if table.find(digest(i)) != nil {
			held++
		}
	}
	// Which one leaves is found by sampling: nearly all is what is promised.
	if held < bound/8*9/10 {
		t.Errorf("%d of %d keys in constant use are held", held, bound/8)
	}
}

func TestTinyBoundIsKept(t *testing.T) {
	t.Parallel()
	f := loaded(t, 10, func(o *Options) { o.MaxEntries = 1 })
	for i := 1; i <= 10; i++ {
		f.wantVerdict(t, digest(i), accepted)
		if got := f.index.table.Load().count.Load(); got != 1 {
			t.Fatalf("%d keys are held", got)
		}
	}
}

// Others go on using keys while one of them is chosen to leave.
func TestKeyUsedSinceIsNotTheOneThatLeaves(t *testing.T) {
	t.Parallel()
	idle, inUse := &entry{record: *record(1)}, &entry{record: *record(2)}
	idle.touch(int64(5 * time.Second))
	inUse.touch(int64(10 * time.Second))
	s := &shard{entries: map[apikey.Digest]*entry{digest(1): idle, digest(2): inUse}}
	if victim, found := s.victim(digest(3), int64(9*time.Second)); !found || victim != digest(1) {
		t.Errorf("%v leaves, %v; want the idle one", victim, found)
	}
}

func TestRevocationOfAKeyThatLeftIsNotMissed(t *testing.T) {
	t.Parallel()
	f := loaded(t, 2, func(o *Options) { o.MaxEntries = 1 })
	f.wantVerdict(t, digest(1), accepted)
	f.wantVerdict(t, digest(2), accepted)
	f.revoke(digest(1))
	f.round(t)
	f.wantVerdict(t, digest(1), revoked)
}

func TestEndedKeysLeaveWhenNobodyTriesThem(t *testing.T) {
	t.Parallel()
	f := loaded(t, 3, nil)
	r := record(2)
	r.ExpiresAt = epoch.Add(time.Minute)
	f.put(digest(2), r)
	f.revoke(digest(3))
	f.round(t)
	f.clock.Step(3 * time.Minute)
	for range shardCount {
		f.round(t)
		f.clock.Step(DefaultPollInterval)
	}
	table := f.index.table.Load()
	if got := table.count.Load(); got != 1 || table.find(digest(1)) == nil {
		t.Errorf("%d keys are held, want the active one", got)
	}
}

func TestRefusedKeyThatIsTriedAgainAndAgainIsRefusedFromMemory(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	f.revoke(digest(1))
	for range 3 * shardCount {
		f.round(t)
		f.clock.Step(DefaultPollInterval)
		f.wantVerdict(t, digest(1), revoked)
	}
	f.wantLookups(t, 0)
}
