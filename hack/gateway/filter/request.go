// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Request is what a proxy knows of a request when its filters run: before the route
// rewrites anything.
type Request struct {
	Method, Host, Scheme, Protocol string
	// Path is the escaped and normalised path, Query what follows the question mark.
	Path, Query string
	Header      http.Header
	Time        time.Time
	// Source and Destination are <address>:<port> of the client and of the listener.
	Source, Destination string
	// ServerName and TLSVersion are those of the TLS connection.
	ServerName, TLSVersion string
}

// ID is the request's identity, which the proxy has put into its header.
func (r *Request) ID() string { return r.Header.Get("X-Request-Id") }

// fullPath is the path with its query, as the proxy's attribute request.path has it.
func (r *Request) fullPath() string {
	if r.Query == "" {
		return r.Path
	}
	return r.Path + "?" + r.Query
}

// field is a header with one value.
type field struct{ name, value string }

// fields are the headers as the proxy hands them to its filters: names in lower
// case, pseudo headers first, repeated headers one by one.
type fields []field

func (r *Request) fields() fields {
	out := fields{{":authority", r.Host}, {":path", r.fullPath()}, {":method", r.Method}, {":scheme", r.Scheme}}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			out = append(out, field{strings.ToLower(name), value})
		}
	}
	return out
}

// set replaces the headers of exactly that name. The filter compares the letters as
// they are, and the proxy's names are in lower case: a header that the authorization
// server writes with capitals stands beside the client's, not in its place. (Known
// from the public source of the filter, wasm-shim, src/data/headers.rs, whose set
// retains the headers with another name. The proxy sends both values on, the
// client's first.)
func (f fields) set(name, value string) fields {
	out := slices.DeleteFunc(slices.Clone(f), func(x field) bool { return x.name == name })
	return append(out, field{name, value})
}

// joined is the map that expressions and the authorization server see: repeated
// headers are joined by a comma.
func (f fields) joined() map[string]string {
	out := make(map[string]string, len(f))
	for _, x := range f {
		if before, ok := out[x.name]; ok {
			out[x.name] = before + "," + x.value
		} else {
			out[x.name] = x.value
		}
	}
	return out
}

// header is what the proxy sends on.
func (f fields) header() http.Header {
	out := http.Header{}
	for _, x := range f {
		if !strings.HasPrefix(x.name, ":") {
			out.Add(x.name, x.value)
		}
	}
	return out
}

// roots are the attributes of the request as expressions name them, except for the
// headers, which the filter itself may change. What is absent is null.
func (r *Request) roots() map[string]map[string]any {
	orNull := func(text string) any {
		if text == "" {
			return nil
		}
		return text
	}
	size, err := strconv.ParseInt(cmp.Or(r.Header.Get("Content-Length"), "0"), 10, 64)
	if err != nil {
		size = 0
	}
	sourceHost, sourcePort := split(r.Source)
	_, destinationPort := split(r.Destination)
	return map[string]map[string]any{
		"request": {
			"time": r.Time, "id": orNull(r.ID()), "protocol": r.Protocol, "scheme": r.Scheme, "host": r.Host, "method": r.Method,
			"path": r.fullPath(), "url_path": r.Path, "query": r.Query, "size": size,
			"referer": orNull(r.Header.Get("Referer")), "useragent": orNull(r.Header.Get("User-Agent")),
		},
		"source":      {"address": r.Source, "port": sourcePort, "remote_address": sourceHost},
		"destination": {"address": r.Destination, "port": destinationPort},
		"connection":  {"mtls": false, "requested_server_name": orNull(r.ServerName), "tls_version": orNull(r.TLSVersion)},
	}
}

// split takes an address apart; what is none has port 0.
func split(address string) (host string, port int64) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return address, 0
	}
	port, err = strconv.ParseInt(text, 10, 32)
	if err != nil {
		return host, 0
	}
	return host, port
}
