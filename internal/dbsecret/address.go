// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dbsecret

import (
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// clusterDomain ends the names of Services.
const clusterDomain = "svc.cluster.local"

// qualify gives each host without a domain in the address of a database the domain
// of Services in the namespace. Only hosts change; everything around them stays byte
// by byte. A text that is no URL with a host stays as it is.
func qualify(address, namespace string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || !isScheme(scheme) {
		return address
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, tail := rest[:end], rest[end:]
	start := strings.LastIndexByte(authority, '@') + 1
	hosts := strings.Split(authority[start:], ",")
	for i, host := range hosts {
		if !plausible(host) {
			return address
		}
		hosts[i] = qualifyHost(host, namespace)
	}
	return scheme + "://" + authority[:start] + strings.Join(hosts, ",") + tail
}

// isScheme tells whether a URL can begin so. If not, what looks like a host is part of a
// path.
func isScheme(text string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return text != "" && strings.Contains(letters, text[:1]) && strings.Trim(text, letters+"0123456789+-.") == ""
}

// qualifyHost leaves alone what does not name a Service: an IP address, a name with
// a domain, the Pod itself.
func qualifyHost(hostport, namespace string) string {
	host, port, hasPort := strings.Cut(hostport, ":")
	if host == "localhost" || len(validation.IsDNS1123Label(host)) > 0 {
		return hostport
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return hostport
	}
	host += "." + namespace + "." + clusterDomain
	if hasPort {
		host += ":" + port
	}
	return host
}

// plausible tells whether what follows the last colon of a host can be a port. If not,
// it may be part of a password, and what stands before it a user.
func plausible(hostport string) bool {
	at := strings.LastIndexByte(hostport, ':')
	return at < 0 || strings.HasSuffix(hostport, "]") || strings.Trim(hostport[at+1:], "0123456789") == ""
}
