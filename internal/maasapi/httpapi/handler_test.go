// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

func status(w *httptest.ResponseRecorder) string { return strconv.Itoa(w.Code) }

// serviceRoutes resemble those of the service.
func serviceRoutes() []httpapi.Route {
	return []httpapi.Route{
		route(http.MethodGet, "/v1/models"),
		route(http.MethodPost, "/v1/api-keys"),
		route(http.MethodGet, "/v1/api-keys/config"),
		route(http.MethodGet, "/v1/api-keys/{id}"),
		route(http.MethodDelete, "/v1/api-keys/{id}"),
		route(http.MethodGet, "/v1/model/{id}/subscriptions"),
		route(http.MethodPost, "/internal/v1/api-keys/validate", internal),
		route(http.MethodDelete, "/internal/v1/tenants/{id}/api-keys", internal),
	}
}

func TestRouting(t *testing.T) {
	t.Parallel()
	h := newHarness(t, serviceRoutes())
	for name, tc := range map[string]struct {
		method, target string
		want           string // Status, then the path value or the location.
	}{
		"a literal path":                      {http.MethodGet, "/v1/models", "200"},
		"a path value":                        {http.MethodGet, "/v1/api-keys/k1", "200 k1"},
		"a literal wins over a value":         {http.MethodGet, "/v1/api-keys/config", "200"},
		"a literal of another verb":           {http.MethodDelete, "/v1/api-keys/config", "200 config"},
		"a value between literals":            {http.MethodGet, "/v1/model/m/subscriptions", "200 m"},
		"an escaped value":                    {http.MethodGet, "/v1/api-keys/a%20b", "200 a b"},
		"an escaped slash stays in its value": {http.MethodGet, "/v1/api-keys/a%2Fb", "200 a/b"},
		"an escaped letter":                   {http.MethodGet, "/v1/%6dodels", "200"},
		"an unknown path":                     {http.MethodGet, "/v1/nothing", "404"},
		"the root":                            {http.MethodGet, "/", "404"},
		"a wrong verb":                        {http.MethodPut, "/v1/models", "404"},
		"HEAD":                                {http.MethodHead, "/v1/models", "404"},
		"a made-up verb":                      {"BREW", "/v1/models", "404"},
		"an empty value":                      {http.MethodGet, "/v1/model//subscriptions", "404"},
		"a double slash":                      {http.MethodGet, "//v1/models", "404"},
		"a dot segment":                       {http.MethodGet, "/v1/./models", "404"},
		"a dot segment as value":              {http.MethodGet, "/v1/api-keys/..", "404"},
		"an escaped dot segment as value":     {http.MethodGet, "/v1/api-keys/%2e%2e", "404"},
		"removed look-up of tiers":            {http.MethodPost, "/v1/tiers/lookup", "404"},
		"removed minting of tokens":           {http.MethodPost, "/v1/tokens", "404"},
		"a trailing slash, GET":               {http.MethodGet, "/v1/models/", "301 ../models"},
		"a trailing slash, POST":              {http.MethodPost, "/v1/api-keys/", "307 ../api-keys"},
		"a trailing slash and a query":        {http.MethodGet, "/v1/models/?a=b", "301 ../models?a=b"},
		"a trailing slash behind a value":     {http.MethodGet, "/v1/api-keys/k1/", "301 ../k1"},
		"a trailing slash behind an escape":   {http.MethodDelete, "/v1/api-keys/a%2Fk1/", "307 ../a%2Fk1"},
		"a trailing slash on a wrong verb":    {http.MethodPut, "/v1/models/", "404"},
		"two trailing slashes":                {http.MethodGet, "/v1/models//", "404"},
		"a trailing slash of another host":    {http.MethodGet, "//evil.example/", "404"},
		"OPTIONS of a path":                   {http.MethodOptions, "/v1/models", "204"},
		"OPTIONS of an unknown path":          {http.MethodOptions, "/nothing", "204"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := h.do(request(tc.method, tc.target, http.NoBody))
			got := status(w)
			switch w.Code {
			case http.StatusOK:
				got = strings.TrimSpace(got + " " + member(w.Body.String(), "id"))
			case http.StatusMovedPermanently, http.StatusTemporaryRedirect:
				got += " " + w.Header().Get("Location")
			case http.StatusNotFound:
				if w.Body.String() != "404 page not found" || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
					t.Errorf("404 says %q as %q", w.Body, w.Header().Get("Content-Type"))
				}
			case http.StatusNoContent:
				if w.Body.Len() > 0 {
					t.Errorf("204 with the body %q", w.Body)
				}
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if w.Header().Get("X-Request-ID") != madeID {
				t.Errorf("X-Request-ID is %q", w.Header().Get("X-Request-ID"))
			}
		})
	}
}

// member returns a member of a flat JSON object of strings.
func member(body, name string) string {
	_, rest, _ := strings.Cut(body, `"`+name+`":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

func TestLocationHoldsBehindARewrittenPrefix(t *testing.T) {
	t.Parallel()
	w := newHarness(t, serviceRoutes()).do(request(http.MethodPost, "/v1/api-keys/", http.NoBody))
	outside := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://gateway/maas-api/v1/api-keys/", http.NoBody)
	got, err := outside.URL.Parse(w.Header().Get("Location"))
	if err != nil || got.Path != "/maas-api/v1/api-keys" {
		t.Errorf("location leads to %v, %v", got, err)
	}
}

func TestRoutesThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, routes := range map[string][]httpapi.Route{
		"twice the same":           {route(http.MethodGet, "/a"), route(http.MethodGet, "/a")},
		"values of other names":    {route(http.MethodGet, "/a/{x}"), route(http.MethodGet, "/a/{y}")},
		"no handler":               {{Method: http.MethodGet, Pattern: "/a"}},
		"no verb":                  {route("", "/a")},
		"no leading slash":         {route(http.MethodGet, "a")},
		"a trailing slash":         {route(http.MethodGet, "/a/")},
		"the root is no such path": {route(http.MethodGet, "/")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, nil)
			metrics, err := httpapi.NewMetrics(newHarnessRegistry(), "blue")
			if err != nil {
				t.Fatal(err)
			}
			_, err = httpapi.New(httpapi.Options{Routes: routes, Audiences: []httpapi.Audience{httpapi.Public}, Metrics: metrics, Clock: h.clock})
			if err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	h := newHarness(t, serviceRoutes())
	longest := strings.Repeat("a", 128)
	for name, tc := range map[string]struct {
		values []string
		want   string
	}{
		"missing":              {nil, madeID},
		"valid":                {[]string{"Abc-1.2_3"}, "Abc-1.2_3"},
		"128 characters":       {[]string{longest}, longest},
		"129 characters":       {[]string{longest + "a"}, madeID},
		"empty":                {[]string{""}, madeID},
		"an emoji":             {[]string{"id-😀"}, madeID},
		"a line break":         {[]string{"a\nb"}, madeID},
		"a carriage return":    {[]string{"a\rSet-Cookie: x"}, madeID},
		"markup":               {[]string{"<script>"}, madeID},
		"a space":              {[]string{"a b"}, madeID},
		"a tab":                {[]string{"a\tb"}, madeID},
		"two of them":          {[]string{"a", "b"}, madeID},
		"a letter of no ASCII": {[]string{"é"}, madeID},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request(http.MethodGet, "/v1/models", http.NoBody)
			r.Header["X-Request-Id"] = tc.values
			w := h.do(r)
			got := []string{w.Header().Get("X-Request-ID"), member(w.Body.String(), "request")}
			if diff := cmp.Diff([]string{tc.want, tc.want}, got); diff != "" {
				t.Errorf("header and context (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoStoreIsOnEveryAnswer(t *testing.T) {
	t.Parallel()
	private := func(r *httpapi.Route) { r.NoStore = true }
	h := newHarness(t, []httpapi.Route{
		route(http.MethodGet, "/ok", private),
		route(http.MethodGet, "/error", private, func(r *httpapi.Route) {
			r.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { httpapi.WriteError(w, 403, "no") })
		}),
		route(http.MethodGet, "/silent", private, func(r *httpapi.Route) {
			r.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")) })
		}),
		route(http.MethodPost, "/large", private, func(r *httpapi.Route) { r.MaxBody = 1 }),
		route(http.MethodGet, "/panic", private, panicking("x")),
		route(http.MethodGet, "/public"),
	})
	for target, want := range map[string]string{"/ok": "no-store", "/error": "no-store", "/silent": "no-store", "/large": "no-store", "/panic": "no-store", "/public": ""} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			method := http.MethodGet
			if target == "/large" {
				method = http.MethodPost
			}
			w := h.do(request(method, target, strings.NewReader("more")))
			if got := w.Header().Get("Cache-Control"); got != want {
				t.Errorf("Cache-Control is %q, want %q", got, want)
			}
		})
	}
}

func panicking(value any) func(*httpapi.Route) {
	return func(r *httpapi.Route) {
		r.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Half-Done", "yes")
			panic(value)
		})
	}
}

func TestPanicAnswersAnEmpty500(t *testing.T) {
	t.Parallel()
	h := newHarness(t, []httpapi.Route{route(http.MethodGet, "/panic", panicking("secret value"))})
	w := h.do(request(http.MethodGet, "/panic", http.NoBody))
	if w.Code != http.StatusInternalServerError || w.Body.Len() > 0 || w.Header().Get("X-Half-Done") != "" || w.Header().Get("X-Request-ID") != madeID {
		t.Errorf("answered %d %q with %v", w.Code, w.Body, w.Header())
	}
	if log := h.log.String(); !strings.Contains(log, "Handler panicked") || strings.Contains(log, "secret value") || !strings.Contains(log, `"status":500`) {
		t.Errorf("log: %s", log)
	}
}

func TestPanicOfTheRuntimeIsNamed(t *testing.T) {
	t.Parallel()
	h := newHarness(t, []httpapi.Route{route(http.MethodGet, "/panic", func(r *httpapi.Route) {
		r.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			var number any = 1
			runtime.KeepAlive(number.(string))
		})
	})})
	h.do(request(http.MethodGet, "/panic", http.NoBody))
	if log := h.log.String(); !strings.Contains(log, "interface conversion") || !strings.Contains(log, "stacktrace") {
		t.Errorf("log: %s", log)
	}
}

func TestPanicInTheMiddleOfAnAnswerCutsIt(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{"a fault": "x", "a handler that gives up": http.ErrAbortHandler} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, []httpapi.Route{route(http.MethodGet, "/panic", func(r *httpapi.Route) {
				r.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = w.Write([]byte("half"))
					panic(value)
				})
			})})
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
					t.Errorf("recovered %v, want http.ErrAbortHandler", err)
				}
			}()
			h.do(request(http.MethodGet, "/panic", http.NoBody))
		})
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	var has bool
	note := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, has = r.Context().Deadline() })
	for name, tc := range map[string]struct {
		route httpapi.Route
		want  bool
	}{
		"a route":                  {httpapi.Route{}, true},
		"a quiet route":            {httpapi.Route{Quiet: true}, false},
		"a quiet route with bound": {httpapi.Route{Quiet: true, Timeout: 1}, true},
	} {
		tc.route.Method, tc.route.Pattern, tc.route.Handler = http.MethodGet, "/a", note
		newHarness(t, []httpapi.Route{tc.route}).do(request(http.MethodGet, "/a", http.NoBody))
		if has != tc.want {
			t.Errorf("%s: deadline %v, want %v", name, has, tc.want)
		}
	}
}
