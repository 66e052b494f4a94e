// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package relay joins two connections, as a proxy does that does not look at what goes
// through it. Who is joined with whom, and when that ends, its callers say.
package relay

import (
	"io"
	"net"
	"sync"
)

// Carry copies between two ends until both have finished, or one of them failed. What
// the first one says is read from said, which may begin with what was read of it before.
func Carry(here net.Conn, said io.Reader, there net.Conn) {
	var both sync.WaitGroup
	both.Go(func() { pour(there, said, here) })
	both.Go(func() { pour(here, there, there) })
	both.Wait()
}

// pour copies what one end says to the other, and lets that one know when it was all.
// When the other takes no more, or the end fails, both learn it.
func pour(to net.Conn, said io.Reader, end net.Conn) {
	_, err := io.Copy(to, said)
	half, ok := to.(interface{ CloseWrite() error })
	if err != nil || !ok {
		_, _ = to.Close(), end.Close()
		return
	}
	_ = half.CloseWrite()
}
