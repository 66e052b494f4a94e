// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"net"
	"net/http"
	"net/url"
)

// allowOrigin tells whether a page of that origin may read answers in debug mode:
// only pages that this machine serves without encryption.
func allowOrigin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" || u.Opaque != "" || u.Path != "" || u.User != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// crossOrigin sets the headers for a page of another origin and tells whether the
// request may go on. Requests without an origin always may.
func crossOrigin(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	if !allowOrigin(origin) {
		w.WriteHeader(http.StatusForbidden)
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "Content-Type")
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "GET,POST,PUT,PATCH,DELETE,OPTIONS")
		h.Set("Access-Control-Allow-Headers", "Authorization,Content-Type,Accept")
		h.Set("Access-Control-Max-Age", "43200")
	}
	return true
}
