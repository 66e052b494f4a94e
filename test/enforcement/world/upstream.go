// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
)

// Reached is a request as the upstream saw it.
type Reached struct {
	Method, Host string
	// Path is with its query, as it came.
	Path   string
	Header http.Header
	Body   string
	// ServerName is what the gateway sent as such; empty without TLS.
	ServerName string
}

// Upstream is the server behind every model that has no other. It keeps what reaches
// it, and answers like a model server: with the list of models, or a completion.
type Upstream struct {
	server *httptest.Server

	mu sync.Mutex
	// seen are the requests by their ids, that nobody has asked for yet.
	seen map[string]*Reached
	// fixed are answers of a test.
	fixed map[string]http.HandlerFunc
}

// usage is what a completion here costs.
const usage = `{"prompt_tokens":2,"completion_tokens":3,"total_tokens":5}`

func newUpstream() *Upstream {
	u := &Upstream{seen: map[string]*Reached{}, fixed: map[string]http.HandlerFunc{}}
	u.server = httptest.NewServer(u)
	return u
}

// ServeHTTP keeps the request and answers it.
func (u *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // What is missing of it shows.
	reached := &Reached{Method: r.Method, Host: r.Host, Path: r.RequestURI, Header: r.Header.Clone(), Body: string(body)}
	if r.TLS != nil {
		reached.ServerName = r.TLS.ServerName
	}
	u.mu.Lock()
	u.seen[r.Header.Get(requestID)] = reached
	handler := u.fixed[r.URL.Path]
	u.mu.Unlock()
	if handler != nil {
		handler(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		_, _ = io.WriteString(w, `{"object":"list","data":[]}`)
		return
	}
	_, _ = fmt.Fprintf(w, `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"pong"}}],"usage":%s}`, usage)
}

// Answer answers requests for a path otherwise, until the returned function is called.
func (u *Upstream) Answer(path string, how http.HandlerFunc) (back func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fixed[path] = how
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.fixed, path)
	}
}

// take returns what was seen of a request, and forgets it.
func (u *Upstream) take(id string) *Reached {
	u.mu.Lock()
	defer u.mu.Unlock()
	seen := u.seen[id]
	delete(u.seen, id)
	return seen
}
