// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engines_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/opendatahub-io/maas-operator/test/engines"
)

// The name in certificates of [httptest.NewTLSServer], and one that is in none.
const (
	certified   = "example.com:8443"
	uncertified = "maas-api.infra.svc.cluster.local:8443"
)

// startProxy starts a proxy that ends with the test.
func startProxy(t *testing.T) *engines.NameProxy {
	t.Helper()
	p, err := engines.NewNameProxy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// serving answers over TLS with a word, and returns where.
func serving(t *testing.T, word string) (server *httptest.Server, address string) {
	t.Helper()
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, word) }))
	t.Cleanup(server.Close)
	return server, server.Listener.Addr().String()
}

// ask asks a name through the proxy, as a client that trusts the servers of these
// tests, on a connection of its own.
func ask(t *testing.T, p *engines.NameProxy, trusting *httptest.Server, name string) (string, error) {
	t.Helper()
	proxy, err := url.Parse(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	transport := trusting.Client().Transport.(*http.Transport).Clone()
	transport.Proxy, transport.DisableKeepAlives = http.ProxyURL(proxy), true
	transport.DialContext = nil // Else it would know the names of these tests itself.
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+name+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	word, err := io.ReadAll(response.Body)
	return string(word), err
}

// wantWord checks who answers to a name.
func wantWord(t *testing.T, p *engines.NameProxy, trusting *httptest.Server, name, want string) {
	t.Helper()
	if got, err := ask(t, p, trusting, name); err != nil || got != want {
		t.Errorf("%s answers %q, %v, want %q", name, got, err, want)
	}
}

func TestNamesLeadWhereTheyWereSetLast(t *testing.T) {
	t.Parallel()
	p := startProxy(t)
	first, here := serving(t, "first")
	_, there := serving(t, "second")
	p.Set(strings.ToUpper(certified), here)
	wantWord(t, p, first, certified, "first")
	p.Set(certified, there)
	wantWord(t, p, first, certified, "second")
	p.Set(certified, "")
	if word, err := ask(t, p, first, certified); err == nil {
		t.Errorf("a name that was taken back answers %q", word)
	}
}

func TestCertificatesAreForTheName(t *testing.T) {
	t.Parallel()
	p := startProxy(t)
	server, here := serving(t, "somebody else")
	p.Set(uncertified, here)
	_, err := ask(t, p, server, uncertified)
	if err == nil || !strings.Contains(err.Error(), "certificate is valid for") {
		t.Errorf("asking %s ends with %v, want a refused certificate", uncertified, err)
	}
}

func TestUnknownNamesAreRefusedAndRemembered(t *testing.T) {
	t.Parallel()
	p := startProxy(t)
	server, _ := serving(t, "nobody")
	for range 2 {
		if _, err := ask(t, p, server, uncertified); err == nil || !strings.Contains(err.Error(), "Bad Gateway") {
			t.Errorf("asking an unknown name ends with %v, want 502", err)
		}
	}
	if got, want := p.Refused(), []string{uncertified}; !slices.Equal(got, want) {
		t.Errorf("refused were %v, want %v", got, want)
	}
}

func TestNamesThatWereNotSetCanBeLookedUp(t *testing.T) {
	t.Parallel()
	p := startProxy(t)
	server, here := serving(t, "found")
	p.Otherwise(func(_ context.Context, name string) (string, error) {
		if name != certified {
			return "", errors.New("there is no such Service")
		}
		return here, nil
	})
	wantWord(t, p, server, certified, "found")
	if _, err := ask(t, p, server, uncertified); err == nil {
		t.Error("a name that nobody found answers")
	}
	if got := p.Refused(); !slices.Equal(got, []string{uncertified}) {
		t.Errorf("refused were %v", got)
	}
}

func TestANameThatLeadsNowhereIsABadGateway(t *testing.T) {
	t.Parallel()
	p := startProxy(t)
	server, here := serving(t, "gone")
	p.Set(certified, here)
	server.Close()
	if _, err := ask(t, p, server, certified); err == nil || !strings.Contains(err.Error(), "Bad Gateway") {
		t.Errorf("asking a server that is gone ends with %v, want 502", err)
	}
}

func TestOnlyConnectionsAreForwarded(t *testing.T) {
	t.Parallel()
	p := startProxy(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET is answered by %s", response.Status)
	}
}

// connected opens a connection through the proxy to a server that says nothing.
func connected(t *testing.T, p *engines.NameProxy) net.Conn {
	t.Helper()
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	p.Set("silent:1", silent.Addr().String())
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp4", strings.TrimPrefix(p.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	fmt.Fprint(conn, "CONNECT silent:1 HTTP/1.1\r\nHost: silent:1\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("CONNECT is answered by %v, %v", response, err)
	}
	_ = response.Body.Close()
	return conn
}

func TestConnectionsUnderWayEndWhenTheyAreCut(t *testing.T) {
	t.Parallel()
	p := startProxy(t)
	conn := connected(t, p)
	p.Cut()
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("reading from the connection gives %d bytes, %v", n, err)
	}
}

func TestConnectionsUnderWayEndWithTheProxy(t *testing.T) {
	t.Parallel()
	p, err := engines.NewNameProxy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn := connected(t, p)
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("reading from the connection gives %d bytes, %v", n, err)
	}
}
