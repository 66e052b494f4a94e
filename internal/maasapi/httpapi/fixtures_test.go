// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

const madeID = "made-id"

// harness is a handler with everything it writes to.
type harness struct {
	handler  *httpapi.Handler
	registry *prometheus.Registry
	log      *bytes.Buffer
	clock    *clocktesting.FakeClock
}

// newHarness serves the routes, with options as the function leaves them.
func newHarness(tb testing.TB, routes []httpapi.Route, adjust ...func(*httpapi.Options)) harness {
	tb.Helper()
	h := harness{registry: prometheus.NewRegistry(), log: &bytes.Buffer{}, clock: clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0))}
	metrics, err := httpapi.NewMetrics(h.registry, "blue")
	if err != nil {
		tb.Fatal(err)
	}
	options := httpapi.Options{
		Routes:    routes,
		Audiences: []httpapi.Audience{httpapi.Public, httpapi.Internal},
		Log:       slog.New(slog.NewJSONHandler(h.log, &slog.HandlerOptions{Level: slog.LevelInfo})),
		Clock:     h.clock,
		Metrics:   metrics,
		NewID:     func() string { return madeID },
	}
	for _, f := range adjust {
		f(&options)
	}
	if h.handler, err = httpapi.New(options); err != nil {
		tb.Fatal(err)
	}
	return h
}

// do sends one request without a network.
func (h harness) do(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, r)
	return w
}

func request(method, target string, body io.Reader, headers ...string) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), method, target, body)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// echo answers 200 with the path value "id" and the id of the request.
func echo() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpapi.WriteJSON(w, http.StatusOK, map[string]string{"id": r.PathValue("id"), "request": httpapi.RequestID(r.Context())})
	})
}

func route(method, pattern string, adjust ...func(*httpapi.Route)) httpapi.Route {
	r := httpapi.Route{Method: method, Pattern: pattern, Handler: echo()}
	for _, f := range adjust {
		f(&r)
	}
	return r
}

func internal(r *httpapi.Route) { r.Audience = httpapi.Internal }

func newHarnessRegistry() *prometheus.Registry { return prometheus.NewRegistry() }
