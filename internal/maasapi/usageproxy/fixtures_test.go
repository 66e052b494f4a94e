// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usageproxy_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/usageproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	tokenOfAnn = "token-of-ann"
	tokenOfBob = "token-of-bob"
	ownToken   = "token-of-the-proxy"
	empty      = `{"status":"success","data":{"resultType":"streams","result":[]}}`
)

// store is a log store that notes what it is asked.
type store struct {
	*httptest.Server

	mu     sync.Mutex
	asked  []*http.Request
	answer http.HandlerFunc
}

func (s *store) requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*http.Request(nil), s.asked...)
}

func (s *store) answers(f http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Clone(context.WithoutCancel(r.Context())))
	answer := s.answer
	s.mu.Unlock()
	answer(w, r)
}

// says answers with a status and a body of JSON.
func says(status int, body string) http.HandlerFunc { return typed(status, "application/json", body) }

func typed(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // The client may be gone.
	}
}

// rig is a proxy before a log store.
type rig struct {
	store *store
	proxy *usageproxy.Proxy
	clock *clocktesting.FakePassiveClock
	log   *lockedBuffer
	dir   string
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements [io.Writer].
func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var errAway = errors.New("the API server is away")

func review(_ context.Context, token string) (string, error) {
	switch token {
	case tokenOfAnn:
		return "ann", nil
	case tokenOfBob:
		return "bob", nil
	case "away":
		return "", errAway
	case "nameless":
		return "", nil
	default:
		return "", usageproxy.ErrUnauthenticated
	}
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{store: &store{answer: says(http.StatusOK, empty)}, clock: clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0)), log: &lockedBuffer{}, dir: t.TempDir()}
	r.store.Server = httptest.NewTLSServer(r.store)
	t.Cleanup(r.store.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.store.Certificate().Raw})
	r.write(t, "ca.crt", string(authority))
	r.write(t, "token", ownToken+"\n")
	upstream, err := url.Parse(r.store.URL + "/api/logs/v1/application")
	if err != nil {
		t.Fatal(err)
	}
	r.proxy, err = usageproxy.New(usageproxy.Options{
		Reviewer: review, Upstream: upstream, CAFile: filepath.Join(r.dir, "ca.crt"), TokenFile: filepath.Join(r.dir, "token"), Namespace: "mon",
		Health: says(http.StatusOK, `"healthy"`), Ready: says(http.StatusOK, `"ready"`), Clock: r.clock, Log: slog.New(slog.NewTextHandler(r.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.proxy.Close)
	return r
}

func (r *rig) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// request is one of ann's.
func request(t *testing.T, target string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
	r.Header.Set("Authorization", "Bearer "+tokenOfAnn)
	return r
}

func (r *rig) do(request *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r.proxy.ServeHTTP(w, request)
	return w
}

func (r *rig) get(t *testing.T, target string) *httptest.ResponseRecorder {
	t.Helper()
	return r.do(request(t, target))
}

// query is the target of a query.
func query(text string) string { return "/loki/api/v1/query?query=" + url.QueryEscape(text) }
