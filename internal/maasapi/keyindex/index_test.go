// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

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

func TestRefreshReturnsWhenEarlierChangesAreInForce(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	f.run(t)
	f.revoke(digest(1))
	if err := f.index.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.wantVerdict(t, digest(1), revoked)
	f.wantLookups(t, 0)
}

func TestRefreshIsServedWhilePollsTakeLongerThanTheirInterval(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	f.polled = func() { f.clock.Step(DefaultPollInterval) }
	f.run(t)
	if err := f.index.Refresh(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRefreshDoesNotOutlastItsContext(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.index.Refresh(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
}

func TestCallerThatGivesUpDoesNotWaitForSomebodyElsesLookup(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, func(o *Options) { o.LookupTimeout = time.Minute })
	release := make(chan struct{})
	f.read = func(apikey.Digest) { <-release }
	var group sync.WaitGroup
	group.Go(func() { f.verdict(t, digest(2)) })
	eventually(t, "the key is looked up", func() bool { return f.lookups.Load() == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.index.Get(ctx, digest(2)); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	close(release)
	group.Wait()
}

func TestCallerThatGivesUpDoesNotSpoilTheLookupForOthers(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	f.put(digest(2), record(2))
	ctx, cancel := context.WithCancel(t.Context())
	f.read = func(apikey.Digest) { cancel() }
	_, _ = f.index.Get(ctx, digest(2)) // Its answer does not matter.
	f.wantVerdict(t, digest(2), accepted)
	f.wantLookups(t, 1)
}

func TestManyReadersSeeNoRevokedKeyWhilePollsReplaceRecords(t *testing.T) {
	t.Parallel()
	const keys = 200
	f := loaded(t, keys, nil)
	var group sync.WaitGroup
	ended := make([]chan struct{}, keys+1)
	for i := range ended {
		ended[i] = make(chan struct{})
	}
	for range 4 {
		group.Go(func() {
			for i := 1; i <= keys; i++ {
				f.verdict(t, digest(i))
				<-ended[i]
				if got := f.verdict(t, digest(i)); got != revoked {
					t.Errorf("key %d is %q after a poll that saw its revocation", i, got)
				}
			}
		})
	}
	for i := 1; i <= keys; i++ {
		f.revoke(digest(i))
		f.round(t)
		close(ended[i])
	}
	group.Wait()
}

func TestRecordsShareWhatTheyHaveInCommon(t *testing.T) {
	t.Parallel()
	n := newInterner()
	long := strings.Repeat("x", 100)
	given := &apikey.Record{
		ID: "id", Name: "name", Username: long[:50], Subscription: "free", Groups: []string{"a", "b"},
		Status: apikey.StatusActive, ExpiresAt: epoch,
	}
	first, second := n.acquire(given), n.acquire(given)
	if diff := cmp.Diff(*given, first); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if &first.Groups[0] != &second.Groups[0] {
		t.Error("equal lists of groups are held twice")
	}
	other := n.acquire(&apikey.Record{Groups: []string{"a\x00b"}})
	if diff := cmp.Diff([]string{"a\x00b"}, other.Groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	for _, r := range []*apikey.Record{&first, &other, &second} {
		n.release(r)
	}
	if len(n.words) != 0 || len(n.lists) != 0 {
		t.Errorf("kept after the last use: %v, %v", n.words, n.lists)
	}
}

func TestRecordIsNotModifiedWhenItsKeyChanges(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	before, err := f.index.Get(t.Context(), digest(1))
	if err != nil {
		t.Fatal(err)
	}
	groups := slices.Clone(before.Groups)
	f.revoke(digest(1))
	f.round(t)
	if before.Status != apikey.StatusActive || !slices.Equal(before.Groups, groups) || before.Username != record(1).Username {
		t.Errorf("record = %+v", *before)
	}
}

func TestMeasuredClockIsFollowedWithinBounds(t *testing.T) {
	t.Parallel()
	second := int64(time.Second)
	for name, c := range map[string]struct {
		database       time.Time
		sent, received int64
		measured       bool
		want           time.Time // At instant received, which is 10 s after the epoch.
		wantCut        bool
	}{
		"half way":                  {epoch.Add(time.Hour), 10*second - second/5, 10 * second, true, epoch.Add(time.Hour + time.Second/10), false},
		"slow exchange is not used": {epoch.Add(time.Hour), 9 * second, 10 * second, true, epoch.Add(10 * time.Second), false},
		"unless it is the first":    {epoch.Add(time.Hour), 9 * second, 10 * second, false, epoch.Add(time.Hour + time.Second/2), false},
		"no time":                   {time.Time{}, 10 * second, 10 * second, false, epoch.Add(10 * time.Second), false},
		"absurd":                    {time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), 10 * second, 10 * second, false, epoch.Add(10*time.Second - maxSkew), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := databaseClock{measured: c.measured}
			d.offset.Store(epoch.UnixNano())
			_, cut := d.measure(c.database, c.sent, c.received, epoch.Add(10*time.Second))
			if got := d.at(c.received); !got.Equal(c.want) || cut != c.wantCut {
				t.Errorf("time = %s, cut = %v; want %s, %v", got, cut, c.want, c.wantCut)
			}
		})
	}
}

func TestMetricsTellWhereAnswersComeFrom(t *testing.T) {
	t.Parallel()
	f := loaded(t, 2, func(o *Options) { o.MissRate = 1 })
	f.verdict(t, digest(1)) // hit
	f.verdict(t, digest(3)) // lookup
	f.verdict(t, digest(3)) // negative
	f.verdict(t, digest(4)) // busy
	f.set(func() { f.pollBroken, f.lookupBroken = true, true })
	f.clock.Step(DefaultStaleAfter + time.Second)
	f.failingRound(t)
	f.verdict(t, digest(1)) // grace
	f.verdict(t, digest(4)) // unavailable
	want := `
# HELP maas_api_key_index_complete 1 when all active keys fitted at the last load, 0 when the bound was too low.
# TYPE maas_api_key_index_complete gauge
maas_api_key_index_complete 1
# HELP maas_api_key_index_entries Keys held, those included that ended and are still tried.
# TYPE maas_api_key_index_entries gauge
maas_api_key_index_entries 2
# HELP maas_api_key_index_requests_total Keys asked for, by where the answer came from.
# TYPE maas_api_key_index_requests_total counter
maas_api_key_index_requests_total{result="busy"} 1
maas_api_key_index_requests_total{result="grace"} 1
maas_api_key_index_requests_total{result="hit"} 1
maas_api_key_index_requests_total{result="lookup"} 1
maas_api_key_index_requests_total{result="negative"} 1
maas_api_key_index_requests_total{result="unavailable"} 1
# HELP maas_api_key_index_staleness_seconds Time since the last completed poll began; since the start before the first.
# TYPE maas_api_key_index_staleness_seconds gauge
maas_api_key_index_staleness_seconds 3
# HELP maas_api_key_index_state 1 for the state the index is in.
# TYPE maas_api_key_index_state gauge
maas_api_key_index_state{state="fresh"} 0
maas_api_key_index_state{state="grace"} 1
maas_api_key_index_state{state="loading"} 0
maas_api_key_index_state{state="stale"} 0
maas_api_key_index_state{state="unavailable"} 0
`
	if err := testutil.GatherAndCompare(f.registry, strings.NewReader(want), "maas_api_key_index_complete", "maas_api_key_index_entries",
		"maas_api_key_index_requests_total", "maas_api_key_index_staleness_seconds", "maas_api_key_index_state"); err != nil {
		t.Error(err)
	}
}

func TestOptionsThatContradictEachOtherAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){
		"no feed":                      func(o *Options) { o.Feed = nil },
		"polls rarer than they must":   func(o *Options) { o.PollInterval = 2 * time.Second },
		"negative bound":               func(o *Options) { o.MaxEntries = -1 },
		"metrics registered elsewhere": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newFixture(t, nil).index.opts
			if change != nil {
				change(&o)
			}
			if _, err := New(o); err == nil {
				t.Error("no error")
			}
		})
	}
}
