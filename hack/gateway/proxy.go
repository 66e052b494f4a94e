// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// healthPath of maas-api is open to everybody.
const healthPath = "/maas-api/health"

// backendFlag collects --backend: where backends really are.
type backendFlag map[string]*url.URL

// String lists the backends that are known.
func (b backendFlag) String() string { return strings.Join(slices.Sorted(maps.Keys(b)), ", ") }

// Set adds <namespace>/<service>[:<port>]=<URL>.
func (b *backendFlag) Set(text string) error {
	name, target, found := strings.Cut(text, "=")
	u, err := url.Parse(target)
	if !found || err != nil || strings.Count(name, "/") != 1 || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return fmt.Errorf("write <namespace>/<service>:<port>=http://127.0.0.1:<port>, not %q", text)
	}
	if err := onlyLoopback("the place of a backend", u.Host); err != nil {
		return err
	}
	if *b == nil {
		*b = backendFlag{}
	}
	(*b)[name] = u
	return nil
}

// find looks for a backend with its port, then for one of any port.
func (b backendFlag) find(name string) *url.URL {
	if u := b[name]; u != nil {
		return u
	}
	bare, _, _ := strings.Cut(name, ":")
	return b[bare]
}

// proxy is the data path: find the route, ask who is calling, rewrite, forward.
type proxy struct {
	routes    *routing
	who       Identifier // Not with --engine.
	backends  backendFlag
	transport *http.Transport
	exits     *exits     // Nil: to nowhere outside of the cluster.
	providers *providers // Nil: nobody adds the keys of providers.
	log       *slog.Logger
}

func newProxy(routes *routing, backends backendFlag, trusted *tls.Config, log *slog.Logger) *proxy {
	return &proxy{
		routes: routes, backends: backends, log: log,
		transport: &http.Transport{TLSClientConfig: trusted, MaxIdleConnsPerHost: 100, DisableCompression: true},
	}
}

// ServeHTTP passes a request on, or answers it.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked := normal(r.URL)
	target := p.routes.find(r, hostOf(r), asked)
	if target == nil {
		http.Error(w, noRoute, http.StatusNotFound)
		return
	}
	set, refusal := p.identify(r, target, asked)
	if refusal != nil {
		w.Header().Set(headerReason, refusal.Reason)
		http.Error(w, refusal.Message, refusal.Status)
		return
	}
	header := r.Header.Clone()
	for name, value := range set {
		if header.Del(name); value != "" {
			header.Set(name, value)
		}
	}
	arrive(header, r)
	p.forward(w, r, passage{target: target, asked: asked, header: header})
}

const noRoute = "no HTTPRoute matches"

// passage is a request that may pass.
type passage struct {
	target *target
	asked  string // The path, escaped and normal, before the route rewrites it.
	header http.Header
	// reply is shown the backend's reply, failed the status that stands for one.
	reply  func(*http.Response)
	failed func(status int)
}

// forward rewrites a request as its route says and passes it to the backend.
func (p *proxy) forward(w http.ResponseWriter, r *http.Request, to passage) {
	fail := func(message string, status int) {
		if to.failed != nil {
			to.failed(status)
		}
		http.Error(w, message, status)
	}
	if to.target == nil {
		fail(noRoute, http.StatusNotFound)
		return
	}
	if err := p.providers.admit(r.Context(), to.target.route, to.header); err != nil {
		fail(err.Error(), http.StatusInternalServerError)
		return
	}
	wanted, host, err := to.target.rewrite(to.asked, r.Host, to.header)
	if err != nil {
		fail(err.Error(), http.StatusInternalServerError)
		return
	}
	name := to.target.backend()
	if name == "" {
		fail("the rule of the HTTPRoute has no backend", http.StatusInternalServerError)
		return
	}
	backend, transport, err := p.way(name)
	if err != nil {
		p.log.Warn("A backend cannot be reached", "backend", name, "known", p.backends.String(), "error", err)
		fail(err.Error(), http.StatusServiceUnavailable)
		return
	}
	if to.asked != wanted {
		to.header.Set(headerOriginalPath, withQuery(to.asked, r.URL.RawQuery))
	}
	(&httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.Header = to.header
			pr.Out.Host = host
			pr.Out.URL = &url.URL{Scheme: backend.Scheme, Host: backend.Host, RawQuery: pr.In.URL.RawQuery, RawPath: wanted}
			pr.Out.URL.Path, _ = url.PathUnescape(wanted) // It was escaped by the standard library.
		},
		ModifyResponse: func(response *http.Response) error {
			if to.reply != nil {
				to.reply(response)
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			p.log.Warn("Forwarding failed", "backend", name, "error", err)
			fail("the backend does not answer", http.StatusServiceUnavailable)
		},
	}).ServeHTTP(w, r)
}

// way is where a backend is, and what connects to it.
func (p *proxy) way(name string) (*url.URL, *http.Transport, error) {
	out, err := p.exits.find(name)
	if err != nil {
		return nil, nil, err
	}
	if out != nil {
		// Who connects speaks TLS, if that is said.
		return &url.URL{Scheme: "http", Host: net.JoinHostPort(out.Host, strconv.Itoa(out.Port))}, p.exits.transport(out), nil
	}
	backend := p.backends.find(name)
	if backend == nil {
		return nil, nil, fmt.Errorf("the stand-in does not know where backend %s is: name it with --backend", name)
	}
	return backend, p.transport, nil
}

// identify guards a route: maas-api's needs an identity, a model's what its policy
// says, and every other one is refused.
func (p *proxy) identify(r *http.Request, t *target, asked string) (map[string]string, *Refusal) {
	switch {
	case t.api && r.Method == http.MethodGet && asked == healthPath:
		return nil, nil
	case t.api || t.model != "":
		model := t.model
		if t.api {
			model = ""
		}
		return p.who.Identify(r.Context(), Call{Header: r.Header, Model: model, KeyHeader: t.keyHeader})
	case r.Header.Get("Authorization") == "" && r.Header.Get(headerKey) == "":
		return nil, &Refusal{http.StatusUnauthorized, "Authentication required", "unauthenticated"}
	default:
		return nil, &Refusal{http.StatusForbidden, "Access denied", "unauthorized"}
	}
}

// Headers that a gateway adds.
const (
	headerRequestID    = "X-Request-Id"
	headerOriginalPath = "X-Envoy-Original-Path"
)

// arrive does to headers what a gateway does when a request arrives: what is about
// the connection goes, and it adds where the request comes from and an identity.
func arrive(header http.Header, r *http.Request) {
	for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade"} {
		header.Del(name)
	}
	client, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		client = r.RemoteAddr
	}
	if before := strings.Join(header.Values("X-Forwarded-For"), ", "); before != "" {
		client = before + ", " + client
	}
	header.Set("X-Forwarded-For", client)
	header.Set("X-Forwarded-Proto", "https")
	if header.Get(headerRequestID) == "" {
		header.Set(headerRequestID, strings.ToLower(rand.Text()))
	}
}

func withQuery(path, query string) string {
	if query == "" {
		return path
	}
	return path + "?" + query
}

// normal is the escaped path with its dot segments resolved, as a gateway does
// before it looks for a route.
func normal(u *url.URL) string {
	escaped := strings.NewReplacer("%2e", ".", "%2E", ".").Replace(u.EscapedPath())
	if !strings.HasPrefix(escaped, "/") {
		escaped = "/" + escaped
	}
	if !strings.Contains(escaped, "/.") {
		return escaped
	}
	cleaned := path.Clean(escaped)
	if strings.HasSuffix(escaped, "/") && cleaned != "/" {
		cleaned += "/"
	}
	return cleaned
}

func hostOf(r *http.Request) string {
	host := r.Host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		host = bare
	}
	return strings.ToLower(host)
}
