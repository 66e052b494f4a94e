// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package loopback keeps what is started for tests and development from being reached
// by others. It must not know who serves what.
package loopback

import (
	"fmt"
	"net"
)

// Check refuses addresses that others can reach, and what is no address with a port.
// Names are refused too: where they lead is not known.
func Check(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is no address: write 127.0.0.1:<port>", address)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%q is no loopback address: what runs here must not be reachable from elsewhere", address)
	}
	return nil
}
