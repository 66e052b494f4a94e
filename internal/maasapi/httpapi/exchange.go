// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"context"
	"net/http"
)

// exchange is one request and its answer: the writer that notes what was
// answered, and the context that knows the request's id. Both are one object,
// because every request needs them.
type exchange struct {
	context.Context // The request's; set once before the handler runs.
	http.ResponseWriter

	id      string
	status  int
	written bool
	noStore bool
}

type exchangeKey struct{}

// Value answers for the exchange itself and else asks the request's context.
func (x *exchange) Value(key any) any {
	if key == (exchangeKey{}) {
		return x
	}
	return x.Context.Value(key)
}

// WriteHeader notes the status.
func (x *exchange) WriteHeader(status int) {
	if !x.written && status >= http.StatusOK {
		x.status, x.written = status, true
		if x.noStore {
			x.Header()["Cache-Control"] = noStore()
		}
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write sends the status 200 first if there is none yet.
func (x *exchange) Write(body []byte) (int, error) {
	if !x.written {
		x.WriteHeader(http.StatusOK)
	}
	return x.ResponseWriter.Write(body)
}

// Unwrap lets http.ResponseController reach the server's writer.
func (x *exchange) Unwrap() http.ResponseWriter {
	return x.ResponseWriter
}

func noStore() []string {
	return []string{"no-store"}
}

// RequestID returns the id of the request that a context belongs to, or "".
func RequestID(ctx context.Context) string {
	if x, found := ctx.Value(exchangeKey{}).(*exchange); found {
		return x.id
	}
	return ""
}
