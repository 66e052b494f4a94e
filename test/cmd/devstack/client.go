// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

const (
	callTimeout = 30 * time.Second
	maxAnswer   = 4 << 20
	shownAnswer = 300
)

// caller calls a stack's HTTP servers, as programs outside of it would.
type caller struct {
	http *http.Client
}

// newCaller returns a caller that trusts an authority, and finds a hostname at an
// address, whatever name servers say.
func newCaller(caFile, hostname, address string) (*caller, error) {
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("read certificates: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read certificates: %s holds none", caFile)
	}
	dialer := &net.Dialer{}
	return &caller{http: &http.Client{
		Timeout: callTimeout,
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			DialContext: func(ctx context.Context, network, asked string) (net.Conn, error) {
				if host, _, err := net.SplitHostPort(asked); err == nil && host == hostname {
					asked = address
				}
				return dialer.DialContext(ctx, network, asked)
			},
		},
	}}, nil
}

// close gives the connections up.
func (c *caller) close() { c.http.CloseIdleConnections() }

// request is one call.
type request struct {
	method, url string
	// credential is sent as a bearer token.
	credential string
	body       any
	// want is the status that counts as success.
	want int
}

// answered is what became of a call.
type answered struct {
	status int
	took   time.Duration
}

// do makes a call and decodes its answer. It takes the time from the first byte sent
// to the last byte read.
func (c *caller) do(ctx context.Context, r request, into any) (answered, error) {
	var body io.Reader = http.NoBody
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return answered{}, fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, body)
	if err != nil {
		return answered{}, fmt.Errorf("make request: %w", err)
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.credential != "" {
		req.Header.Set("Authorization", "Bearer "+r.credential)
	}
	began := time.Now()
	response, err := c.http.Do(req)
	if err != nil {
		return answered{}, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	got := answered{status: response.StatusCode, took: time.Since(began)}
	switch {
	case err != nil:
		return got, fmt.Errorf("%s %s: read answer: %w", r.method, r.url, err)
	case got.status != r.want:
		return got, &unexpected{request: r, status: got.status, text: string(text)}
	case into == nil:
		return got, nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return got, fmt.Errorf("%s %s: decode answer: %w", r.method, r.url, err)
	}
	return got, nil
}

// unexpected is an answer of another status than the wanted one.
type unexpected struct {
	request request
	status  int
	text    string
}

// Error shows the answer. Answers of another status hold no key.
func (u *unexpected) Error() string {
	text := bytes.TrimSpace([]byte(u.text))
	return fmt.Sprintf("%s %s answers %d, not %d: %s", u.request.method, u.request.url, u.status, u.request.want, text[:min(len(text), shownAnswer)])
}

// refused tells whether an error is an answer of another status, which may change.
func refused(err error) bool {
	var u *unexpected
	return errors.As(err, &u)
}
