// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// Mode 7.
func TestKeyMadeElsewhereWorksAtOnce(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	f.put(digest(2), record(2))
	f.wantVerdict(t, digest(2), accepted)
	f.wantVerdict(t, digest(2), accepted)
	f.wantLookups(t, 1)
}

// Mode 7: what is not there is remembered, but not for long.
func TestKeyThatWasMissingIsAskedForAgainAfterASecond(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	for range 3 {
		f.wantVerdict(t, digest(2), notFound)
	}
	f.wantLookups(t, 1)
	f.put(digest(2), record(2))
	f.clock.Step(time.Second)
	f.wantVerdict(t, digest(2), accepted)
}

// Mode 7: and what is remembered as missing is bounded.
func TestMissingKeysTakeBoundedMemory(t *testing.T) {
	t.Parallel()
	const asked = 4 * shardCount * maxMissingPerShard
	f := loaded(t, 1, func(o *Options) { o.MissRate = asked })
	for i := range asked {
		f.verdict(t, digest(1000+i))
	}
	f.wantLookups(t, asked)
	remembered := 0
	table := f.index.table.Load()
	for i := range table.shards {
		remembered += len(table.shards[i].missing)
	}
	if remembered > shardCount*maxMissingPerShard {
		t.Errorf("%d missing keys are remembered", remembered)
	}
	if got := table.count.Load(); got != 1 {
		t.Errorf("%d keys are held, want 1", got)
	}
}

// Mode 7: one look-up for all who ask at once.
func TestSameUnknownKeyIsLookedUpOnceForAll(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, func(o *Options) { o.LookupTimeout = time.Minute })
	f.put(digest(2), record(2))
	release := make(chan struct{})
	f.read = func(apikey.Digest) { <-release }
	const callers = 50
	var group sync.WaitGroup
	verdicts := make(chan string, callers)
	for range callers {
		group.Go(func() { verdicts <- f.verdict(t, digest(2)) })
	}
	eventually(t, "the key is looked up", func() bool { return f.lookups.Load() == 1 })
	close(release)
	group.Wait()
	for range callers {
		if got := <-verdicts; got != accepted {
			t.Errorf("verdict = %q", got)
		}
	}
	f.wantLookups(t, 1)
}

// Mode 8.
func TestFloodOfUnknownKeysIsLimitedAndStarvesNoHits(t *testing.T) {
	t.Parallel()
	const rate, concurrency = 100, 4
	f := loaded(t, 1, func(o *Options) { o.MissRate, o.MissConcurrency, o.LookupTimeout = rate, concurrency, time.Minute })
	release := make(chan struct{})
	f.read = func(apikey.Digest) { <-release }
	var group sync.WaitGroup
	results := make(chan error, 1000)
	for i := range 1000 {
		group.Go(func() {
			_, err := f.index.Get(t.Context(), digest(1000+i))
			results <- err
		})
	}
	// 900 are turned away at once, while the others wait for the database.
	for range 1000 - rate {
		if err := <-results; !errors.Is(err, ErrBusy) {
			t.Errorf("error = %v, want that it is busy", err)
		}
	}
	eventually(t, "the look-ups that may run do", func() bool { return f.inLookup.Load() == concurrency })
	f.wantVerdict(t, digest(1), accepted)
	// A key that is held but not fresh does not queue behind unknown ones.
	f.set(func() { f.read = nil })
	f.clock.Step(DefaultStaleAfter + time.Nanosecond)
	f.wantVerdict(t, digest(1), accepted)
	close(release)
	group.Wait()
	if got := f.mostLookups.Load(); got > concurrency+1 {
		t.Errorf("%d look-ups at the same time", got)
	}
	f.wantLookups(t, rate+1)
}

// Mode 8: who waits for a turn does not wait for ever.
func TestUnknownKeyDoesNotWaitLongForItsTurn(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, func(o *Options) {
		hasty(o)
		o.MissConcurrency = 1
	})
	f.index.unknown <- struct{}{}
	f.wantVerdict(t, digest(2), ErrBusy.Error())
}
