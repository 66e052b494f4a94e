// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestAuthorizationServerIsAskedAboutTheRequestAsItCame(t *testing.T) {
	t.Parallel()
	s := allowing(t, nil)
	b := benchWith(t, one(`{"service": "auth", "scope": "the-scope", "sources": ["policy:a/b"]}`,
		`, "requestData": {"metrics.labels.user": "auth.identity.name", "metrics.labels.path": "request.url_path", "x.late": "responseBodyJSON('/a')"}`), s.client(t))
	if _, answer := b.plugin.Begin(t.Context(), b.services, request()); answer != nil {
		t.Fatalf("answer %+v", answer)
	}
	if len(s.asked) != 1 {
		t.Fatalf("asked %d times", len(s.asked))
	}
	got := s.asked[0].GetAttributes()
	h := got.GetRequest().GetHttp()
	if diff := cmp.Diff(map[string]string{"host": "the-scope"}, got.GetContextExtensions()); diff != "" {
		t.Errorf("context extensions (-want +got):\n%s", diff)
	}
	facts := []string{h.GetMethod(), h.GetHost(), h.GetPath(), h.GetScheme(), h.GetProtocol(), got.GetRequest().GetTime().AsTime().String(), got.GetSource().GetAddress().GetSocketAddress().GetAddress()}
	if diff := cmp.Diff([]string{"POST", "a.example.com:8443", "/shop/cart?x=/v1/models", "https", "HTTP/1.1", request().Time.String(), "127.0.0.1:4444"}, facts); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	want := map[string]string{
		":authority": "a.example.com:8443", ":path": "/shop/cart?x=/v1/models", ":method": "POST", ":scheme": "https",
		"x-request-id": "r1", "user-agent": "test", "x-twice": "1,2", "x-who": "mallory",
	}
	if diff := cmp.Diff(want, h.GetHeaders()); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	fields := got.GetMetadataContext().GetFilterMetadata()["io.kuadrant.metrics.labels"].AsMap()
	if diff := cmp.Diff(map[string]any{"path": "/shop/cart", "user": map[string]any{"cel_expr": "auth.identity.name"}}, fields); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if d := b.last(t); results(d) != "auth:allowed" || d.Steps[0].Scope != "the-scope" || d.Steps[0].Sources[0] != "policy:a/b" || d.ID != "r1" {
		t.Errorf("decision %+v", d)
	}
}

// A header of the authorization server takes the place of the client's only if its
// name is in lower case.
func TestHeadersOfTheAuthorizationServer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		header string
		want   []string
	}{
		"in lower case it replaces":     {"x-who", []string{"alice"}},
		"with capitals it stands aside": {"X-Who", []string{"mallory", "alice"}},
		"another one is added":          {"x-other", []string{"alice"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := benchWith(t, one(`{"service": "auth", "scope": "s"}`), allowing(t, nil, tc.header, "alice").client(t))
			stream, answer := b.plugin.Begin(t.Context(), b.services, request())
			if answer != nil {
				t.Fatalf("answer %+v", answer)
			}
			got := stream.Header()
			if diff := cmp.Diff(tc.want, got[http.CanonicalHeaderKey(tc.header)]); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"1", "2"}, got["X-Twice"]); diff != "" {
				t.Errorf("another header has changed:\n%s", diff)
			}
			for name := range got {
				if strings.HasPrefix(name, ":") {
					t.Errorf("%s is sent on", name)
				}
			}
			if diff := cmp.Diff([]string{tc.header}, b.last(t).Steps[0].Headers); diff != "" {
				t.Errorf("recorded names (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDenial(t *testing.T) {
	t.Parallel()
	header := []*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: "x-reason", Value: "no"}}}
	for name, tc := range map[string]struct {
		denied *authv3.DeniedHttpResponse
		want   Answer
	}{
		"everything": {
			&authv3.DeniedHttpResponse{Status: &typev3.HttpStatus{Code: 401}, Headers: header, Body: "who?"},
			Answer{Status: 401, Header: http.Header{"X-Reason": {"no"}}, Body: "who?"},
		},
		"nothing": {&authv3.DeniedHttpResponse{}, Answer{Status: 403, Header: http.Header{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{answer: func(*authv3.CheckRequest) (*authv3.CheckResponse, error) {
				return &authv3.CheckResponse{HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: tc.denied}}, nil
			}}
			// The limit behind it is not asked any more.
			b := benchWith(t, one(`{"service": "lenient", "scope": "s"}, {"service": "check", "scope": "s"}`), s.client(t))
			_, answer := b.plugin.Begin(t.Context(), b.services, request())
			if answer == nil {
				t.Fatal("it passes")
			}
			answer.outcome = ""
			if diff := cmp.Diff(tc.want, *answer, cmp.AllowUnexported(Answer{})); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if d := b.last(t); results(d) != "lenient:denied" || d.Outcome != OutcomeDenied || d.Status != tc.want.Status {
				t.Errorf("decision %+v", d)
			}
		})
	}
}

func TestWhatTheAuthorizationServerMakesKnown(t *testing.T) {
	t.Parallel()
	s := allowing(t, map[string]any{"identity": map[string]any{"name": "alice", "tier": 2, "groups": []any{"a"}}})
	// The predicate before it has seen that there is nothing yet.
	b := benchWith(t, one(`{"service": "auth", "scope": "s", "predicates": ["auth == null"]}, {"service": "check", "scope": "s", "conditionalData": [{
		"predicates": ["auth.identity.name == 'alice' && auth.identity.groups == null"],
		"data": [{"expression": {"key": "who", "value": "auth.identity.name"}}, {"expression": {"key": "tier", "value": "auth.identity.tier"}}]}]}`), s.client(t))
	if _, answer := b.plugin.Begin(t.Context(), b.services, request()); answer != nil {
		t.Fatalf("answer %+v", answer)
	}
	d := b.last(t)
	if results(d) != "auth:allowed check:within" {
		t.Fatalf("%s: %+v", results(d), d.Steps)
	}
	if diff := cmp.Diff([]map[string]string{{"who": "alice", "tier": "2"}}, d.Steps[1].Descriptors); diff != "" {
		t.Errorf("descriptors (-want +got):\n%s", diff)
	}
	want := map[string]any{"identity": map[string]any{"name": "alice", "tier": 2.0, "groups": []any{"a"}}}
	if diff := cmp.Diff(any(want), d.Steps[0].Metadata); diff != "" {
		t.Errorf("recorded metadata (-want +got):\n%s", diff)
	}
}

func TestAuthorizationThatFails(t *testing.T) {
	t.Parallel()
	failing := &server{answer: func(*authv3.CheckRequest) (*authv3.CheckResponse, error) {
		return nil, status.Error(codes.Internal, "broken")
	}}
	empty := &server{answer: func(*authv3.CheckRequest) (*authv3.CheckResponse, error) { return &authv3.CheckResponse{}, nil }}
	greedy := &server{answer: func(*authv3.CheckRequest) (*authv3.CheckResponse, error) {
		return &authv3.CheckResponse{HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: &authv3.OkHttpResponse{HeadersToRemove: []string{"a"}}}}, nil
	}}
	for name, tc := range map[string]struct {
		service, predicate string
		server             *server // nil: nobody listens.
		passes             bool
		want               string
	}{
		"nobody listens":                        {service: "auth", want: "auth:failed"},
		"nobody listens, which is allowed":      {service: "lenient", passes: true, want: "lenient:failed"},
		"an error":                              {service: "auth", server: failing, want: "auth:failed"},
		"an error that is allowed":              {service: "lenient", server: failing, passes: true, want: "lenient:failed"},
		"it takes too long":                     {service: "hasty", server: allowing(t, nil), want: "hasty:failed"},
		"an answer without a decision":          {service: "lenient", server: empty, want: "lenient:failed"},
		"an answer that wants headers removed":  {service: "lenient", server: greedy, want: "lenient:failed"},
		"a predicate that fails":                {service: "auth", predicate: "auth.a > 1", server: allowing(t, nil), want: "auth:failed"},
		"a predicate that fails but is allowed": {service: "lenient", predicate: "auth.a > 1", server: allowing(t, nil), passes: true, want: "lenient:failed"},
		"a predicate that does not hold":        {service: "auth", predicate: "request.method == 'GET'", passes: true, want: "auth:skipped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := clientOf(t, "127.0.0.1:1")
			if tc.server != nil {
				client = tc.server.client(t)
			}
			predicates := ""
			if tc.predicate != "" {
				predicates = `, "predicates": ["` + tc.predicate + `"]`
			}
			b := benchWith(t, one(`{"service": "`+tc.service+`", "scope": "s"`+predicates+`}`), client)
			_, answer := b.plugin.Begin(t.Context(), b.services, request())
			d := b.last(t)
			if (answer == nil) != tc.passes || results(d) != tc.want {
				t.Fatalf("answer %+v, %s, want %s", answer, results(d), tc.want)
			}
			if tc.passes {
				return
			}
			if answer.Status != http.StatusInternalServerError || answer.Body != failed || d.Outcome != OutcomeFailed || d.Steps[0].Error == "" {
				t.Errorf("answer %+v, decision %+v (%v)", answer, d, errors.New(d.Steps[0].Error))
			}
		})
	}
}
