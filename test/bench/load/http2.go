// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
)

// dialer2 is Go's client with the defaults that every program gets that does not
// ask for others.
type dialer2 struct {
	base   string
	client *http.Client
}

func newDialer2(address string) *dialer2 {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	return &dialer2{base: "https://" + address, client: &http.Client{Transport: transport, Timeout: answerTimeout}}
}

func (d *dialer2) dial(context.Context) (conn, error) { return &conn2{dialer2: d}, nil }

func (d *dialer2) close() { d.client.CloseIdleConnections() }

// conn2 is the part of a client in the one connection.
type conn2 struct {
	*dialer2
	body bytes.Buffer
}

func (c *conn2) close() {}

func (c *conn2) exchange(ctx context.Context, r *Request) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return err
	}
	request.Header["Content-Type"] = []string{"application/json"}
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // It was read.
	if response.ProtoMajor != 2 {
		return fmt.Errorf("the server speaks %s", response.Proto)
	}
	c.body.Reset()
	if _, err := io.Copy(&c.body, response.Body); err != nil {
		return fmt.Errorf("read answer to POST %s: %w", r.Path, err)
	}
	return r.check(response.StatusCode, c.body.Bytes())
}
