// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi_test

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

// The middlewares around the two routes that are called for every request of a
// model must stay cheap: they take 4 allocations.
const maxAllocations = 8

func quietHandler(tb testing.TB) http.Handler {
	tb.Helper()
	empty := func(r *httpapi.Route) {
		r.Audience, r.Quiet, r.NoStore = httpapi.Internal, true, true
		r.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	}
	return newHarness(tb, append(serviceRoutes()[:6], route(http.MethodPost, validate, empty)), func(o *httpapi.Options) {
		o.Clock = clock.RealClock{}
		o.Log = slog.New(slog.NewJSONHandler(io.Discard, nil))
	}).handler
}

// discard is a writer that costs nothing itself.
type discard struct{ header http.Header }

func (d discard) Header() http.Header            { return d.header }
func (d discard) WriteHeader(int)                {}
func (d discard) Write(body []byte) (int, error) { return len(body), nil }

func quietRequest() *http.Request {
	return request(http.MethodPost, validate, strings.NewReader(`{"key":"x"}`), "X-Request-Id", "r1", "Content-Type", "application/json")
}

func BenchmarkQuietRoute(b *testing.B) {
	handler, r, w := quietHandler(b), quietRequest(), discard{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(w, r)
	}
}

func TestMiddlewaresOfQuietRoutesStayCheap(t *testing.T) {
	handler, r, w := quietHandler(t), quietRequest(), discard{header: http.Header{}}
	if got := testing.AllocsPerRun(100, func() { handler.ServeHTTP(w, r) }); got > maxAllocations {
		t.Errorf("%v allocations for a request, want at most %d", got, maxAllocations)
	}
}
