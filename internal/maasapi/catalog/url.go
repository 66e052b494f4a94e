// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"net/url"
	"strings"
)

const schemeHTTPS = "https"

// ownPaths are the first segments of maas-api's own paths at the gateway. A model
// there would make a listing ask for a listing, and so on.
var ownPaths = [...]string{"v1", "maas-api"}

// advertised returns the URL that clients may be sent to, or nil: it must be
// https, with a host that means the same outside the cluster, and nothing that
// hides where a request goes.
func advertised(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != schemeHTTPS || u.Opaque != "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" ||
		strings.ContainsAny(text, "#\\") || internalHost(u.Hostname()) || !validPort(u) || !plainPath(u) {
		return nil
	}
	return u
}

// probeURL returns where a model of the cluster is asked, or nil when its URL is
// not one that reaches this model and no other.
func probeURL(u *url.URL) *url.URL {
	if u == nil {
		return nil
	}
	path := strings.Trim(u.Path, "/")
	first, _, _ := strings.Cut(path, "/")
	if path == "" {
		return nil // A URL shared by all models: maas-api itself answers there.
	}
	for _, own := range ownPaths {
		if strings.EqualFold(first, own) {
			return nil
		}
	}
	return &url.URL{Scheme: schemeHTTPS, Host: u.Host, Path: "/" + path + "/v1/models"}
}

// internalHost tells whether a host has no meaning for clients, or means the
// machine of whoever asks.
func internalHost(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "" || host == "localhost" {
		return true
	}
	for _, suffix := range [...]string{".localhost", ".svc", ".cluster.local"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return unroutable(host)
}

// validPort refuses "host:" and leaves the rest to the parser.
func validPort(u *url.URL) bool { return !strings.HasSuffix(u.Host, ":") && u.Port() != "0" }

// plainPath tells whether a path consists of segments that every party reads
// alike: none is empty or dots only, none is escaped.
func plainPath(u *url.URL) bool {
	path := strings.TrimSuffix(u.Path, "/")
	if u.RawPath != "" || u.EscapedPath() != u.Path {
		return false
	}
	if path == "" {
		return true
	}
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if strings.Trim(segment, ".") == "" || strings.Contains(segment, "%") {
			return false
		}
	}
	return true
}
