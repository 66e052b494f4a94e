// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/server"
)

var errSecret = errors.New("postgres://user:hunter2@db")

// switchable is a check that fails with what it holds.
type switchable struct{ err error }

func (s *switchable) ready(context.Context) error { return s.err }

// good is the report of checks that all pass.
func good(checks ...string) string {
	var report strings.Builder
	for _, check := range append(checks, "serving") {
		report.WriteString("[+]" + check + " ok\n")
	}
	return report.String() + "ok"
}

func ask(t *testing.T, h http.Handler, target string) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody))
	if strings.Contains(w.Body.String(), "hunter2") {
		t.Errorf("%s shows a secret: %s", target, w.Body)
	}
	return http.StatusText(w.Code) + ": " + strings.TrimSpace(w.Body.String())
}

func TestHealthStates(t *testing.T) {
	t.Parallel()
	log, said := logger()
	database, caches := &switchable{}, &switchable{}
	health := server.NewHealth(log, server.Check{Name: "database", Ready: database.ready}, server.Check{Name: "caches", Ready: caches.ready})
	h := wrap(t, health.Routes(httpapi.Public)...)
	for _, step := range []struct {
		name                  string
		database, caches      error
		drain                 bool
		wantReady, wantReport string
	}{
		{"not yet", errSecret, errSecret, false, "Service Unavailable: not ready", "[-]database failed: see the log\n[-]caches failed: see the log\n[+]serving ok\nnot ready"},
		{"caches missing", nil, errSecret, false, "Service Unavailable: not ready", "[+]database ok\n[-]caches failed: see the log\n[+]serving ok\nnot ready"},
		{"all there", nil, nil, false, "OK: ok", good("database", "caches")},
		{"database gone", errSecret, nil, false, "Service Unavailable: not ready", "[-]database failed: see the log\n[+]caches ok\n[+]serving ok\nnot ready"},
		{"database back", nil, nil, false, "OK: ok", good("database", "caches")},
		{"draining", nil, nil, true, "Service Unavailable: not ready", "[+]database ok\n[+]caches ok\n[-]serving failed: see the log\nnot ready"},
	} {
		database.err, caches.err = step.database, step.caches
		if step.drain {
			health.Drain()
		}
		got := []string{ask(t, h, "/readyz"), ask(t, h, "/readyz?verbose"), ask(t, h, "/livez"), ask(t, h, "/health")}
		_, report, _ := strings.Cut(got[1], ": ")
		want := []string{step.wantReady, step.wantReport, "OK: ok", `OK: {"status":"healthy"}`}
		if diff := cmp.Diff(want, []string{got[0], report, got[2], got[3]}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
	text := said.String()
	if strings.Count(text, "Readiness check fails") != 1 || strings.Count(text, "passes again") != 1 || !strings.Contains(text, "check=database") {
		t.Errorf("the log does not tell one transition each way, and none before the first readiness: %s", text)
	}
}

func TestNoCheckIsNotReady(t *testing.T) {
	t.Parallel()
	log, _ := logger()
	if got := ask(t, wrap(t, server.NewHealth(log).Routes(httpapi.Public)...), "/readyz"); got != "Service Unavailable: not ready" {
		t.Errorf("got %q", got)
	}
}

func TestCheckIsReplacedByName(t *testing.T) {
	t.Parallel()
	log, _ := logger()
	health := server.NewHealth(log, server.Check{Name: "started", Ready: (&switchable{err: errSecret}).ready})
	health.Set(server.Check{Name: "started", Ready: (&switchable{}).ready})
	if got := ask(t, wrap(t, health.Routes(httpapi.Public)...), "/readyz?verbose"); got != "OK: "+good("started") {
		t.Errorf("got %q", got)
	}
}

func TestCheckIsGivenADeadline(t *testing.T) {
	t.Parallel()
	log, _ := logger()
	var bounded bool
	health := server.NewHealth(log, server.Check{Name: "slow", Ready: func(ctx context.Context) error {
		_, bounded = ctx.Deadline()
		return nil
	}})
	ask(t, wrap(t, health.Routes(httpapi.Public)...), "/readyz")
	if !bounded {
		t.Error("the check could block for ever")
	}
}

func TestGate(t *testing.T) {
	t.Parallel()
	log, _ := logger()
	gate := server.NewGate(wrapOr(t, http.HandlerFunc(server.Starting), server.NewHealth(log).Routes(httpapi.Public)...))
	before := []string{ask(t, gate, "/health"), ask(t, gate, "/livez"), ask(t, gate, "/readyz"), ask(t, gate, "/v1/models")}
	want := []string{
		`OK: {"status":"healthy"}`, "OK: ok", "Service Unavailable: not ready",
		`Service Unavailable: {"error":"The service is starting; try again in a moment"}`,
	}
	if diff := cmp.Diff(want, before); diff != "" {
		t.Errorf("closed (-want +got):\n%s", diff)
	}
	gate.Open(ok())
	if got := ask(t, gate, "/v1/models"); got != "OK: hello" {
		t.Errorf("open: %s", got)
	}
}

func TestMetricsListener(t *testing.T) {
	t.Parallel()
	registry, err := server.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	log, _ := logger()
	h := server.MetricsHandler(registry, wrap(t, server.NewHealth(log).Routes(httpapi.Public)...))
	metrics := ask(t, h, "/metrics")
	for _, name := range []string{"go_goroutines", "process_cpu_seconds_total", "maas_api_build_info"} {
		if !strings.Contains(metrics, "\n"+name) {
			t.Errorf("%s is missing", name)
		}
	}
	if got := ask(t, h, "/health"); got != `OK: {"status":"healthy"}` {
		t.Errorf("health: %s", got)
	}
	if got := ask(t, h, "/v1/models"); got != "Not Found: 404 page not found" {
		t.Errorf("other paths: %s", got)
	}
	if err := registry.Register(prometheus.NewGoCollector()); err == nil { //nolint:staticcheck // Only to see that it is there.
		t.Error("the runtime's metrics are missing")
	}
}
