// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
)

// recovered answers 500 without a body for a handler that panicked. It returns
// true when the answer had begun, so that it must be cut short instead.
func (h *Handler) recovered(x *exchange, e *endpoint, failure any) (abort bool) {
	err, isError := failure.(error)
	if isError && errors.Is(err, http.ErrAbortHandler) {
		return true
	}
	h.metrics.panics.Inc()
	// The value may hold what the client sent; only the runtime's texts do not.
	cause := fmt.Sprintf("%T", failure)
	var fault runtime.Error
	if isError && errors.As(err, &fault) {
		cause = fault.Error()
	}
	h.log.LogAttrs(x.Context, slog.LevelError, "Handler panicked",
		slog.String("route", e.name), slog.String("request_id", x.id),
		slog.String("cause", cause), slog.String("stacktrace", string(debug.Stack())))
	if x.written {
		x.status = http.StatusInternalServerError
		return true
	}
	header := x.Header()
	for name := range header {
		if name != HeaderRequestID {
			delete(header, name)
		}
	}
	x.WriteHeader(http.StatusInternalServerError)
	return false
}
