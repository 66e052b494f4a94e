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
