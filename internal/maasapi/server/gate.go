// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"sync/atomic"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

// Gate is the handler of a listener that opens before the service can serve: it
// answers health at once and 503 to everything else until it is opened.
type Gate struct {
	health http.Handler
	inner  atomic.Pointer[http.Handler]
}

// NewGate returns a closed Gate. The handler answers the health endpoints.
func NewGate(health http.Handler) *Gate {
	return &Gate{health: health}
}

// Open passes all further requests to the handler.
func (g *Gate) Open(handler http.Handler) {
	g.inner.Store(&handler)
}

// ServeHTTP answers one request.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if inner := g.inner.Load(); inner != nil {
		(*inner).ServeHTTP(w, r)
		return
	}
	switch r.URL.Path {
	case "/health", "/livez", "/readyz":
		g.health.ServeHTTP(w, r)
	default:
		w.Header().Set("Retry-After", "2")
		httpapi.WriteError(w, http.StatusServiceUnavailable, "The service is starting; try again in a moment")
	}
}
