// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/test/contract"
)

const small = `openapi: 3.0.3
info: {title: small, version: v1}
paths:
  /things/{id}:
    put:
      parameters:
      - {name: id, in: path, required: true, schema: {type: string, maxLength: 3}}
      requestBody:
        content:
          application/json:
            schema: {type: object, required: [size], properties: {size: {type: integer}}}
      responses:
        '200':
          description: done
          headers: {X-Seal: {required: true, schema: {type: string}}}
          content:
            application/json:
              schema: {type: object, required: [size], properties: {size: {type: integer}, error: {type: string}}}
        '400':
          description: refused
          content:
            application/json:
              schema: {type: object, required: [error], properties: {error: {type: string}}}
`

// answer is what the service under a checker does.
type answer struct {
	status int
	header map[string]string
	body   string
}

func (a answer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

func newChecker(t *testing.T) *contract.Checker {
	t.Helper()
	d, err := contract.Load(t.Context(), []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	return contract.New(d)
}

func TestCheckerReportsWhatTheDocumentDoesNotSay(t *testing.T) {
	t.Parallel()
	sealed := map[string]string{"X-Seal": "s"}
	text := map[string]string{"Content-Type": "text/plain; charset=utf-8"}
	type test struct {
		method, path, body string
		outside            bool
		answer             answer
		want               string // a part of the fault; empty for none
	}
	for name, test := range map[string]test{
		"a described exchange":               {path: "/things/a", body: `{"size":1}`, answer: answer{200, sealed, `{"size":1}`}},
		"a request with an unknown member":   {path: "/things/a", body: `{"size":1,"more":true}`, answer: answer{200, sealed, `{"size":1}`}},
		"a wrong request that is refused":    {path: "/things/a", body: `{"size":"1"}`, answer: answer{400, nil, `{"error":"no"}`}},
		"a wrong request refused by a 200":   {path: "/things/a", body: `{}`, answer: answer{200, sealed, `{"size":0,"error":"no"}`}},
		"a wrong request that is meant":      {path: "/things/a", body: `{}`, outside: true, answer: answer{200, sealed, `{"size":0}`}},
		"a wrong request that is accepted":   {path: "/things/a", body: `{"size":"1"}`, answer: answer{200, sealed, `{"size":1}`}, want: "accepts"},
		"a wrong path that is accepted":      {path: "/things/abcd", body: `{"size":1}`, answer: answer{200, sealed, `{"size":1}`}, want: "accepts"},
		"an answer with an unknown member":   {path: "/things/a", body: `{"size":1}`, answer: answer{200, sealed, `{"size":1,"b":2}`}, want: `"b"`},
		"an answer without a member":         {path: "/things/a", body: `{"size":1}`, answer: answer{200, sealed, `{}`}, want: `"size"`},
		"an answer without a header":         {path: "/things/a", body: `{"size":1}`, answer: answer{200, nil, `{"size":1}`}, want: "X-Seal"},
		"an answer of another media type":    {path: "/things/a", body: `{"size":1}`, answer: answer{200, map[string]string{"Content-Type": "text/plain", "X-Seal": "s"}, `{}`}, want: "Content-Type"},
		"an unknown status":                  {path: "/things/a", body: `{"size":1}`, answer: answer{500, nil, ``}, want: "status is not described"},
		"an unknown path that is not served": {path: "/other", answer: answer{404, text, "404 page not found"}},
		"an unknown path that is served":     {path: "/other", answer: answer{200, nil, `{}`}, want: "no document describes it"},
		"an unknown verb that is served":     {method: http.MethodPatch, path: "/things/a", answer: answer{200, nil, `{}`}, want: "no document describes it"},
		"a route kept from the caller":       {path: "/things/a", body: `{"size":1}`, answer: answer{404, text, "404 page not found"}},
		"OPTIONS":                            {method: http.MethodOptions, path: "/things/a", answer: answer{204, nil, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.method == "" {
				test.method = http.MethodPut
			}
			send := func(address string) *http.Request {
				ctx := t.Context()
				if test.outside {
					ctx = contract.Outside(ctx)
				}
				request, err := http.NewRequestWithContext(ctx, test.method, address+test.path, strings.NewReader(test.body))
				if err != nil {
					t.Fatal(err)
				}
				return request
			}
			byHandler, byTransport := exchangeBothWays(t, test.answer, send)
			for by, got := range map[string]string{"Handler": byHandler, "Transport": byTransport} {
				if test.want == "" && got != "" || !strings.Contains(got, test.want) {
					t.Errorf("%s reports %q, want a text with %q", by, got, test.want)
				}
			}
		})
	}
}

// exchangeBothWays sends one request through a handler and through a transport
// under a checker each, and returns what they report.
func exchangeBothWays(t *testing.T, a answer, send func(address string) *http.Request) (byHandler, byTransport string) {
	t.Helper()
	checker := newChecker(t)
	request := send("")
	recorder := httptest.NewRecorder()
	checker.Handler(a, func(err error) { byHandler += err.Error() }).ServeHTTP(recorder, request)
	if recorder.Code != a.status || recorder.Body.String() != a.body {
		t.Errorf("Handler passes on %d %q, want %d %q", recorder.Code, recorder.Body, a.status, a.body)
	}

	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	client := &http.Client{Transport: checker.Transport(server.Client().Transport, func(err error) { byTransport += err.Error() })}
	response, err := client.Do(send(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	received, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != a.status || a.status != http.StatusNoContent && string(received) != a.body {
		t.Errorf("Transport passes on %d %q, want %d %q", response.StatusCode, received, a.status, a.body)
	}
	return byHandler, byTransport
}

func TestCheckerLooksBehindThePrefixOfAGateway(t *testing.T) {
	t.Parallel()
	checker := newChecker(t).Behind("/prefix")
	var reported []string
	handler := checker.Handler(answer{500, nil, ""}, func(err error) { reported = append(reported, err.Error()) })
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/prefix/things/a", http.NoBody))
	if len(reported) != 1 || !strings.Contains(reported[0], "PUT /things/{id} answers 500") {
		t.Errorf("reported = %q, want the operation without the prefix", reported)
	}
}

func TestCheckerTellsWhatWasNeverSeen(t *testing.T) {
	t.Parallel()
	checker := newChecker(t)
	ignore := func(error) {}
	ask := func(a answer) {
		checker.Handler(a, ignore).ServeHTTP(httptest.NewRecorder(),
			httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/things/a", strings.NewReader(`{"size":1}`)))
	}
	want := []string{"PUT /things/{id} 200", "PUT /things/{id} 400"}
	if diff := cmp.Diff(want, checker.Unseen()); diff != "" {
		t.Errorf("before (-want +got):\n%s", diff)
	}
	ask(answer{200, map[string]string{"X-Seal": "s"}, `{"size":1}`})
	if diff := cmp.Diff(want[1:], checker.Unseen()); diff != "" {
		t.Errorf("after one answer (-want +got):\n%s", diff)
	}
	if got := checker.Unseen(want[1]); len(got) != 0 {
		t.Errorf("with the other excused: %v", got)
	}
}
