// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// requestTimeout bounds a request, so that one that hangs fails a test.
const requestTimeout = 60 * time.Second

// requestID is the header by which a request is found again.
const requestID = "X-Request-Id"

// Header is a line of a request as it goes over the wire.
type Header struct{ Name, Value string }

// Headers makes lines of names and values in turn.
func Headers(pairs ...string) []Header {
	var lines []Header
	for i := 0; i+1 < len(pairs); i += 2 {
		lines = append(lines, Header{Name: pairs[i], Value: pairs[i+1]})
	}
	return lines
}

// Bearer is the line of a credential.
func Bearer(credential string) []Header { return Headers("Authorization", "Bearer "+credential) }

// Request is a request to a tenant's gateway. Nothing of it is tidied up on the way:
// names of headers keep their case, may be repeated, and a path keeps its dots.
type Request struct {
	// Tenant is whose gateway is asked.
	Tenant *Tenant
	// Method is GET unless there is a body, and POST then.
	Method string
	// Path is with its query, "/" by default.
	Path string
	// Host is the tenant's by default.
	Host string
	// Headers are sent in this order.
	Headers []Header
	Body    string
}

// Answer is what became of a request.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	// Reached is what the upstream saw; nil means that the request never got there.
	Reached *Reached
	// Decision is what the gateway did with it; nil means that it has no record.
	Decision *Decision
}

// Reason is what the answer gives as the reason of a refusal.
func (a Answer) Reason() string { return a.Header.Get("X-Ext-Auth-Reason") }

// String is for failure messages.
func (a Answer) String() string {
	const most = 400
	body := strings.TrimSpace(a.Body)
	if len(body) > most {
		body = body[:most] + "…"
	}
	reached := "it did not reach the model"
	if a.Reached != nil {
		reached = "it reached the model at " + a.Reached.Path
	}
	return fmt.Sprintf("%d (%s) %q; %s", a.Status, a.Reason(), body, reached)
}

// Do sends a request and reads the whole answer.
func (w *World) Do(ctx context.Context, r Request) (Answer, error) {
	id, response, err := w.open(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("read answer: %w", err)
	}
	answer := Answer{Status: response.StatusCode, Header: response.Header, Body: string(body), Reached: w.Upstream.take(id)}
	answer.Decision, err = r.Tenant.Decision(ctx, id)
	return answer, err
}

// Open sends a request and returns with the head of the answer, for those that stream
// or that are to be cut off: to close the body closes the connection. The id finds the
// request again, see [Tenant.Decision].
func (w *World) Open(ctx context.Context, r Request) (id string, response *http.Response, err error) {
	return w.open(ctx, r)
}

func (w *World) open(ctx context.Context, r Request) (string, *http.Response, error) {
	id := strings.ToLower(rand.Text())
	connection, err := w.dial(ctx, r.Tenant)
	if err != nil {
		return id, nil, err
	}
	head, err := r.encode(id)
	if err != nil {
		return id, nil, errors.Join(err, connection.Close())
	}
	// The context may end before the answer does.
	end := context.AfterFunc(ctx, func() { _ = connection.Close() })
	if _, err := connection.Write(head); err != nil {
		return id, nil, errors.Join(fmt.Errorf("send request: %w", err), connection.Close())
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), &http.Request{Method: r.method()})
	if err != nil {
		return id, nil, errors.Join(fmt.Errorf("%s %s at %s: %w", r.method(), r.Path, r.Tenant, err), connection.Close())
	}
	response.Body = &stream{ReadCloser: response.Body, end: func() error {
		end()
		return connection.Close()
	}}
	return id, response, nil
}

// dial connects to the tenant's gateway.
func (w *World) dial(ctx context.Context, t *Tenant) (net.Conn, error) {
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: w.roots, ServerName: t.Host, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}}
	connection, err := dialer.DialContext(ctx, "tcp", t.address)
	if err != nil {
		return nil, fmt.Errorf("connect to the gateway of %s: %w", t, err)
	}
	if err := connection.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return nil, errors.Join(err, connection.Close())
	}
	return connection, nil
}

func (r Request) method() string {
	usual := http.MethodGet
	if r.Body != "" {
		usual = http.MethodPost
	}
	return cmp.Or(r.Method, usual)
}

// encode writes the request as it goes over the wire.
func (r Request) encode(id string) ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\n", r.method(), cmp.Or(r.Path, "/"))
	fmt.Fprintf(&out, "Host: %s\r\nConnection: close\r\n%s: %s\r\n", cmp.Or(r.Host, r.Tenant.Host), requestID, id)
	for _, h := range r.Headers {
		if strings.ContainsAny(h.Name+h.Value, "\r\n") {
			return nil, fmt.Errorf("header %s: a line break would begin another header", h.Name)
		}
		fmt.Fprintf(&out, "%s: %s\r\n", h.Name, h.Value)
	}
	if r.Body != "" {
		fmt.Fprintf(&out, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(r.Body))
	}
	out.WriteString("\r\n" + r.Body)
	return out.Bytes(), nil
}

// stream is the body of an answer with the connection it comes by.
type stream struct {
	io.ReadCloser
	end func() error
}

// Close also closes the connection.
func (s *stream) Close() error { return errors.Join(s.end(), s.ReadCloser.Close()) }
