// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"net"
	"sync"
)

// side is one of both sides that connections are forwarded between.
type side interface {
	listen(address string) (net.Listener, error)
	dial(address string) (net.Conn, error)
}

// direct is the side of the calling thread.
type direct struct{}

func (direct) listen(address string) (net.Listener, error) {
	return new(net.ListenConfig).Listen(context.Background(), "tcp4", address)
}

func (direct) dial(address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: dialTimeout}).Dial("tcp4", address)
}

// forwarder forwards connections until it is stopped.
type forwarder struct {
	listeners []net.Listener
}

// start serves an address of one side and leads its connections to one of the other.
func (f *forwarder) start(from side, address string, to side, target string) error {
	listener, err := from.listen(address)
	if err != nil {
		return err
	}
	f.listeners = append(f.listeners, listener)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // It was closed.
			}
			go forward(conn, to, target)
		}
	}()
	return nil
}

// stop serves no further connections. Those under way end with the process.
func (f *forwarder) stop() {
	for _, listener := range f.listeners {
		_ = listener.Close()
	}
}

// forward carries one connection, each direction until its sender has finished. One
// that leads nowhere is reset, as a refused one would be.
func forward(from net.Conn, to side, target string) {
	defer func() { _ = from.Close() }()
	other, err := to.dial(target)
	if err != nil {
		_ = from.(*net.TCPConn).SetLinger(0)
		return
	}
	defer func() { _ = other.Close() }()
	var both sync.WaitGroup
	both.Go(func() { carry(other, from) })
	both.Go(func() { carry(from, other) })
	both.Wait()
}

// carry copies what one end sends to the other, and says when that was all. When the
// other takes no more, the sender learns that too.
func carry(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		_ = from.Close()
		_ = to.Close()
		return
	}
	_ = to.(*net.TCPConn).CloseWrite()
}
