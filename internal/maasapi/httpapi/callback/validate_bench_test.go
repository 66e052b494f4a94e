// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package callback

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/keyindex"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/usage"
)

// feed has n keys besides the good one, and never changes.
type feed struct{ n int }

func (f feed) Load(_ context.Context, _ int, yield func(apikey.Digest, apikey.Record) error) (keyindex.Position, error) {
	r := apikey.Record{
		ID: goodID, Username: "alice", Name: "my-key", Subscription: "free",
		Groups: []string{"system:authenticated", "team-a"}, Status: apikey.StatusActive, ExpiresAt: now.AddDate(100, 0, 0),
	}
	digest, err := apikey.Parse(goodKey)
	if err != nil {
		return keyindex.Position{}, err
	}
	if err := yield(digest, r); err != nil {
		return keyindex.Position{}, err
	}
	for i := range f.n {
		var other apikey.Digest
		binary.BigEndian.PutUint64(other[:], uint64(i)*0x9e3779b97f4a7c15)
		if err := yield(other, r); err != nil {
			return keyindex.Position{}, err
		}
	}
	return keyindex.Position{Database: "one", Xid: 1}, nil
}

func (feed) Changes(_ context.Context, since keyindex.Position, _ func(keyindex.Change) error) (keyindex.Position, error) {
	return since, nil
}

func (feed) Lookup(context.Context, apikey.Digest) (apikey.Record, error) {
	return apikey.Record{}, apikey.ErrNotFound
}

func (feed) Listen(ctx context.Context, _ func()) error {
	<-ctx.Done()
	return ctx.Err()
}

func (feed) WriteUsage(context.Context, []usage.Entry) error { return nil }

// wired is the handler with the real index and the real recorder behind it.
func wired(tb testing.TB, n int) *Validate {
	tb.Helper()
	registry, log := prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	index, err := keyindex.New(keyindex.Options{
		Feed: feed{n}, MaxEntries: n + 10, Clock: clock.RealClock{}, Log: log, Registerer: registry,
	})
	if err != nil {
		tb.Fatal(err)
	}
	recorder, err := usage.New(usage.Options{
		Writer: feed{}, Clock: clock.RealClock{}, Log: log, Registerer: registry, Debounce: time.Minute,
	})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- index.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Error(err)
		}
	})
	for index.State() != keyindex.StateFresh {
		_ = index.Refresh(ctx) // Until the load is done.
	}
	v, err := NewValidate(ValidateOptions{Keys: index, Usage: recorder, Tenant: "models-as-a-service", Log: log, Registerer: registry})
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// exchange is a request that can be made again and again without allocating.
type exchange struct {
	request *http.Request
	body    []byte
	read    int
	header  http.Header
	status  int
}

func newExchange(key string) *exchange {
	x := &exchange{body: []byte(body(key)), header: http.Header{}}
	x.request = post(context.Background(), http.NoBody)
	x.request.Body = x
	return x
}

func (x *exchange) again() { x.read, x.status = 0, 0 }

func (x *exchange) Read(p []byte) (int, error) {
	n := copy(p, x.body[x.read:])
	x.read += n
	if x.read == len(x.body) {
		return n, io.EOF
	}
	return n, nil
}

func (*exchange) Close() error                     { return nil }
func (x *exchange) Header() http.Header            { return x.header }
func (x *exchange) WriteHeader(status int)         { x.status = status }
func (*exchange) Write(answer []byte) (int, error) { return len(answer), nil }

func TestValidationOfAHeldKeyAllocatesLittle(t *testing.T) {
	v, x := wired(t, 1000), newExchange(goodKey)
	const most = 30
	got := testing.AllocsPerRun(1000, func() {
		x.again()
		v.ServeHTTP(x, x.request)
	})
	if x.status != http.StatusOK || got > most {
		t.Errorf("status %d, %v allocations, at most %d are wanted", x.status, got, most)
	}
}

func BenchmarkValidate(b *testing.B) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		for name, key := range map[string]string{"hit": goodKey, "malformed": "nonsense"} {
			b.Run(fmt.Sprintf("%s/keys=%d", name, n), func(b *testing.B) {
				v, x := wired(b, n), newExchange(key)
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					x.again()
					v.ServeHTTP(x, x.request)
				}
			})
		}
	}
}
