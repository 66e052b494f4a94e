// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyapi_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey/apikeytest"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi/keyapi"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// site is a world with the calls about its keys.
type site struct {
	*apikeytest.World

	handler http.Handler
}

func newSite(tb testing.TB, changes ...func(*apikey.Options)) site {
	tb.Helper()
	s := site{World: apikeytest.NewWorld(tb, changes...)}
	metrics, err := httpapi.NewMetrics(prometheus.NewRegistry(), apikeytest.Tenant)
	if err != nil {
		tb.Fatal(err)
	}
	s.handler, err = httpapi.New(httpapi.Options{
		Routes: keyapi.Handlers{Keys: s.Service}.Routes(), Audiences: []httpapi.Audience{httpapi.Public, httpapi.Internal},
		Log: slog.New(slog.DiscardHandler), Clock: s.Clock, Metrics: metrics, NewID: func() string { return "made" },
	})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// answer is what a client sees.
type answer struct {
	Status int
	// Body is as sent, in JSON.
	Body string
}

// call sends a request, a verb and a path, of a member of the team. Nobody has no
// name and sends no identity.
func (s site) call(tb testing.TB, user, operation, body string, headers ...string) answer {
	tb.Helper()
	method, path, _ := strings.Cut(operation, " ")
	r := httptest.NewRequestWithContext(tb.Context(), method, path, strings.NewReader(body))
	if user != "" {
		r.Header.Set("X-MaaS-Username", user)
		r.Header.Set("X-MaaS-Group", `["system:authenticated","team-a"]`)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	if got := w.Header().Get("Cache-Control"); got != "no-store" && w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
		tb.Errorf("%s: Cache-Control is %q, want no-store", operation, got)
	}
	return answer{Status: w.Code, Body: w.Body.String()}
}

func wantAnswer(tb testing.TB, got answer, status int, body string) {
	tb.Helper()
	if diff := cmp.Diff(answer{Status: status, Body: body}, got); diff != "" {
		tb.Errorf("the answer (-want +got):\n%s", diff)
	}
}

// decoded returns a member of a body.
func decoded[T any](tb testing.TB, a answer) T {
	tb.Helper()
	var body T
	if err := json.Unmarshal([]byte(a.Body), &body); err != nil {
		tb.Fatalf("the body %q: %v", a.Body, err)
	}
	return body
}
