// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/opendatahub-io/maas-operator/hack/gateway/limiter"
)

// server is an authorization server that answers as a test says and remembers what
// it was asked.
type server struct {
	authv3.UnimplementedAuthorizationServer
	answer func(*authv3.CheckRequest) (*authv3.CheckResponse, error)

	mu    sync.Mutex
	asked []*authv3.CheckRequest
}

func (s *server) Check(_ context.Context, r *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	s.mu.Lock()
	s.asked = append(s.asked, r)
	s.mu.Unlock()
	return s.answer(r)
}

// client serves the server on a loopback address and returns a client of it.
func (s *server) client(t *testing.T) authv3.AuthorizationClient {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	authv3.RegisterAuthorizationServer(g, s)
	go func() { _ = g.Serve(listener) }()
	t.Cleanup(g.Stop)
	return clientOf(t, listener.Addr().String())
}

func clientOf(t *testing.T, address string) authv3.AuthorizationClient {
	t.Helper()
	c, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return authv3.NewAuthorizationClient(c)
}

// allowing answers with headers and dynamic metadata.
func allowing(t *testing.T, metadata map[string]any, headers ...string) *server {
	t.Helper()
	md, err := structpb.NewStruct(metadata)
	if err != nil {
		t.Fatal(err)
	}
	ok := &authv3.OkHttpResponse{}
	for pair := range slices.Chunk(headers, 2) {
		ok.Headers = append(ok.Headers, &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: pair[0], Value: pair[1]}})
	}
	return &server{answer: func(*authv3.CheckRequest) (*authv3.CheckResponse, error) {
		return &authv3.CheckResponse{HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: ok}, DynamicMetadata: md}, nil
	}}
}

// services of the configurations in these tests.
const services = `"services": {
	"auth":    {"type": "auth", "endpoint": "e", "failureMode": "deny", "timeout": "5s"},
	"lenient": {"type": "auth", "endpoint": "e", "failureMode": "allow", "timeout": "5s"},
	"hasty":   {"type": "auth", "endpoint": "e", "failureMode": "deny", "timeout": "1ns"},
	"plain":   {"type": "ratelimit", "endpoint": "e", "failureMode": "allow", "timeout": "1s"},
	"check":   {"type": "ratelimit-check", "endpoint": "e", "failureMode": "allow", "timeout": "1s"},
	"report":  {"type": "ratelimit-report", "endpoint": "e", "failureMode": "allow", "timeout": "1s"},
	"strict-check":  {"type": "ratelimit-check", "endpoint": "e", "failureMode": "deny"},
	"strict-report": {"type": "ratelimit-report", "endpoint": "e", "failureMode": "deny"}
}`

// one is a configuration with one action set for every host.
func one(actions string, more ...string) string {
	return `{` + services + `, "actionSets": [{"name": "set", "routeRuleConditions": {"hostnames": ["*"]}, "actions": [` + actions + `]}]` + strings.Join(more, "") + `}`
}

// bench is everything around a plug-in.
type bench struct {
	services Services
	plugin   *Plugin
	time     time.Time
}

func benchWith(t *testing.T, configuration string, authorization authv3.AuthorizationClient, limits ...limiter.Spec) *bench {
	t.Helper()
	b := &bench{time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	b.services = Services{Authorization: authorization, Limiter: limiter.New(func() time.Time { return b.time }), Recorder: &Recorder{}}
	if _, err := b.services.Limiter.Configure(limits); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.plugin, err = compiled(t, configuration); err != nil {
		t.Fatal(err)
	}
	return b
}

func compiled(t *testing.T, configuration string) (*Plugin, error) {
	t.Helper()
	x, err := NewExpressions()
	if err != nil {
		t.Fatal(err)
	}
	return Compile([]byte(configuration), x)
}

// request is what every test begins with.
func request() *Request {
	return &Request{
		Method: "POST", Host: "a.example.com:8443", Scheme: "https", Protocol: "HTTP/1.1", Path: "/shop/cart", Query: "x=/v1/models",
		Header: http.Header{"X-Request-Id": {"r1"}, "User-Agent": {"test"}, "X-Twice": {"1", "2"}, "X-Who": {"mallory"}},
		Time:   time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Source: "127.0.0.1:4444", Destination: "127.0.0.1:443", ServerName: "a.example.com", TLSVersion: "TLSv1.3",
	}
}

// last is the latest decision as tests of others read it.
func (b *bench) last(t *testing.T) Decision {
	t.Helper()
	var text strings.Builder
	if err := b.services.Recorder.Write(&text, 1, ""); err != nil {
		t.Fatal(err)
	}
	var out []Decision
	if err := json.Unmarshal([]byte(text.String()), &out); err != nil || len(out) != 1 {
		t.Fatalf("decisions %s (%v)", text.String(), err)
	}
	return out[0]
}

// results are the services and results of the steps.
func results(d Decision) string {
	var out []string
	for _, s := range d.Steps {
		out = append(out, s.Service+":"+s.Result)
	}
	return strings.Join(out, " ")
}
