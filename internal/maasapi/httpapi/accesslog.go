// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"log/slog"
	"net/http"
	"strings"
	"time"
)

const maxLoggedPath = 256

// sensitiveHeaders are named in the access log by presence only.
func sensitiveHeaders() []struct{ name, key string } {
	return []struct{ name, key string }{
		{"Authorization", "authorization"},
		{"X-Api-Key", "x-api-key"},
		{"Cookie", "cookie"},
		{"Set-Cookie", "set-cookie"},
		{HeaderUsername, "x-maas-username"},
		{HeaderGroup, "x-maas-group"},
	}
}

// logAccess writes one record for each request; it never leaves some out. Quiet
// routes are written at debug level, because gateways call them for every request
// of a model.
func (h *Handler) logAccess(x *exchange, r *http.Request, e *endpoint, took time.Duration) {
	level := slog.LevelInfo
	if e.quiet() {
		level = slog.LevelDebug
	}
	if !h.log.Enabled(r.Context(), level) {
		return
	}
	h.log.LogAttrs(r.Context(), level, "Request completed",
		slog.String("method", verb(r.Method)),
		slog.String("path", loggedPath(r.URL.Path)),
		slog.Int("status", x.status),
		slog.Int64("latency_ms", took.Milliseconds()),
		slog.String("client_ip", clientIP(r, h.trusted)),
		slog.String("request_id", x.id),
		presence(r.Header))
}

// loggedPath hides what looks like an API key, which a client may have put into
// the path by mistake, and bounds the length.
func loggedPath(path string) string {
	if i := strings.Index(path, keyPrefix); i >= 0 {
		path = path[:i+len(keyPrefix)] + "<hidden>"
	}
	if len(path) > maxLoggedPath {
		path = path[:maxLoggedPath] + "…"
	}
	return path
}

func presence(h http.Header) slog.Attr {
	headers := sensitiveHeaders()
	attributes := make([]slog.Attr, 0, len(headers))
	for _, header := range headers {
		state := "absent"
		if len(h[header.name]) > 0 {
			state = "present"
		}
		attributes = append(attributes, slog.String(header.key, state))
	}
	return slog.Attr{Key: "auth_headers", Value: slog.GroupValue(attributes...)}
}
