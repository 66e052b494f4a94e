// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

// record returns the only record of the log.
func (h harness) record(t *testing.T) map[string]any {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal(h.log.Bytes(), &got); err != nil {
		t.Fatalf("%v in %q", err, h.log)
	}
	return got
}

func TestAccessLog(t *testing.T) {
	t.Parallel()
	h := newHarness(t, []httpapi.Route{route(http.MethodGet, "/v1/api-keys/{id}", func(r *httpapi.Route) {
		r.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { httpapi.WriteError(w, http.StatusForbidden, "no") })
	})})
	h.do(request(http.MethodGet, "/v1/api-keys/k1?token=hidden", http.NoBody,
		"Authorization", "Bearer hidden", "X-MaaS-Username", "hidden", "X-Request-ID", "r1"))
	got := h.record(t)
	delete(got, "time")
	want := map[string]any{
		"level": "INFO", "msg": "Request completed", "method": "GET", "path": "/v1/api-keys/k1", "status": 403.0, "latency_ms": 0.0,
		"client_ip": "192.0.2.1", "request_id": "r1",
		"auth_headers": map[string]any{
			"authorization": "present", "x-api-key": "absent", "cookie": "absent", "set-cookie": "absent", "x-maas-username": "present", "x-maas-group": "absent",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if strings.Contains(h.log.String(), "hidden") {
		t.Errorf("the log says %s", h.log)
	}
}

func TestAccessLogHasEveryRequest(t *testing.T) {
	t.Parallel()
	h := newHarness(t, serviceRoutes())
	const requests = 6000
	for range requests {
		h.do(request(http.MethodGet, "/v1/models", http.NoBody))
	}
	if got := strings.Count(h.log.String(), "\n"); got != requests {
		t.Errorf("%d records for %d requests", got, requests)
	}
}

func TestAccessLogOfQuietRoutesIsAtDebugLevel(t *testing.T) {
	t.Parallel()
	quiet := route(http.MethodGet, "/quiet", func(r *httpapi.Route) { r.Quiet = true })
	info := newHarness(t, []httpapi.Route{quiet})
	info.do(request(http.MethodGet, "/quiet", http.NoBody))
	if info.log.Len() > 0 {
		t.Errorf("at info level the log says %s", info.log)
	}
	var log bytes.Buffer
	debug := newHarness(t, []httpapi.Route{quiet}, func(o *httpapi.Options) {
		o.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	debug.log = &log
	debug.do(request(http.MethodGet, "/quiet", http.NoBody))
	if got := debug.record(t)["level"]; got != "DEBUG" {
		t.Errorf("level is %v", got)
	}
}

func TestAccessLogPath(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ target, want string }{
		"a key in the path is hidden": {"/v1/api-keys/sk-oai-abc_def", "/v1/api-keys/sk-oai-<hidden>"},
		"a long path is cut":          {"/" + strings.Repeat("a", 400), "/" + strings.Repeat("a", 255) + "…"},
		"a line break stays one line": {"/a%0ab", "/a\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, nil)
			h.do(request(http.MethodGet, tc.target, http.NoBody))
			if got := h.record(t)["path"]; got != tc.want || strings.Count(h.log.String(), "\n") != 1 {
				t.Errorf("path is %q in %q, want %q", got, h.log, tc.want)
			}
		})
	}
}

func TestClientAddress(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, tc := range map[string]struct {
		peer    string
		headers []string
		trusted []netip.Prefix
		want    string
	}{
		"the peer":                            {peer: "203.0.113.9:1", want: "203.0.113.9"},
		"nobody is trusted by default":        {peer: "10.0.0.1:1", headers: []string{"9.9.9.9"}, want: "10.0.0.1"},
		"a client cannot name its address":    {peer: "203.0.113.9:1", headers: []string{"9.9.9.9"}, trusted: proxies, want: "203.0.113.9"},
		"a trusted proxy names its client":    {peer: "10.0.0.1:1", headers: []string{"9.9.9.9"}, trusted: proxies, want: "9.9.9.9"},
		"what the client wrote does not win":  {peer: "10.0.0.1:1", headers: []string{"1.1.1.1, 9.9.9.9"}, trusted: proxies, want: "9.9.9.9"},
		"trusted hops are passed over":        {peer: "10.0.0.1:1", headers: []string{"9.9.9.9, 10.1.1.1"}, trusted: proxies, want: "9.9.9.9"},
		"several headers are one list":        {peer: "10.0.0.1:1", headers: []string{"1.1.1.1", "9.9.9.9"}, trusted: proxies, want: "9.9.9.9"},
		"an unreadable hop ends the search":   {peer: "10.0.0.1:1", headers: []string{"9.9.9.9, <script>"}, trusted: proxies, want: "10.0.0.1"},
		"only trusted hops":                   {peer: "10.0.0.1:1", headers: []string{"10.2.2.2"}, trusted: proxies, want: "10.2.2.2"},
		"a mapped address is an IPv4 address": {peer: "[::ffff:10.0.0.1]:1", headers: []string{"9.9.9.9"}, trusted: proxies, want: "9.9.9.9"},
		"IPv6 with a zone":                    {peer: "[fd00::1%eth0]:1", headers: []string{"2001:db8::1"}, trusted: proxies, want: "2001:db8::1"},
		"no address":                          {peer: "@", want: "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, nil, func(o *httpapi.Options) { o.TrustedProxies = tc.trusted })
			r := request(http.MethodGet, "/", http.NoBody)
			r.RemoteAddr, r.Header["X-Forwarded-For"] = tc.peer, tc.headers
			h.do(r)
			if got := h.record(t)["client_ip"]; got != tc.want {
				t.Errorf("client_ip is %v, want %s", got, tc.want)
			}
		})
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	h := newHarness(t, serviceRoutes())
	for _, target := range []string{"GET /v1/api-keys/k1", "GET /v1/api-keys/k2", "GET /nothing/k3", "BREW /v1/models", "BREW2 /v1/models"} {
		method, path, _ := strings.Cut(target, " ")
		h.do(request(method, path, http.NoBody, "X-MaaS-Tenant", "red"))
	}
	want := `
# HELP maas_api_http_requests_total Requests by verb, route pattern, status and tenant.
# TYPE maas_api_http_requests_total counter
maas_api_http_requests_total{method="GET",route="/v1/api-keys/:id",status="200",tenant_name="blue"} 2
maas_api_http_requests_total{method="GET",route="unmatched",status="404",tenant_name="blue"} 1
maas_api_http_requests_total{method="other",route="unmatched",status="404",tenant_name="blue"} 2
`
	if err := testutil.GatherAndCompare(h.registry, strings.NewReader(want), "maas_api_http_requests_total"); err != nil {
		t.Error(err)
	}
}

func TestMetricsOfDurationsAndRequestsInFlight(t *testing.T) {
	t.Parallel()
	var h harness
	h = newHarness(t, []httpapi.Route{route(http.MethodGet, "/slow", func(r *httpapi.Route) {
		r.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			if got := h.inFlight(t, "GET"); got != 1 {
				t.Errorf("%v requests in flight", got)
			}
			h.clock.Step(300 * time.Millisecond)
		})
	})})
	h.do(request(http.MethodGet, "/slow", http.NoBody))
	if got := h.inFlight(t, "GET"); got != 0 {
		t.Errorf("%v requests in flight at the end", got)
	}
	want := `
# HELP maas_api_http_request_duration_seconds Time from when a request's headers were read to the end of its handler, in seconds.
# TYPE maas_api_http_request_duration_seconds histogram
`
	for _, bucket := range []string{"0.005 0", "0.01 0", "0.025 0", "0.05 0", "0.1 0", "0.25 0", "0.5 1", "1 1", "2.5 1", "5 1", "10 1", "+Inf 1"} {
		le, count, _ := strings.Cut(bucket, " ")
		want += `maas_api_http_request_duration_seconds_bucket{method="GET",route="/slow",status="200",tenant_name="blue",le="` + le + `"} ` + count + "\n"
	}
	want += `maas_api_http_request_duration_seconds_sum{method="GET",route="/slow",status="200",tenant_name="blue"} 0.3
maas_api_http_request_duration_seconds_count{method="GET",route="/slow",status="200",tenant_name="blue"} 1
`
	if err := testutil.GatherAndCompare(h.registry, strings.NewReader(want), "maas_api_http_request_duration_seconds"); err != nil {
		t.Error(err)
	}
}

func TestMetricsCannotBeRegisteredTwice(t *testing.T) {
	t.Parallel()
	if _, err := httpapi.NewMetrics(newHarness(t, nil).registry, "blue"); err == nil {
		t.Error("no error")
	}
}

func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		origin string
		want   int
	}{
		"localhost":              {"http://localhost", 200},
		"localhost with a port":  {"http://localhost:3000", 200},
		"a loopback address":     {"http://127.0.0.1:3000", 200},
		"another loopback":       {"http://127.8.8.8", 200},
		"IPv6 loopback":          {"http://[::1]:3000", 200},
		"https":                  {"https://localhost", 403},
		"a name below localhost": {"http://foo.localhost", 403},
		"the local network":      {"http://192.168.1.1", 403},
		"another site":           {"http://example.com", 403},
		"a name like localhost":  {"http://localhost.example.com", 403},
		"null":                   {"null", 403},
		"a path":                 {"http://localhost/x", 403},
		"a user":                 {"http://localhost@example.com", 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			debug := newHarness(t, serviceRoutes(), func(o *httpapi.Options) { o.CrossOrigin = true })
			w := debug.do(request(http.MethodGet, "/v1/models", http.NoBody, "Origin", tc.origin))
			allowed := w.Header().Get("Access-Control-Allow-Origin")
			if w.Code != tc.want || (allowed == tc.origin) != (tc.want == 200) || w.Header().Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("answered %d, allowed %q", w.Code, allowed)
			}
			usual := newHarness(t, serviceRoutes()).do(request(http.MethodGet, "/v1/models", http.NoBody, "Origin", tc.origin))
			if usual.Code != http.StatusOK || usual.Header().Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("without debug answered %d with %v", usual.Code, usual.Header())
			}
		})
	}
}

func TestCrossOriginPreflight(t *testing.T) {
	t.Parallel()
	h := newHarness(t, serviceRoutes(), func(o *httpapi.Options) { o.CrossOrigin = true })
	w := h.do(request(http.MethodOptions, "/v1/models", http.NoBody, "Origin", "http://localhost"))
	got := map[string]string{}
	for _, name := range []string{"Methods", "Headers", "Origin"} {
		got[name] = w.Header().Get("Access-Control-Allow-" + name)
	}
	want := map[string]string{"Methods": "GET,POST,PUT,PATCH,DELETE,OPTIONS", "Headers": "Authorization,Content-Type,Accept", "Origin": "http://localhost"}
	if diff := cmp.Diff(want, got); diff != "" || w.Code != http.StatusNoContent || w.Header().Get("Access-Control-Max-Age") != "43200" {
		t.Errorf("answered %d with %v (-want +got):\n%s", w.Code, w.Header(), diff)
	}
}

func TestTracing(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	h := newHarness(t, append(serviceRoutes(), route(http.MethodGet, "/panic", panicking("x"))), func(o *httpapi.Options) {
		o.Tracing = &httpapi.Tracing{
			Tracer: provider.Tracer("t"), Propagator: propagation.TraceContext{},
			Attributes: []attribute.KeyValue{attribute.String("tenant.name", "blue")},
		}
	})
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	h.do(request(http.MethodGet, "/v1/api-keys/k1", http.NoBody, "traceparent", parent))
	h.do(request(http.MethodGet, "/nothing", http.NoBody))
	h.do(request(http.MethodGet, "/panic", http.NoBody))
	spans := exporter.GetSpans()
	if len(spans) != 3 {
		t.Fatalf("%d spans", len(spans))
	}
	if got := spans[0].SpanContext.TraceID().String() + " " + spans[0].Parent.SpanID().String(); got != "4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7" {
		t.Errorf("the caller's trace is not continued: %s", got)
	}
	if spans[1].Parent.IsValid() {
		t.Error("a request without a trace has a parent")
	}
	got := []string{spans[0].Name, spans[1].Name, spans[2].Name}
	if diff := cmp.Diff([]string{"GET /v1/api-keys/:id", "unmatched", "GET /panic"}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	attributes := map[attribute.Key]string{}
	for _, a := range spans[0].Attributes {
		attributes[a.Key] = a.Value.String()
	}
	want := map[attribute.Key]string{"tenant.name": "blue", "http.method": "GET", "http.route": "/v1/api-keys/:id", "http.status_code": "200"}
	if diff := cmp.Diff(want, attributes); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if spans[0].Status.Code != codes.Unset || spans[1].Status.Code != codes.Unset || spans[2].Status.Code != codes.Error {
		t.Errorf("status is %v, %v and %v", spans[0].Status, spans[1].Status, spans[2].Status)
	}
}

// inFlight is the gauge of requests in flight of a verb.
func (h harness) inFlight(t *testing.T, method string) float64 {
	t.Helper()
	families, err := h.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "maas_api_http_requests_in_flight" && metric.GetLabel()[0].GetValue() == method {
				return metric.GetGauge().GetValue()
			}
		}
	}
	t.Fatalf("no series of %s", method)
	return 0
}
