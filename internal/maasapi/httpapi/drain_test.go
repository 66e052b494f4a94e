// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

// watchedBody notes that a body was read to its end.
type watchedBody struct {
	io.ReadCloser

	read  int
	ended bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read, b.ended = b.read+n, b.ended || errors.Is(err, io.EOF)
	return n, err
}

// A server of HTTP/2 resets the stream of a request whose body was not read.
func TestUnwantedBodiesAreReadBeforeTheAnswerOfHTTP2Ends(t *testing.T) {
	handler := newHarness(t, []httpapi.Route{route(http.MethodPost, "/deaf")}).handler
	bodies := make(chan *watchedBody, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := &watchedBody{ReadCloser: r.Body}
		r.Body = body
		handler.ServeHTTP(w, r)
		bodies <- body
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	for name, tc := range map[string]struct {
		path   string
		size   int
		length int64
		ended  bool
	}{
		"a route that does not want it":          {path: "/deaf", size: 10, length: 10, ended: true},
		"no route":                               {path: "/unknown", size: 10, length: 10, ended: true},
		"as large as may be":                     {path: "/deaf", size: 64 << 10, length: 64 << 10, ended: true},
		"of unknown length":                      {path: "/deaf", size: 64 << 10, length: -1, ended: true},
		"one byte too large":                     {path: "/deaf", size: 64<<10 + 1, length: 64<<10 + 1},
		"of unknown length, and far too large":   {path: "/deaf", size: 512 << 10, length: -1},
		"none, which has nothing to be read for": {path: "/deaf", ended: true},
	} {
		t.Run(name, func(t *testing.T) { // One after the other: they share the channel.
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+tc.path, io.NopCloser(strings.NewReader(strings.Repeat("x", tc.size))))
			if err != nil {
				t.Fatal(err)
			}
			if r.ContentLength = tc.length; tc.size == 0 {
				r.Body = http.NoBody
			}
			response, err := server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			body := <-bodies
			if response.ProtoMajor != 2 || body.ended != tc.ended || body.read > 64<<10+4<<10 {
				t.Errorf("HTTP/%d, %d bytes read, to the end %v; want %v", response.ProtoMajor, body.read, body.ended, tc.ended)
			}
		})
	}
}

func TestBodiesAreLeftToTheServerOfHTTP1(t *testing.T) {
	t.Parallel()
	body := &watchedBody{ReadCloser: io.NopCloser(strings.NewReader("x"))}
	r := request(http.MethodPost, "/unknown", nil)
	r.Body, r.ContentLength = body, 1
	newHarness(t, nil).do(r)
	if body.read != 0 {
		t.Errorf("%d bytes read, want none", body.read)
	}
}

func TestReadBodiesCostNothing(t *testing.T) {
	handler, r, w := quietHandler(t), quietRequest(), discard{header: http.Header{}}
	before := testing.AllocsPerRun(100, func() { handler.ServeHTTP(w, r) })
	r.ProtoMajor = 2
	if after := testing.AllocsPerRun(1000, func() { handler.ServeHTTP(w, r) }); after > before {
		t.Errorf("%v allocations over HTTP/2, want %v as over HTTP/1", after, before)
	}
}
