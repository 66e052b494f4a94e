// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/server"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// logBuffer is a log that several goroutines write to.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func logger() (*slog.Logger, *logBuffer) {
	b := &logBuffer{}
	return slog.New(slog.NewTextHandler(b, nil)), b
}

// wrap puts routes behind the middlewares.
func wrap(t *testing.T, routes ...httpapi.Route) http.Handler {
	t.Helper()
	return wrapOr(t, nil, routes...)
}

// wrapOr is wrap with a handler of what no route takes.
func wrapOr(t *testing.T, otherwise http.Handler, routes ...httpapi.Route) http.Handler {
	t.Helper()
	log, _ := logger()
	metrics, err := httpapi.NewMetrics(prometheus.NewRegistry(), "blue")
	if err != nil {
		t.Fatal(err)
	}
	h, err := httpapi.New(httpapi.Options{
		Routes: routes, Audiences: []httpapi.Audience{httpapi.Public}, Log: log, Clock: clock.RealClock{}, Metrics: metrics,
		NewID: func() string { return "id" }, Otherwise: otherwise,
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// listen serves the handler on a free port until the test ends.
func listen(t *testing.T, handler http.Handler, config *tls.Config) *server.Listener {
	t.Helper()
	log, _ := logger()
	l, err := server.Listen(t.Context(), server.ListenerOptions{
		Name: "test", Address: "127.0.0.1:0", Handler: handler, Timeouts: server.APITimeouts(time.Second), TLS: config, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		if err := l.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-l.Done(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// client trusts the certificate and keeps its connections until the test ends.
func client(t *testing.T, trusted *tls.Certificate, adjust ...func(*tls.Config)) *http.Client {
	t.Helper()
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	if trusted != nil {
		config.RootCAs.AddCert(leaf(t, trusted))
	}
	for _, f := range adjust {
		f(config)
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func leaf(t *testing.T, c *tls.Certificate) *x509.Certificate {
	t.Helper()
	parsed, err := x509.ParseCertificate(c.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// answer is what a request got.
type answer struct {
	status int
	body   string
	header http.Header
	tls    *tls.ConnectionState
}

func get(t *testing.T, c *http.Client, url string) answer {
	t.Helper()
	got, err := try(t, c, url)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func try(t *testing.T, c *http.Client, url string) (answer, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return answer{status: resp.StatusCode, body: string(body), header: resp.Header, tls: resp.TLS}, err
}

func ok() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) })
}
