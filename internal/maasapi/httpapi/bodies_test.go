// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

// readerRoutes read their body and answer in their family.
func readerRoutes() []httpapi.Route {
	var routes []httpapi.Route
	for pattern, family := range map[string]httpapi.Family{
		"/flat": httpapi.FamilyFlat, "/typed": httpapi.FamilyTyped, "/detailed": httpapi.FamilyDetailed, "/decision": httpapi.FamilyDecision,
	} {
		routes = append(routes, httpapi.Route{Method: http.MethodPost, Pattern: pattern, Family: family, Handler: http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) {
				if err := httpapi.DecodeJSON(r, &struct{}{}); err != nil {
					httpapi.WriteDecodeError(w, family, err)
					return
				}
				w.WriteHeader(http.StatusOK)
			})})
	}
	return routes
}

// object is a JSON object of exactly that many bytes.
func object(size int) string {
	return `{"a":"` + strings.Repeat("x", size-len(`{"a":""}`)) + `"}`
}

func TestBodyBound(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newHarness(t, readerRoutes()).handler)
	t.Cleanup(server.Close)
	for _, tc := range []struct{ path, form string }{
		{"/flat", `{"error":"The request body`},
		{"/typed", `{"error":{"message":"The request body`},
		{"/detailed", `{"error":"Request Entity Too Large","details":"The request body`},
		{"/decision", `{"error":"bad_request","message":"The request body`},
	} {
		for name, size := range map[string]int{"exactly 1 MiB": 1 << 20, "one byte more": 1<<20 + 1, "2 MiB": 2 << 20} {
			for _, chunked := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s chunked=%v", tc.path, name, chunked), func(t *testing.T) {
					t.Parallel()
					want, form := http.StatusRequestEntityTooLarge, tc.form
					if size == 1<<20 {
						want, form = http.StatusOK, ""
					}
					got, body := post(t, server.URL+tc.path, object(size), chunked)
					if got != want || !strings.HasPrefix(body, form) {
						t.Errorf("answered %d %s, want %d %s…", got, body, want, form)
					}
				})
			}
		}
	}
}

func post(t *testing.T, url, body string, chunked bool) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if chunked {
		r.ContentLength, r.Body = -1, io.NopCloser(strings.NewReader(body))
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestProcessSurvivesAHugeBody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newHarness(t, readerRoutes()).handler)
	t.Cleanup(server.Close)
	dialer := net.Dialer{}
	conn, err := dialer.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	// 130 MB are announced; the answer comes although nothing of it is sent.
	fmt.Fprintf(conn, "POST /flat HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", 130<<20)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusRequestEntityTooLarge || !resp.Close {
		t.Errorf("answered %d, close %v", resp.StatusCode, resp.Close)
	}
}
