// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

const validate = "/internal/v1/api-keys/validate"

func TestInternalRoutesDoNotExistForWhatCameThroughAGateway(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]string{
		"an identity":              "X-MaaS-Username: ann",
		"groups in small letters":  "x-maas-group: []",
		"capitals":                 "X-MAAS-SUBSCRIPTION: gold",
		"a header yet to be made":  "x-mAaS-anything: 1",
		"an empty identity":        "X-MaaS-Username:",
		"the path before rewrites": "X-ENVOY-Original-Path: /maas-api/internal",
		"a client's address":       "x-FORWARDED-for: 10.0.0.1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, serviceRoutes())
			server := httptest.NewServer(h.handler)
			t.Cleanup(server.Close)
			for target, method := range map[string]string{validate: "POST", validate + "/": "POST", "/internal/v1/tenants/blue/api-keys": "DELETE"} {
				if got := raw(t, server, method, target, header); got != http.StatusNotFound {
					t.Errorf("%s %s is answered %d", method, target, got)
				}
			}
			expected := "# HELP maas_api_internal_refused_total Requests for internal paths that were answered 404 because they came through a gateway.\n" +
				"# TYPE maas_api_internal_refused_total counter\nmaas_api_internal_refused_total 3\n"
			if err := testutil.GatherAndCompare(h.registry, strings.NewReader(expected), "maas_api_internal_refused_total"); err != nil {
				t.Error(err)
			}
			if got := raw(t, server, "GET", "/v1/models", header); got != http.StatusOK {
				t.Errorf("a public path is answered %d", got)
			}
		})
	}
}

func TestInternalRoutesServeTheClusterItself(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newHarness(t, serviceRoutes()).handler)
	t.Cleanup(server.Close)
	for _, header := range []string{"X-Request-Id: a", "X-Forwarded-Proto: https", "Traceparent: 00-1", "X-Maasai: 1"} {
		if got := raw(t, server, "POST", validate, header); got != http.StatusOK {
			t.Errorf("with %q it is answered %d", header, got)
		}
	}
}

// raw sends a request as it is, without a client that would clean it up.
func raw(t *testing.T, server *httptest.Server, method, target string, headers ...string) int {
	t.Helper()
	dialer := net.Dialer{}
	conn, err := dialer.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n%s\r\n\r\n", method, target, strings.Join(headers, "\r\n"))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// oddPaths are ways to write an internal path that somebody on the way might clean
// up, or might not recognise.
func oddPaths() []string {
	return []string{
		validate,
		validate + "/",
		"//internal/v1/api-keys/validate",
		"/%69nternal/v1/api-keys/validate",
		"/%2569nternal/v1/api-keys/validate",
		"/internal/../internal/v1/api-keys/validate",
		"/v1/../internal/v1/api-keys/validate",
		"/v1/models/../../internal/v1/api-keys/validate",
		"/v1/models/%2e%2e/%2e%2e/internal/v1/api-keys/validate",
		"/v1/models/..%2f..%2finternal/v1/api-keys/validate",
		"/./internal/v1/api-keys/validate",
		"/internal/v1//api-keys/validate",
		"/internal%2fv1%2fapi-keys%2fvalidate",
		"/INTERNAL/v1/api-keys/validate",
		"/internal/v1/api-keys/validate;x=1",
		"/internal/v1/api-keys/validate?x=1",
		"/internal/v1/api-keys/validate%00",
		"/v1/api-keys/../../internal/v1/api-keys/validate",
		`/v1\..\internal/v1/api-keys/validate`,
	}
}

func TestNoSpellingOfAnInternalPathComesThroughAGateway(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newHarness(t, serviceRoutes()).handler)
	t.Cleanup(server.Close)
	for _, target := range oddPaths() {
		if got := raw(t, server, "POST", target, "X-Forwarded-For: 10.0.0.1"); got != http.StatusNotFound {
			t.Errorf("%s is answered %d", target, got)
		}
	}
}

// A proxy that rewrites a prefix and adds what a gateway adds.
func TestInternalRoutesThroughAProxyThatRewritesPrefixes(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(newHarness(t, serviceRoutes()).handler)
	t.Cleanup(service.Close)
	target, err := url.Parse(service.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	gateway := httptest.NewServer(&httputil.ReverseProxy{Transport: transport, Rewrite: func(p *httputil.ProxyRequest) {
		p.Out.Header.Set("X-Envoy-Original-Path", p.In.URL.RequestURI())
		p.SetURL(target)
		p.SetXForwarded()
		p.Out.URL.Path, p.Out.URL.RawPath = strings.TrimPrefix(p.In.URL.Path, "/maas-api"), ""
	}})
	t.Cleanup(gateway.Close)
	for _, target := range oddPaths() {
		if got := raw(t, gateway, "POST", "/maas-api"+target); got == http.StatusOK {
			t.Errorf("%s is answered %d", target, got)
		}
	}
	if got := raw(t, gateway, "GET", "/maas-api/v1/models"); got != http.StatusOK {
		t.Errorf("a public path is answered %d", got)
	}
}

func TestSwitchForMeshesThatMarkEverything(t *testing.T) {
	t.Parallel()
	h := newHarness(t, serviceRoutes(), func(o *httpapi.Options) { o.AllowGatewayMarked = true })
	if w := h.do(request(http.MethodPost, validate, http.NoBody, "X-Forwarded-For", "10.0.0.1")); w.Code != http.StatusOK {
		t.Errorf("answered %d", w.Code)
	}
}

func TestListenerServesItsAudienceOnly(t *testing.T) {
	t.Parallel()
	public := newHarness(t, serviceRoutes(), func(o *httpapi.Options) { o.Audiences = []httpapi.Audience{httpapi.Public} })
	inside := newHarness(t, serviceRoutes(), func(o *httpapi.Options) { o.Audiences = []httpapi.Audience{httpapi.Internal} })
	for name, tc := range map[string]struct {
		h      harness
		method string
		target string
		want   int
	}{
		"public path of the public listener":     {public, "GET", "/v1/models", 200},
		"internal path of the public listener":   {public, "POST", validate, 404},
		"slash behind it on the public listener": {public, "POST", validate + "/", 404},
		"public path of the internal listener":   {inside, "GET", "/v1/models", 404},
		"internal path of the internal listener": {inside, "POST", validate, 200},
	} {
		if w := tc.h.do(request(tc.method, tc.target, http.NoBody)); w.Code != tc.want {
			t.Errorf("%s: answered %d, want %d", name, w.Code, tc.want)
		}
	}
}
