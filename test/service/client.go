// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Headers by which the gateway says who asks.
const (
	HeaderUsername     = "X-Maas-Username"
	HeaderGroup        = "X-Maas-Group"
	HeaderSubscription = "X-Maas-Subscription"
)

// requestTimeout bounds a request, so that a service that hangs fails a test.
const requestTimeout = 30 * time.Second

// Client asks a service. It never changes: methods that change something return
// another one. It may be used by several goroutines.
type Client struct {
	base, internal string
	http           *http.Client
	plain          http.RoundTripper // What http asks, without the check.
	header         http.Header
	used           *Ledger
}

// Client returns a client that is nobody and goes straight to the replica. Every
// answer is compared with the OpenAPI documents.
func (r *Replica) Client() Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // It is made at start, for other names.
	transport.MaxIdleConnsPerHost = 64
	return r.stage.client(r.URL(), r.InternalURL(), transport)
}

// PublicOnly is [Replica.Client], except that internal paths go to the public
// listener too.
func (r *Replica) PublicOnly() Client {
	c := r.Client()
	c.internal = c.base
	return c
}

// InternalOnly is [Replica.Client], except that public paths go to the listener of
// internal routes too.
func (r *Replica) InternalOnly() Client {
	c := r.Client()
	c.base = c.internal
	return c
}

// NewClient returns a client that is nobody, of a service that no stage started. Its
// exchanges are not checked.
func NewClient(base string, transport http.RoundTripper) Client {
	return Client{
		base: base, internal: base, used: &Ledger{}, header: http.Header{}, plain: transport,
		http: &http.Client{
			Transport: transport, Timeout: requestTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// client returns a client whose exchanges are checked.
func (s *Stage) client(base, internal string, transport http.RoundTripper) Client {
	return Client{
		base: base, internal: internal, used: s.Used, header: http.Header{}, plain: transport,
		http: &http.Client{
			Transport: s.Contract.Transport(transport, s.options.Report), Timeout: requestTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Unchecked is for answers that no document describes.
func (c Client) Unchecked() Client {
	unchecked := *c.http
	unchecked.Transport = c.plain
	c.http = &unchecked
	return c
}

// As is the client of a user, as the gateway announces one that it knows by a
// token: the groups begin with system:authenticated.
func (c Client) As(user string, groups ...string) Client {
	c.used.Secret(user)
	c.used.Secret(groups...)
	all, err := json.Marshal(append([]string{"system:authenticated"}, groups...))
	if err != nil {
		panic(err) // Strings can always be encoded.
	}
	return c.With(HeaderUsername, user).With(HeaderGroup, string(all))
}

// AsKey is the client of somebody who has an API key, as the gateway announces
// one.
func (c Client) AsKey(key CreatedKey, user string, groups ...string) Client {
	return c.As(user, groups...).Bearer(key.Key).With(HeaderSubscription, key.Subscription)
}

// Bearer sends a credential.
func (c Client) Bearer(token string) Client {
	c.used.Secret(token)
	return c.With("Authorization", "Bearer "+token)
}

// With replaces a header; without values it is left out.
func (c Client) With(name string, values ...string) Client {
	c.header = c.header.Clone()
	name = http.CanonicalHeaderKey(name)
	delete(c.header, name)
	if len(values) > 0 {
		c.header[name] = slices.Clone(values)
	}
	return c
}

// Response is an answer.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// String is the status and the body, for failure messages.
func (r Response) String() string {
	return fmt.Sprintf("%d %s", r.Status, strings.TrimSpace(string(r.Body)))
}

// Into decodes the body.
func (r Response) Into(value any) error {
	if err := json.Unmarshal(r.Body, value); err != nil {
		return fmt.Errorf("decode %s: %w", r, err)
	}
	return nil
}

// Do sends a request. A body that is a string, or bytes, is sent as it is;
// anything else is encoded as JSON; nil is none. Internal paths go to where
// internal routes are served.
func (c Client) Do(ctx context.Context, method, path string, body any) (Response, error) {
	content, err := encode(body)
	if err != nil {
		return Response{}, err
	}
	base := c.base
	if strings.HasPrefix(path, "/internal/") {
		base = c.internal
	}
	request, err := http.NewRequestWithContext(ctx, method, base+path, content)
	if err != nil {
		return Response{}, fmt.Errorf("make request: %w", err)
	}
	request.Header = c.header.Clone()
	response, err := c.http.Do(request)
	if err != nil {
		return Response{}, err
	}
	defer func() { _ = response.Body.Close() }() // It was read.
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return Response{}, fmt.Errorf("read answer: %w", err)
	}
	return Response{Status: response.StatusCode, Header: response.Header, Body: text}, nil
}

func encode(body any) (io.Reader, error) {
	switch b := body.(type) {
	case nil:
		return http.NoBody, nil
	case string:
		return strings.NewReader(b), nil
	case []byte:
		return bytes.NewReader(b), nil
	default:
		text, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		return bytes.NewReader(text), nil
	}
}

// ask is a request and the status of the answer that is wanted.
type ask struct {
	method, path string
	body         any
	status       int
}

// call is [Client.Do] and decodes the wanted answer.
func (c Client) call(ctx context.Context, a ask, into any) error {
	response, err := c.Do(ctx, a.method, a.path, a.body)
	if err != nil {
		return err
	}
	if response.Status != a.status {
		return fmt.Errorf("%s %s: got %s, want %d", a.method, a.path, response, a.status)
	}
	return response.Into(into)
}
