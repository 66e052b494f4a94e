// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Checker checks exchanges. It may be shared by tests that run at once.
type Checker struct {
	documents []*Document
	prefix    string

	mu   sync.Mutex
	seen map[string]int
}

// New returns a checker for services that do what the documents say, together.
func New(documents ...*Document) *Checker {
	return &Checker{documents: documents, seen: make(map[string]int)}
}

// Behind sets what a gateway takes away from the beginning of paths before they
// reach the service, for example "/maas-api". Call it before the first exchange.
func (c *Checker) Behind(prefix string) *Checker {
	c.prefix = prefix
	return c
}

type outside struct{}

// Outside marks requests that break the contract on purpose although the service
// accepts them, such as those with members of the wrong type that it ignores.
func Outside(ctx context.Context) context.Context {
	return context.WithValue(ctx, outside{}, true)
}

// Transport checks what is sent through next. Faults go to report, for example a
// test's Error; the exchange itself goes on.
func (c *Checker) Transport(next http.RoundTripper, report func(error)) http.RoundTripper {
	return transport{checker: c, next: next, report: report}
}

type transport struct {
	checker *Checker
	next    http.RoundTripper
	report  func(error)
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, err := drain(r.Body)
	if err != nil {
		return nil, err
	}
	clone := r.Clone(r.Context())
	if r.Body != nil && r.Body != http.NoBody {
		clone.Body = io.NopCloser(bytes.NewReader(sent))
	}
	response, err := t.next.RoundTrip(clone)
	if err != nil {
		return nil, err
	}
	received, err := drain(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(received))
	e := exchange{request: r, sent: sent, status: response.StatusCode, header: response.Header, received: received}
	if err := t.checker.check(r.Context(), e); err != nil {
		t.report(err)
	}
	return response, nil
}

// Handler checks what next is asked and answers.
func (c *Checker) Handler(next http.Handler, report func(error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, err := drain(r.Body)
		if err != nil {
			report(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
		recorder := httptest.NewRecorder()
		next.ServeHTTP(recorder, r)
		e := exchange{request: r, sent: sent, status: recorder.Code, header: recorder.Header(), received: recorder.Body.Bytes()}
		if err := c.check(r.Context(), e); err != nil {
			report(err)
		}
		maps.Copy(w.Header(), recorder.Header())
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(e.received) // the client is gone
	})
}

func drain(body io.ReadCloser) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	text, err := io.ReadAll(body)
	_ = body.Close()
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	return text, nil
}

// exchange is a request and its answer.
type exchange struct {
	request  *http.Request
	sent     []byte
	status   int
	header   http.Header
	received []byte
}

func (c *Checker) check(ctx context.Context, e exchange) error {
	request := e.request.Clone(ctx)
	request.URL.Path = strings.TrimPrefix(request.URL.Path, c.prefix)
	request.URL.RawPath = strings.TrimPrefix(request.URL.RawPath, c.prefix)
	request.Host, request.URL.Host = "", ""
	for _, d := range c.documents {
		route, values := d.find(request)
		if route == nil {
			continue
		}
		name := route.Method + " " + route.Path
		c.mu.Lock()
		c.seen[name+" "+strconv.Itoa(e.status)]++
		c.mu.Unlock()
		input := &openapi3filter.RequestValidationInput{
			Request: request, PathParams: values, Route: route, Options: options(),
		}
		if err := e.checkRequest(ctx, input); err != nil {
			return fmt.Errorf("%s accepts (%d) what the document does not describe: %w", name, e.status, err)
		}
		if err := e.checkResponse(ctx, input, route); err != nil {
			return fmt.Errorf("%s answers %d, and not as the document says: %w", name, e.status, err)
		}
		return nil
	}
	return e.checkUnknown()
}

func options() *openapi3filter.Options {
	return &openapi3filter.Options{
		IncludeResponseStatus: true, MultiError: true, SkipSettingDefaults: true,
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
	}
}

// checkRequest checks requests that were accepted. The service reads JSON
// whatever a request calls its body.
func (e exchange) checkRequest(ctx context.Context, input *openapi3filter.RequestValidationInput) error {
	if e.status >= http.StatusBadRequest || ctx.Value(outside{}) != nil || e.refused() {
		return nil
	}
	if len(e.sent) > 0 {
		input.Request.Header.Set("Content-Type", "application/json")
	}
	input.Request.Body = io.NopCloser(bytes.NewReader(e.sent))
	input.Request.ContentLength = int64(len(e.sent))
	return openapi3filter.ValidateRequest(ctx, input)
}

// refused tells whether a 200 carries a refusal, as the selection callback does.
func (e exchange) refused() bool {
	var answer struct {
		Error any `json:"error"`
	}
	return json.Unmarshal(e.received, &answer) == nil && answer.Error != nil
}

func (e exchange) checkResponse(ctx context.Context, input *openapi3filter.RequestValidationInput, route *routers.Route) error {
	if route.Operation.Responses.Status(e.status) == nil {
		if e.notFound() {
			return nil // This listener does not serve the route, or not to this caller.
		}
		return fmt.Errorf("the status is not described: %s", excerpt(e.received))
	}
	err := openapi3filter.ValidateResponse(ctx, &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: e.status, Header: e.header, Options: options(),
		Body: io.NopCloser(bytes.NewReader(e.received)),
	})
	if err != nil {
		return fmt.Errorf("%w: %s", err, excerpt(e.received))
	}
	return nil
}

// checkUnknown checks the answer to a request that no operation describes: the
// service says so, or sends the client to another address.
func (e exchange) checkUnknown() error {
	switch {
	case e.request.Method == http.MethodOptions && e.status == http.StatusNoContent,
		e.status == http.StatusMovedPermanently, e.status == http.StatusTemporaryRedirect, e.status == http.StatusPermanentRedirect,
		e.notFound():
		return nil
	}
	return fmt.Errorf("%s %s answers %d, but no document describes it: %s",
		e.request.Method, e.request.URL.Path, e.status, excerpt(e.received))
}

// notFound tells whether the answer is that of a service that knows no such route.
func (e exchange) notFound() bool {
	return e.status == http.StatusNotFound && strings.HasPrefix(e.header.Get("Content-Type"), "text/plain")
}

func excerpt(body []byte) string {
	const most = 500
	if len(body) > most {
		return string(body[:most]) + "…"
	}
	return string(body)
}

// Unseen returns what the documents describe and no exchange has shown, as
// "METHOD /path STATUS", sorted, without what is excused.
func (c *Checker) Unseen(excused ...string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var unseen []string
	for _, d := range c.documents {
		for name, route := range d.routes {
			for status := range route.Operation.Responses.Map() {
				described := name + " " + status
				if c.seen[described] == 0 && !slices.Contains(excused, described) {
					unseen = append(unseen, described)
				}
			}
		}
	}
	slices.Sort(unseen)
	return unseen
}
