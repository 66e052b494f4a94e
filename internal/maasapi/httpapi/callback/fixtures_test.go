// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package callback

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

const (
	goodKey = "sk-oai-testKeyID123_testSecretValue456"
	goodID  = "0c9e4ac3-2b6f-4a7e-9d52-6f1f0f6f2b11"
)

var now = time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC)

// keys are keys by digest. Others are missing, unless there is an error.
type keys struct {
	records map[apikey.Digest]*apikey.Record
	err     error
	asked   atomic.Int64
}

func (k *keys) Get(_ context.Context, digest apikey.Digest) (*apikey.Record, error) {
	k.asked.Add(1)
	if r := k.records[digest]; r != nil {
		return r, nil
	}
	if k.err != nil {
		return nil, k.err
	}
	return nil, apikey.ErrNotFound
}

func (*keys) Now() time.Time { return now }

// seen are the ids of keys whose use was noted.
type seen struct {
	mu  sync.Mutex
	ids []string
}

func (s *seen) Seen(id string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.Equal(now) {
		s.ids = append(s.ids, id)
	}
}

type fixture struct {
	*Validate
	keys     *keys
	usage    *seen
	registry *prometheus.Registry
}

// newFixture serves one key, which is good until it is changed.
func newFixture(tb testing.TB, change func(*apikey.Record)) *fixture {
	tb.Helper()
	r := &apikey.Record{
		ID: goodID, Username: "alice", Name: `my "key"`, Subscription: "free",
		Groups: []string{"system:authenticated", "team-a"}, Status: apikey.StatusActive, ExpiresAt: now.Add(time.Hour),
	}
	if change != nil {
		change(r)
	}
	digest, err := apikey.Parse(goodKey)
	if err != nil {
		tb.Fatal(err)
	}
	f := &fixture{
		keys: &keys{records: map[apikey.Digest]*apikey.Record{digest: r}}, usage: &seen{}, registry: prometheus.NewRegistry(),
	}
	f.Validate, err = NewValidate(ValidateOptions{
		Keys: f.keys, Usage: f.usage, Tenant: "models-as-a-service", Log: slog.New(slog.DiscardHandler), Registerer: f.registry,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func (f *fixture) post(body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	f.ServeHTTP(w, post(context.Background(), strings.NewReader(body)))
	return w
}

func post(ctx context.Context, body io.Reader) *http.Request {
	return httptest.NewRequestWithContext(ctx, http.MethodPost, "/internal/v1/api-keys/validate", body)
}

func (f *fixture) wantCounts(t *testing.T, valid, invalid, fault float64) {
	t.Helper()
	got := []float64{testutil.ToFloat64(f.valid), testutil.ToFloat64(f.invalid), testutil.ToFloat64(f.fault)}
	if diff := cmp.Diff([]float64{valid, invalid, fault}, got); diff != "" {
		t.Errorf("valid, invalid and failed validations (-want +got):\n%s", diff)
	}
}

func body(key string) string { return `{"key":"` + key + `"}` }
