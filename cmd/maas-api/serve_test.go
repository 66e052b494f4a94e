// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/config"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// output is what several goroutines write to.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// nobody is an address at which nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	address, err := testenv.FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// alone is the invocation of a service whose API server and database do not exist.
func alone(t *testing.T, out *output, more ...string) invocation {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"kubeconfig": "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n" +
			"users: [{name: a, user: {}}]\nclusters: [{name: a, cluster: {server: 'http://" + nobody(t) + "'}}]\n",
		"url": "postgres://user:hunter2@" + nobody(t) + "/db?sslmode=disable",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := runLine(t, nil, append([]string{
		"serve", "--kubeconfig=" + filepath.Join(dir, "kubeconfig"), "--database-url-file=" + filepath.Join(dir, "url"),
		"--address=127.0.0.1:0", "--start-timeout=2s", "--shutdown-drain=0s",
	}, more...)...).in
	in.Out = out
	return in
}

func TestServeAnswersMetricsAndHealthWhileItStarts(t *testing.T) {
	out, metrics := &output{}, nobody(t)
	ctx, cancel := context.WithCancel(t.Context())
	in := alone(t, out, "--metrics-address="+metrics, "--start-timeout=1h")
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, in) }()
	seen := map[string]int{}
	for len(seen) < 4 {
		select {
		case err := <-ended:
			t.Fatalf("ended after %v: %v\n%s", seen, err, out)
		default:
		}
		for path, want := range map[string]int{"/metrics": 200, "/livez": 200, "/health": 200, "/readyz": 503} {
			if got := statusOf(t.Context(), "http://"+metrics+path); got == want {
				seen[path] = got
			}
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("told to end while it starts, it fails: %v", err)
	}
}

func TestServeGivesUpAfterTheBound(t *testing.T) {
	out := &output{}
	err := serve(t.Context(), alone(t, out, "--metrics-address=127.0.0.1:0", "--start-timeout=1s"))
	if err == nil || !strings.Contains(err.Error(), "did not start within 1s (--start-timeout)") {
		t.Errorf("error %v", err)
	}
	if all := fmt.Sprint(err) + out.String(); strings.Contains(all, "hunter2") {
		t.Errorf("the password shows: %s", all)
	}
}

func TestServeSaysWhichAddressIsTaken(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	err = serve(t.Context(), alone(t, &output{}, "--metrics-address="+l.Addr().String()))
	if err == nil || !strings.Contains(err.Error(), "listen for metrics") {
		t.Errorf("error %v", err)
	}
}

func TestServeSaysThatACertificateIsMissing(t *testing.T) {
	err := serve(t.Context(), alone(t, &output{}, "--metrics-address=127.0.0.1:0", "--tls-cert=/nothing", "--tls-key=/nothing"))
	if err == nil || !strings.Contains(err.Error(), "--tls-cert and --tls-key") {
		t.Errorf("error %v", err)
	}
}

func TestServeLogsWhereItsSettingsCameFrom(t *testing.T) {
	out := &output{}
	in := alone(t, out, "--metrics-address=127.0.0.1:0", "--tls-cert=/nothing", "--tls-key=/nothing")
	in.Warnings = []string{"something is odd"}
	if err := serve(t.Context(), in); err == nil {
		t.Error("no error")
	}
	var first struct {
		Message string   `json:"message"`
		Flags   []string `json:"flags"`
	}
	line, rest, _ := strings.Cut(out.String(), "\n")
	if err := json.Unmarshal([]byte(line), &first); err != nil {
		t.Fatal(err)
	}
	if first.Message != "Starting" || len(first.Flags) != 8 || !strings.Contains(rest, "something is odd") {
		t.Errorf("log: %s", out)
	}
}

func statusOf(ctx context.Context, url string) int {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestLogFormat(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	newLogger(config.General{LogLevel: "info"}, &out).Warn("Saying", slog.Duration("took", 1500*time.Millisecond), slog.Any("error", errors.New("e")))
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	stamp, _ := got["timestamp"].(string)
	if _, err := time.Parse(timestamp, stamp); err != nil {
		t.Error(err)
	}
	caller, _ := got["caller"].(string)
	if !strings.HasPrefix(caller, "maas-api/serve_test.go:") {
		t.Errorf("caller is %q", caller)
	}
	delete(got, "timestamp")
	delete(got, "caller")
	if diff := cmp.Diff(map[string]any{"level": "warn", "message": "Saying", "took": "1.5s", "error": "e"}, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestLogLevels(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]int{"error": 1, "warn": 2, "info": 3, "debug": 4} {
		var out bytes.Buffer
		log := newLogger(config.General{LogLevel: level, LogFormat: "text"}, &out)
		log.Error("a")
		log.Warn("a")
		log.Info("a")
		log.Debug("a")
		if got := strings.Count(out.String(), "\n"); got != want {
			t.Errorf("%s: %d records", level, got)
		}
	}
}

// Those of the libraries are in between.
func TestEveryRecordHasALevelThatCollectorsKnow(t *testing.T) {
	t.Parallel()
	for level, want := range map[slog.Level]string{
		slog.LevelDebug - 4: "debug", slog.LevelDebug: "debug", slog.LevelDebug + 1: "debug", slog.LevelDebug + 3: "debug",
		slog.LevelInfo: "info", slog.LevelInfo + 1: "info", slog.LevelWarn + 1: "warn", slog.LevelError: "error", slog.LevelError + 4: "error",
	} {
		if got := rename(nil, slog.Any(slog.LevelKey, level)).Value.String(); got != want {
			t.Errorf("%s is written as %q, want %q", level, got, want)
		}
	}
}

func TestAuditRecordsAreWrittenAtEveryLevel(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"error", "warn", "info", "debug"} {
		var out bytes.Buffer
		auditLogger(config.General{LogLevel: level}, &out).Info("AUDIT")
		if out.Len() == 0 {
			t.Errorf("%s: no record", level)
		}
	}
}

func TestRecordsOfARequestCarryItsID(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := newLogger(config.General{LogLevel: "info"}, &out).With("a", "b").WithGroup("g")
	metrics, err := httpapi.NewMetrics(prometheus.NewRegistry(), "blue")
	if err != nil {
		t.Fatal(err)
	}
	h, err := httpapi.New(httpapi.Options{
		Clock: clock.RealClock{}, Metrics: metrics, Log: slog.New(slog.DiscardHandler), NewID: func() string { return "made" }, Audiences: []httpapi.Audience{httpapi.Public},
		Routes: []httpapi.Route{{Method: http.MethodGet, Pattern: "/a", Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			log.InfoContext(r.Context(), "Within")
		})}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/a", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	h.ServeHTTP(discardWriter{header: http.Header{}}, r)
	if !strings.Contains(out.String(), `"request_id":"made"`) {
		t.Errorf("record: %s", &out)
	}
}

type discardWriter struct{ header http.Header }

func (w discardWriter) Header() http.Header            { return w.header }
func (w discardWriter) WriteHeader(int)                {}
func (w discardWriter) Write(body []byte) (int, error) { return len(body), nil }
