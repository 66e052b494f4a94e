// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// clientIP is the address of the peer. Only when the peer is a trusted proxy it is
// the last address of X-Forwarded-For that is none.
func clientIP(r *http.Request, trusted []netip.Prefix) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	peer, err := netip.ParseAddr(host)
	if err != nil {
		return "unknown"
	}
	peer = peer.Unmap()
	if !contains(trusted, peer) {
		return peer.String()
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for _, text := range slices.Backward(hops) {
		hop, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			break
		}
		if peer = hop.Unmap(); !contains(trusted, peer) {
			break
		}
	}
	return peer.String()
}

func contains(networks []netip.Prefix, address netip.Addr) bool {
	for _, network := range networks {
		if network.Contains(address.WithZone("")) {
			return true
		}
	}
	return false
}
