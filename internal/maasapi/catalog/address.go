// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"net/netip"
	"strings"
)

// unroutable tells whether a host is a literal address that no gateway has for
// its clients: of the machine itself, of its link, or of nobody.
func unroutable(host string) bool {
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		return numeric(host)
	}
	address = address.Unmap()
	return address.Zone() != "" || address.IsLoopback() || address.IsLinkLocalUnicast() || address.IsUnspecified() || address.IsMulticast()
}

// numeric tells whether a host is made of numbers in a way that some resolvers
// take for an address, such as 2130706433 or 0x7f.1: its last label starts with a
// digit, which no domain of the internet does.
func numeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last == "" || last[0] >= '0' && last[0] <= '9'
}
