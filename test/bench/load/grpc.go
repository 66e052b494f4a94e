// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
)

// frameHead is what gRPC puts before a message: that it is not compressed, and its
// length.
const frameHead = 5

// dialerGRPC calls methods that take one message and answer with one.
type dialerGRPC struct {
	base      string
	transport *http.Transport
}

func newDialerGRPC(address string) *dialerGRPC {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &dialerGRPC{base: "http://" + address, transport: &http.Transport{Protocols: protocols}}
}

func (d *dialerGRPC) dial(context.Context) (conn, error) { return &connGRPC{dialerGRPC: d}, nil }

func (d *dialerGRPC) close() { d.transport.CloseIdleConnections() }

// connGRPC is the part of a client in the one connection.
type connGRPC struct {
	*dialerGRPC
	out, body bytes.Buffer
}

func (c *connGRPC) close() {}

func (c *connGRPC) exchange(ctx context.Context, r *Request) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	c.out.Reset()
	c.out.Write(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(r.Body))))
	c.out.Write(r.Body)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+r.Path, bytes.NewReader(c.out.Bytes()))
	if err != nil {
		return err
	}
	request.Header["Content-Type"] = []string{"application/grpc"}
	request.Header["Te"] = []string{"trailers"}
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // It was read.
	c.body.Reset()
	if _, err := io.Copy(&c.body, response.Body); err != nil {
		return fmt.Errorf("read answer to %s: %w", r.Path, err)
	}
	// An answer without a message has no trailers besides its headers.
	status := cmp.Or(response.Trailer.Get("Grpc-Status"), response.Header.Get("Grpc-Status"))
	if status != "0" {
		message := cmp.Or(response.Trailer.Get("Grpc-Message"), response.Header.Get("Grpc-Message"))
		return fmt.Errorf("%s is answered by %s with status %q: %s", r.Path, response.Status, status, message)
	}
	return r.check(response.StatusCode, c.body.Bytes()[min(frameHead, c.body.Len()):])
}
