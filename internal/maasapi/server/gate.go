// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"sync/atomic"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

// Gate is the handler of a listener that opens before the service can serve.
type Gate struct {
	closed http.Handler
	inner  atomic.Pointer[http.Handler]
}

// NewGate returns a closed Gate, which passes requests to the given handler until
// it is opened: one that answers health, and [Starting] otherwise.
func NewGate(closed http.Handler) *Gate {
	return &Gate{closed: closed}
}

// Starting answers that the service cannot serve yet.
func Starting(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", "2")
	httpapi.WriteError(w, http.StatusServiceUnavailable, "The service is starting; try again in a moment")
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
	g.closed.ServeHTTP(w, r)
}
