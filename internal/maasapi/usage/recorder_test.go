// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/usage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var epoch = time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC)

// writer keeps what is written, unless it is told to fail.
type writer struct {
	mu      sync.Mutex
	writes  [][]usage.Entry
	failing bool
	tries   int
	// writing is called in the middle of a write.
	writing func(ctx context.Context)
}

func (w *writer) WriteUsage(ctx context.Context, entries []usage.Entry) error {
	w.mu.Lock()
	w.tries++
	failing, writing := w.failing, w.writing
	w.mu.Unlock()
	if writing != nil {
		writing(ctx)
	}
	if failing {
		return errors.New("connection refused")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes = append(w.writes, slices.Clone(entries))
	return nil
}

func (w *writer) set(failing bool, writing func(context.Context)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failing, w.writing = failing, writing
}

func (w *writer) tried() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tries
}

// written returns the rows written, in the order of the writes.
func (w *writer) written() []usage.Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Concat(w.writes...)
}

type fixture struct {
	*usage.Recorder
	*writer
	clock    *clocktesting.FakeClock
	registry *prometheus.Registry
	stop     func() error
}

const interval = 3 * time.Second

// newFixture returns a running recorder.
func newFixture(t *testing.T, change func(*usage.Options)) *fixture {
	t.Helper()
	f := &fixture{writer: &writer{}, clock: clocktesting.NewFakeClock(epoch), registry: prometheus.NewRegistry()}
	o := usage.Options{
		Writer: f.writer, Clock: f.clock, Log: slog.New(slog.DiscardHandler), Registerer: f.registry,
		Debounce: time.Minute, Interval: interval,
	}
	if change != nil {
		change(&o)
	}
	r, err := usage.New(o)
	if err != nil {
		t.Fatal(err)
	}
	f.Recorder = r
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	f.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = f.stop() })
	eventually(t, "the recorder runs", f.clock.HasWaiters)
	return f
}

// flush has the recorder write, and returns when nothing is pending.
func (f *fixture) flush(t *testing.T) {
	t.Helper()
	f.clock.Step(interval)
	f.settled(t, 0)
}

func (f *fixture) settled(t *testing.T, pending float64) {
	t.Helper()
	eventually(t, fmt.Sprintf("%v keys are pending", pending), func() bool { return f.pending(t) == pending })
}

func (f *fixture) pending(t *testing.T) float64 {
	t.Helper()
	families, err := f.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "maas_api_key_usage_pending" {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("no metric of pending keys")
	return 0
}

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

func entry(id string, after time.Duration) usage.Entry {
	return usage.Entry{ID: id, At: epoch.Add(after)}
}

func want(t *testing.T, got []usage.Entry, wanted ...usage.Entry) {
	t.Helper()
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

// (E-18).
func TestUsesAtTheSameTimeInOneWindowAreOneWrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() { f.Seen("a", epoch) })
	}
	group.Wait()
	f.flush(t)
	f.Seen("a", epoch.Add(interval))
	f.flush(t)
	want(t, f.written(), entry("a", 0))
}

// A write is a row in a statement: uses that are apart by a flush are written
// one by one, those between two flushes as the latest of them (E-19).
func TestWithoutDebounceEveryUseIsWritten(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *usage.Options) { o.Debounce = 0 })
	for i := range 3 {
		f.Seen("a", epoch.Add(time.Duration(i)*time.Second))
		f.flush(t)
	}
	for i := 3; i < 6; i++ {
		f.Seen("a", epoch.Add(time.Duration(i)*time.Second))
	}
	f.flush(t)
	want(t, f.written(), entry("a", 0), entry("a", time.Second), entry("a", 2*time.Second), entry("a", 5*time.Second))
}

// (E-20).
func TestUseAfterTheWindowIsWrittenAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *usage.Options) { o.Debounce = time.Second })
	for _, after := range []time.Duration{0, 500 * time.Millisecond, 1100 * time.Millisecond} {
		f.Seen("a", epoch.Add(after))
		f.flush(t)
	}
	want(t, f.written(), entry("a", 0), entry("a", 1100*time.Millisecond))
}

func TestUsesAreNotedAfterTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for _, after := range []time.Duration{0, -time.Hour, -time.Hour + time.Second, -time.Hour + time.Minute} {
		f.Seen("a", epoch.Add(after))
		f.flush(t)
	}
	want(t, f.written(), entry("a", 0), entry("a", -time.Hour), entry("a", -time.Hour+time.Minute))
}

// (E-21).
func TestWhatCouldNotBeWrittenIsKeptAndTriedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.set(true, nil)
	f.Seen("a", epoch)
	f.clock.Step(interval)
	eventually(t, "it is tried", func() bool { return f.tried() == 1 })
	f.Seen("a", epoch.Add(time.Second)) // Newer than what failed: it is this one that counts.
	f.clock.Step(interval)
	eventually(t, "it is tried again", func() bool { return f.tried() == 2 })
	f.settled(t, 1)
	f.set(false, nil)
	f.flush(t)
	want(t, f.written(), entry("a", time.Second))
	if err := testutil.GatherAndCompare(f.registry, strings.NewReader(`
# HELP maas_api_key_usage_writes_total Statements that wrote when keys were used last.
# TYPE maas_api_key_usage_writes_total counter
maas_api_key_usage_writes_total{result="error"} 2
maas_api_key_usage_writes_total{result="ok"} 1
`), "maas_api_key_usage_writes_total"); err != nil {
		t.Error(err)
	}
}

func TestUseDuringAWriteIsNotLost(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *usage.Options) { o.Debounce = 0 })
	f.Seen("a", epoch)
	f.set(false, func(context.Context) {
		f.set(false, nil)
		f.Seen("a", epoch.Add(time.Second))
	})
	f.clock.Step(interval)
	eventually(t, "the first use is written", func() bool { return len(f.written()) == 1 })
	f.flush(t)
	want(t, f.written(), entry("a", 0), entry("a", time.Second))
}

func TestIDsOfAStatementAreSortedAndOccurOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	var wanted []usage.Entry
	for id := 'z'; id >= 'a'; id-- {
		f.Seen(string(id), epoch)
		f.Seen(string('a'+'z'-id), epoch)
		wanted = append(wanted, entry(string('a'+'z'-id), 0))
	}
	f.flush(t)
	want(t, f.written(), wanted...)
	if got := f.tried(); got != 1 {
		t.Errorf("%d statements, want 1", got)
	}
}

func TestNothingIsLostAtTheEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	const keys = 12_000
	var group sync.WaitGroup
	for part := range 4 {
		group.Go(func() {
			for i := part; i < keys; i += 4 {
				f.Seen(fmt.Sprintf("%05d", i), epoch)
			}
		})
	}
	group.Wait()
	if err := f.stop(); err != nil {
		t.Fatal(err)
	}
	if got := len(f.written()); got != keys {
		t.Errorf("%d uses are written, want %d", got, keys)
	}
}

func TestLastWriteIsTriedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.set(true, nil)
	f.Seen("a", epoch)
	stopped := make(chan error, 1)
	go func() { stopped <- f.stop() }()
	eventually(t, "it is tried twice", func() bool {
		f.clock.Step(100 * time.Millisecond)
		return f.tried() > 1
	})
	f.set(false, nil)
	eventually(t, "the recorder ends", func() bool {
		f.clock.Step(100 * time.Millisecond)
		return len(stopped) == 1
	})
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	want(t, f.written(), entry("a", 0))
}

func TestEndIsNotDelayedForEverByADatabaseThatHangs(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *usage.Options) { o.ShutdownTimeout = 50 * time.Millisecond })
	f.set(false, func(ctx context.Context) { <-ctx.Done() })
	f.Seen("a", epoch)
	if err := f.stop(); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 keys") {
		t.Errorf("error = %v", err)
	}
}

func TestSeenDoesNotWaitForAWrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *usage.Options) { o.Timeout = time.Minute })
	release := make(chan struct{})
	f.set(false, func(context.Context) { <-release })
	f.Seen("a", epoch)
	f.clock.Step(interval)
	eventually(t, "a write is under way", func() bool { return f.tried() == 1 })
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 1000 {
			f.Seen(fmt.Sprint(i), epoch)
		}
		f.Seen("a", epoch)
	}()
	eventually(t, "all uses are noted", func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	close(release)
}

func TestPendingUsesAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *usage.Options) { o.MaxPending = 2 })
	for _, id := range []string{"a", "b", "c"} {
		f.Seen(id, epoch)
	}
	f.flush(t)
	f.Seen("c", epoch.Add(time.Second)) // It did not count as noted.
	f.flush(t)
	want(t, f.written(), entry("a", 0), entry("b", 0), entry("c", time.Second))
}

func TestSeenDoesNotAllocateForAKnownKey(t *testing.T) {
	f := newFixture(t, nil)
	f.Seen("00000000-0000-4000-8000-000000000001", epoch)
	at := epoch
	if got := testing.AllocsPerRun(1000, func() {
		at = at.Add(time.Millisecond)
		f.Seen("00000000-0000-4000-8000-000000000001", at)
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkSeen(b *testing.B) {
	r, err := usage.New(usage.Options{
		Writer: &writer{}, Clock: clocktesting.NewFakeClock(epoch), Log: slog.New(slog.DiscardHandler),
		Registerer: prometheus.NewRegistry(), Debounce: time.Minute,
	})
	if err != nil {
		b.Fatal(err)
	}
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		r.Seen(ids[i], epoch)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			r.Seen(ids[i%len(ids)], epoch)
		}
	})
}
