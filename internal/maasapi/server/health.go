// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

// checkTimeout bounds one check of readiness; kubelet waits for 3 seconds.
const checkTimeout = 2 * time.Second

// Check is one condition of readiness.
type Check struct {
	// Name is shown by /readyz?verbose; it has no white space.
	Name string
	// Ready returns nil, or why the process cannot serve. The reason goes to the
	// log, never to a client. It must not block longer than its context.
	Ready func(ctx context.Context) error
}

// Health answers whether the process lives and whether it can serve.
type Health struct {
	log      *slog.Logger
	draining atomic.Bool

	mu       sync.Mutex
	checks   []Check
	failed   map[string]bool
	wasReady bool // Until it was ready once, nobody needs to hear that it is not.
}

// NewHealth returns a Health with the given checks. A process without any check
// that passes is not ready; more can be added at any time.
func NewHealth(log *slog.Logger, checks ...Check) *Health {
	return &Health{log: log, checks: checks, failed: map[string]bool{}}
}

// Set adds checks, each in place of one of the same name.
func (h *Health) Set(checks ...Check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, check := range checks {
		h.checks = slices.DeleteFunc(h.checks, func(old Check) bool { return old.Name == check.Name })
		h.checks = append(h.checks, check)
	}
}

// Drain makes the process unready for the rest of its life.
func (h *Health) Drain() {
	h.draining.Store(true)
}

// Routes are the health endpoints, the same on every listener. /health and /livez
// answer 200 for as long as the process can answer at all: a restart would heal
// neither a database nor an API server. /readyz says whether to send requests.
func (h *Health) Routes(audience httpapi.Audience) []httpapi.Route {
	route := func(pattern string, handler http.HandlerFunc) httpapi.Route {
		return httpapi.Route{Method: http.MethodGet, Pattern: pattern, Audience: audience, Handler: handler, NoStore: true, Quiet: true}
	}
	return []httpapi.Route{
		route("/health", health),
		route("/livez", live),
		route("/readyz", h.ready),
	}
}

func health(w http.ResponseWriter, _ *http.Request) {
	httpapi.WriteJSON(w, http.StatusOK, map[string]string{"status": "healthy"})
}

func live(w http.ResponseWriter, _ *http.Request) {
	writeText(w, http.StatusOK, "ok\n")
}

func (h *Health) ready(w http.ResponseWriter, r *http.Request) {
	report, ok := h.evaluate(r.Context())
	status, text := http.StatusOK, "ok\n"
	if !ok {
		status, text = http.StatusServiceUnavailable, "not ready\n"
	}
	if r.URL.Query().Has("verbose") {
		text = report + text
	}
	writeText(w, status, text)
}

// evaluate runs all checks and returns a line for each.
func (h *Health) evaluate(ctx context.Context) (report string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	h.mu.Lock()
	checks := slices.Clone(h.checks)
	h.mu.Unlock()
	var lines strings.Builder
	ok = len(checks) > 0
	note := func(name string, good bool) {
		if good {
			lines.WriteString("[+]" + name + " ok\n")
			return
		}
		ok = false
		lines.WriteString("[-]" + name + " failed: see the log\n")
	}
	for _, check := range checks {
		err := check.Ready(ctx)
		h.transition(check.Name, err)
		note(check.Name, err == nil)
	}
	note("serving", !h.draining.Load())
	h.mu.Lock()
	h.wasReady = h.wasReady || ok
	h.mu.Unlock()
	return lines.String(), ok
}

// transition logs a check that begins or ceases to fail, and nothing in between.
func (h *Health) transition(name string, err error) {
	h.mu.Lock()
	was := h.failed[name]
	h.failed[name] = err != nil && h.wasReady
	starting := !h.wasReady
	h.mu.Unlock()
	switch {
	case starting:
	case err != nil && !was:
		h.log.Warn("Readiness check fails", slog.String("check", name), slog.Any("error", err))
	case err == nil && was:
		h.log.Info("Readiness check passes again", slog.String("check", name))
	}
}

func writeText(w http.ResponseWriter, status int, text string) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // The client is gone; there is nobody to tell.
}
