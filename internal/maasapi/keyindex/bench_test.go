// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// manyKeys is a feed of n keys that never change, each with a user and a name
// of its own; ten keys share each user unless all are different.
type manyKeys struct {
	n           int
	usersDiffer bool
}

func manyDigest(i int) apikey.Digest { return sha256.Sum256(fmt.Append(nil, i)) }

func (f manyKeys) Load(_ context.Context, _ int, yield func(apikey.Digest, apikey.Record) error) (Position, error) {
	for i := range f.n {
		user := i / 10
		if f.usersDiffer {
			user = i
		}
		r := apikey.Record{
			ID: fmt.Sprintf("00000000-0000-4000-8000-%012d", i), Name: fmt.Sprintf("ci-pipeline-%d", i),
			Username: fmt.Sprintf("user-%07d@example.com", user), Subscription: fmt.Sprintf("subscription-%d", user%500),
			Groups: []string{"system:authenticated", fmt.Sprintf("team-%d", user%1000)}, Status: apikey.StatusActive,
			ExpiresAt: time.Date(2100, 1, 1, 0, 0, i, 0, time.UTC),
		}
		if err := yield(manyDigest(i), r); err != nil {
			return Position{}, err
		}
	}
	return Position{Database: "one", Xid: 1}, nil
}

func (manyKeys) Changes(_ context.Context, since Position, _ func(Change) error) (Position, error) {
	return since, nil
}

func (manyKeys) Lookup(context.Context, apikey.Digest) (apikey.Record, error) {
	return apikey.Record{}, apikey.ErrNotFound
}

func (manyKeys) Listen(context.Context, func()) error { return errBroken }

// stable is a clock by which nothing becomes stale.
type stable struct{ clock.RealClock }

func (stable) Since(time.Time) time.Duration { return 0 }

func filled(tb testing.TB, f manyKeys, c clock.WithTicker) *Index {
	tb.Helper()
	x, err := New(Options{
		Feed: f, Clock: c, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		MaxEntries: max(f.n, 1), MissRate: 1 << 30,
	})
	if err != nil {
		tb.Fatal(err)
	}
	if err := x.round(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return x
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The figure that the documentation of the bound gives.
func TestEntryTakesNoMoreMemoryThanIsDocumented(t *testing.T) {
	const n, documented = 50_000, 500
	before := heap()
	x := filled(t, manyKeys{n: n, usersDiffer: true}, stable{})
	per := float64(heap()-before) / n
	t.Logf("%.0f bytes per key, each of another user", per)
	if per > documented {
		t.Errorf("%.0f bytes per key, documented are at most %d", per, documented)
	}
	runtime.KeepAlive(x)
}

func TestHitDoesNotAllocate(t *testing.T) {
	x := filled(t, manyKeys{n: 1000}, stable{})
	d, ctx := manyDigest(7), t.Context()
	if got := testing.AllocsPerRun(1000, func() {
		if r, err := x.Get(ctx, d); err != nil || r.Refusal(x.Now()) != "" {
			t.Fatal(r, err)
		}
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkGet(b *testing.B) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		before := heap()
		// The real clock's price is part of it.
		x := filled(b, manyKeys{n: n}, clock.RealClock{})
		per := float64(heap()-before) / float64(n)
		confirm := func() { x.table.Load().confirmed.Store(1 << 60) }
		digests := make([]apikey.Digest, min(n, 50_000))
		for i := range digests {
			digests[i] = manyDigest(i * (n / len(digests)))
		}
		unknown := manyDigest(-1)
		ctx := b.Context()
		b.Run(fmt.Sprintf("hit/keys=%d", n), func(b *testing.B) {
			confirm()
			b.ReportAllocs()
			b.ReportMetric(per, "B/key")
			for i := range b.N {
				if _, err := x.Get(ctx, digests[i%len(digests)]); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("hit-parallel/keys=%d", n), func(b *testing.B) {
			confirm()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					if _, err := x.Get(ctx, digests[i%len(digests)]); err != nil {
						b.Error(err)
					}
				}
			})
		})
		b.Run(fmt.Sprintf("known-missing/keys=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				_, _ = x.Get(ctx, unknown)
			}
		})
		b.Run(fmt.Sprintf("lookup/keys=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				d := unknown
				d[1], d[2], d[3], d[4] = byte(i), byte(i>>8), byte(i>>16), byte(i>>24)
				_, _ = x.Get(ctx, d)
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	const n = 100_000
	b.ReportAllocs()
	for range b.N {
		filled(b, manyKeys{n: n}, stable{})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/key")
}
