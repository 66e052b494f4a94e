// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPathsThatReachABackend(t *testing.T) {
	t.Parallel()
	f := serving(t)
	tests := map[string]struct {
		path   string
		want   string // The path at the backend; empty: none is reached.
		status int    // Default: 200.
	}{
		"a public path of maas-api":              {path: "/v1/models", want: "/v1/models"},
		"below it":                               {path: "/v1/api-keys/123", want: "/v1/api-keys/123"},
		"under the prefix of maas-api":           {path: "/maas-api/v1/models", want: "/v1/models"},
		"the longer prefix wins":                 {path: "/maas-api/v1/model/granite/subscriptions", want: "/v1/model/granite/subscriptions"},
		"a prefix ends at a segment":             {path: "/v1/modelsx", status: 404},
		"health":                                 {path: "/maas-api/health", want: "/health"},
		"only health itself":                     {path: "/maas-api/health/x", status: 404},
		"internal paths":                         {path: "/internal/v1/subscriptions/select", status: 404},
		"internal paths under the prefix":        {path: "/maas-api/internal/v1/subscriptions/select", status: 404},
		"internal paths by dots":                 {path: "/maas-api/v1/models/../../../internal/v1/x", status: 404},
		"internal paths by escaped dots":         {path: "/v1/models/%2e%2e/%2E%2e/internal/v1/x", status: 404},
		"tenants":                                {path: "/maas-api/v1/tenants", status: 404},
		"a model":                                {path: "/llm/granite/v1/chat/completions", want: "/v1/chat/completions"},
		"the root of a model":                    {path: "/llm/granite", want: "/"},
		"an escaped path stays escaped":          {path: "/llm/granite/a%2Fb", want: "/a%2Fb"},
		"a route of another gateway":             {path: "/elsewhere", status: 404},
		"a route that no policy guards":          {path: "/llm/open", status: 403},
		"nothing":                                {path: "/", status: 404},
		"a path that only begins like a model's": {path: "/llm/granite2", status: 404},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := f.call(t, http.MethodPost, tc.path+"?q=1;2", authorization("robot-token"))
			if want := max(tc.status, 200); tc.status == 0 && got.status != want || tc.status != 0 && got.status != tc.status {
				t.Fatalf("status %d (%s), want %d", got.status, got.text, want)
			}
			if got.Path != tc.want {
				t.Errorf("the backend sees %q, want %q", got.Path, tc.want)
			}
			if tc.want != "" && (got.Query != "q=1;2" || got.Body != "ping" || got.Method != http.MethodPost || got.Host != "maas.example.com") {
				t.Errorf("the request has changed on its way: %+v", got)
			}
		})
	}
}

func TestWhatAGatewayAdds(t *testing.T) {
	t.Parallel()
	f := serving(t)
	got := f.call(t, http.MethodGet, "/maas-api/v1/models?x=1", authorization("alice-token",
		"X-Forwarded-For", "9.9.9.9", "X-Forwarded-Host", "kept", "X-Other", "kept", "User-Agent", "kept"))
	if h := got.Header; h.Get("X-Forwarded-For") != "9.9.9.9, 127.0.0.1" || h.Get("X-Forwarded-Proto") != "https" || len(h.Get("X-Request-Id")) < 20 ||
		h.Get("X-Envoy-Original-Path") != "/maas-api/v1/models?x=1" {
		t.Errorf("headers %v", h)
	}
	for _, name := range []string{"X-Forwarded-Host", "X-Other", "User-Agent"} {
		if got.Header.Get(name) != "kept" {
			t.Errorf("%s is %q", name, got.Header.Get(name))
		}
	}
	if got.Header.Get("Authorization") != "Bearer alice-token" {
		t.Error("the credential does not reach the backend")
	}
	plain := f.call(t, http.MethodGet, "/v1/models", authorization("alice-token", "X-Request-Id", "mine"))
	if plain.Header.Get("X-Envoy-Original-Path") != "" || plain.Header.Get("X-Request-Id") != "mine" {
		t.Errorf("headers of a path that is not rewritten: %v", plain.Header)
	}
}

func TestWhoReachesMaasAPI(t *testing.T) {
	t.Parallel()
	plain, both := serving(t), serving(t, func(s *settings) { s.keyHeader = true })
	tests := map[string]struct {
		header                        http.Header
		keyHeader                     bool
		username, group, subscription string
		status                        int // Default: 200.
	}{
		"nobody":                         {header: http.Header{}, status: 401},
		"an unknown token":               {header: authorization("x"), status: 401},
		"a refused token":                {header: authorization("stale-token"), status: 401},
		"another scheme":                 {header: http.Header{"Authorization": {"Basic alice-token"}}, status: 401},
		"a token":                        {header: authorization("alice-token"), username: "alice", group: `["system:authenticated","data-science"]`},
		"a token that asks":              {header: authorization("alice-token", "X-Maas-Subscription", "silver"), username: "alice", group: `["system:authenticated","data-science"]`, subscription: "silver"},
		"a token with a fixed one":       {header: authorization("robot-token", "X-Maas-Subscription", "silver"), username: "robot", group: `["system:authenticated"]`, subscription: "gold"},
		"a key":                          {header: authorization("sk-oai-good", "X-Maas-Subscription", "silver"), username: "carol", group: `["system:authenticated","engineers"]`, subscription: "gold"},
		"an unbound key":                 {header: authorization("sk-oai-unbound", "X-Maas-Subscription", "silver"), username: "carol", group: `["system:authenticated"]`},
		"an unknown key":                 {header: authorization("sk-oai-bad"), status: 403},
		"a key while maas-api is broken": {header: authorization("sk-oai-crash"), status: 403},
		"a forged name":                  {header: authorization("alice-token", "X-Maas-Username", "root"), status: 403},
		"a forged group":                 {header: authorization("sk-oai-good", "X-Maas-Group", ""), status: 403},
		"a key in its own header":        {header: http.Header{"X-Api-Key": {"sk-oai-good"}}, status: 401},
		"a key in its own header, where accepted": {
			header: http.Header{"X-Api-Key": {"sk-oai-good"}}, keyHeader: true, username: "carol", group: `["system:authenticated","engineers"]`, subscription: "gold",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := plain
			if tc.keyHeader {
				f = both
			}
			got := f.call(t, http.MethodGet, "/v1/models", tc.header)
			if tc.status != 0 {
				if got.status != tc.status || got.reason == "" {
					t.Errorf("status %d, reason %q, want %d", got.status, got.reason, tc.status)
				}
				return
			}
			want := [3]string{tc.username, tc.group, tc.subscription}
			if seen := [3]string{got.Header.Get(headerUsername), got.Header.Get(headerGroup), got.Header.Get(headerSubscription)}; got.status != 200 || seen != want {
				t.Errorf("status %d, identity %q, want %q", got.status, seen, want)
			}
		})
	}
	if got := plain.call(t, http.MethodGet, "/maas-api/health", http.Header{}); got.status != 200 {
		t.Errorf("health without a credential: %d", got.status)
	}
}

func TestWhoReachesAModel(t *testing.T) {
	t.Parallel()
	f := serving(t)
	tests := map[string]struct {
		header  http.Header
		status  int // Default: 200.
		message string
		reason  string
	}{
		"a token with its subscription":     {header: authorization("robot-token")},
		"a token that asks":                 {header: authorization("alice-token", "X-Maas-Subscription", "gold")},
		"a key":                             {header: authorization("sk-oai-good", "X-Maas-Subscription", "other")},
		"a key in its own header":           {header: http.Header{"X-Api-Key": {"sk-oai-good"}}},
		"nobody":                            {header: http.Header{}, status: 401, message: "Authentication required", reason: "unauthenticated"},
		"an unknown key":                    {header: authorization("sk-oai-bad"), status: 403, message: "Access denied", reason: "unauthorized"},
		"a token without a subscription":    {header: authorization("alice-token"), status: 403, message: "no matching subscription found for user", reason: "not_found"},
		"a subscription without access":     {header: authorization("alice-token", "X-Maas-Subscription", "denied"), status: 403, message: "Access denied", reason: "unauthorized"},
		"a subscription that is going away": {header: authorization("alice-token", "X-Maas-Subscription", "dying"), status: 403, message: "Access denied", reason: "unauthorized"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := f.call(t, http.MethodGet, "/llm/granite/v1/models", tc.header)
			if tc.status == 0 {
				if got.status != 200 || got.Header.Get(headerSubscription) != "gold" || got.Path != "/v1/models" {
					t.Errorf("status %d (%s), charged to %q at %q", got.status, got.text, got.Header.Get(headerSubscription), got.Path)
				}
				return
			}
			if got.status != tc.status || got.text != tc.message || got.reason != tc.reason {
				t.Errorf("%d %q %q, want %d %q %q", got.status, got.text, got.reason, tc.status, tc.message, tc.reason)
			}
		})
	}
}

func TestBackendThatIsNotKnownIsNamed(t *testing.T) {
	t.Parallel()
	f := serving(t, func(s *settings) { delete(s.backends, "llm/granite-kserve-workload-svc") })
	got := f.call(t, http.MethodGet, "/llm/granite/v1/models", authorization("robot-token"))
	if got.status != http.StatusServiceUnavailable || !strings.Contains(got.text, "llm/granite-kserve-workload-svc:8000") {
		t.Errorf("%d %q", got.status, got.text)
	}
}

func TestPrecedenceOfRoutes(t *testing.T) {
	t.Parallel()
	const routes = `[
	 {"metadata":{"namespace":"a","name":"any"},"spec":{"parentRefs":[{"name":"g"}],"rules":[{"backendRefs":[{"name":"any"}]}]}},
	 {"metadata":{"namespace":"a","name":"wild"},"spec":{"parentRefs":[{"name":"g"}],"hostnames":["*.example.com"],"rules":[{"matches":[{"path":{"type":"Exact","value":"/x/y"}}],"backendRefs":[{"name":"wild"}]}]}},
	 {"metadata":{"namespace":"a","name":"new","creationTimestamp":"2026-02-01T00:00:00Z"},"spec":{"parentRefs":[{"name":"g"}],"hostnames":["one.example.com"],"rules":[
	   {"matches":[{"path":{"type":"PathPrefix","value":"/x"}}],"backendRefs":[{"name":"none","weight":0},{"name":"prefix"}]},
	   {"matches":[{"path":{"type":"PathPrefix","value":"/x/y/z"}}],"backendRefs":[{"name":"longer"}]},
	   {"matches":[{"path":{"type":"Exact","value":"/x/y"}}],"backendRefs":[{"name":"exact"}]},
	   {"matches":[{"path":{"type":"PathPrefix","value":"/x"},"method":"DELETE"}],"backendRefs":[{"name":"method"}]},
	   {"matches":[{"path":{"type":"PathPrefix","value":"/x"},"headers":[{"name":"k","value":"v"}]}],"backendRefs":[{"name":"header"}]},
	   {"matches":[{"path":{"type":"RegularExpression","value":".*"}}],"backendRefs":[{"name":"regex"}]}]}},
	 {"metadata":{"namespace":"b","name":"old","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"parentRefs":[{"namespace":"a","name":"g"}],"hostnames":["one.example.com"],"rules":[{"matches":[{"path":{"type":"PathPrefix","value":"/same"}}],"backendRefs":[{"name":"old"}]}]}},
	 {"metadata":{"namespace":"a","name":"young","creationTimestamp":"2026-03-01T00:00:00Z"},"spec":{"parentRefs":[{"name":"g"}],"hostnames":["one.example.com"],"rules":[{"matches":[{"path":{"type":"PathPrefix","value":"/same"}}],"backendRefs":[{"name":"young"}]}]}}
	]`
	var all []httpRoute
	if err := json.Unmarshal([]byte(routes), &all); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ method, host, path, header, want string }{
		"any host, any path":              {host: "else.example.org", path: "/x/y", want: "a/any:0"},
		"a wildcard host":                 {host: "two.example.com", path: "/x/y", want: "a/wild:0"},
		"not the bare domain":             {host: "example.com", path: "/x/y", want: "a/any:0"},
		"the host before the path":        {host: "one.example.com", path: "/x/other", want: "a/prefix:0"},
		"an exact path":                   {host: "one.example.com", path: "/x/y", want: "a/exact:0"},
		"the longer prefix":               {host: "one.example.com", path: "/x/y/z/1", want: "a/longer:0"},
		"a prefix ends at a segment":      {host: "one.example.com", path: "/xy", want: "a/any:0"},
		"a method":                        {method: "DELETE", host: "one.example.com", path: "/x", want: "a/method:0"},
		"a header":                        {host: "one.example.com", path: "/x", header: "v", want: "a/header:0"},
		"not another value of the header": {host: "one.example.com", path: "/x", header: "w", want: "a/prefix:0"},
		"the older route":                 {host: "one.example.com", path: "/same/1", want: "b/old:0"},
		"never a regular expression":      {host: "one.example.com", path: "/q", want: "a/any:0"},
	}
	targets := compile(all, "a/g", "maas-api-route", nil)
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	reversed := compile(backwards, "a/g", "maas-api-route", nil)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := http.NewRequestWithContext(t.Context(), tc.method, "https://"+tc.host+tc.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("k", tc.header)
			for _, list := range [][]target{targets, reversed} {
				table := &routing{}
				table.targets.Store(&list)
				if got := table.find(r, tc.host, tc.path); got == nil || got.backend() != tc.want {
					t.Errorf("found %+v, want %s", got, tc.want)
				}
			}
		})
	}
}

func TestRewrite(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ filters, prefix, path, want, wantHost string }{
		"none":                     {filters: `[]`, prefix: "/a", path: "/a/b", want: "/a/b", wantHost: "h"},
		"a prefix by a prefix":     {filters: rewriteBy("ReplacePrefixMatch", "/x"), prefix: "/a", path: "/a/b", want: "/x/b", wantHost: "h"},
		"with slashes at the ends": {filters: rewriteBy("ReplacePrefixMatch", "/x/"), prefix: "/a/", path: "/a/b", want: "/x/b", wantHost: "h"},
		"a prefix by the root":     {filters: rewriteBy("ReplacePrefixMatch", "/"), prefix: "/a", path: "/a", want: "/", wantHost: "h"},
		"the root and more":        {filters: rewriteBy("ReplacePrefixMatch", "/"), prefix: "/a", path: "/a/b/", want: "/b/", wantHost: "h"},
		"by the root at the root":  {filters: rewriteBy("ReplacePrefixMatch", "/"), prefix: "/", path: "/a/b", want: "/a/b", wantHost: "h"},
		"Istio's way at the root":  {filters: rewriteBy("ReplacePrefixMatch", "/x"), prefix: "/", path: "/a/b", want: "/xa/b", wantHost: "h"},
		"no slash helps there":     {filters: rewriteBy("ReplacePrefixMatch", "/x/"), prefix: "/", path: "/a/b", want: "/xa/b", wantHost: "h"},
		"the whole path":           {filters: rewriteBy("ReplaceFullPath", "/x"), prefix: "/a", path: "/a/b", want: "/x", wantHost: "h"},
		"the host":                 {filters: `[{"type":"URLRewrite","urlRewrite":{"hostname":"other"}}]`, prefix: "/a", path: "/a/b", want: "/a/b", wantHost: "other"},
		"an unknown filter":        {filters: `[{"type":"RequestMirror"}]`, prefix: "/a", path: "/a"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := target{route: &httpRoute{}, rule: &routeRule{}, match: routeMatch{Path: &pathMatch{Type: pathPrefix, Value: tc.prefix}}}
			if err := json.Unmarshal([]byte(tc.filters), &at.rule.Filters); err != nil {
				t.Fatal(err)
			}
			path, host, err := at.rewrite(tc.path, "h", http.Header{})
			if path != tc.want || host != tc.wantHost || (err != nil) != (tc.want == "") {
				t.Errorf("%q at %q (%v), want %q at %q", path, host, err, tc.want, tc.wantHost)
			}
		})
	}
}

func rewriteBy(kind, value string) string {
	field := strings.ToLower(kind[:1]) + kind[1:]
	return `[{"type":"URLRewrite","urlRewrite":{"path":{"type":"` + kind + `","` + field + `":"` + value + `"}}}]`
}

func TestHeaderFilter(t *testing.T) {
	t.Parallel()
	at := target{route: &httpRoute{}, rule: &routeRule{}, match: routeMatch{Path: &pathMatch{Value: "/"}}}
	const filters = `[{"type":"RequestHeaderModifier","requestHeaderModifier":{"set":[{"name":"a","value":"2"}],"add":[{"name":"b","value":"2"}],"remove":["c"]}}]`
	if err := json.Unmarshal([]byte(filters), &at.rule.Filters); err != nil {
		t.Fatal(err)
	}
	h := http.Header{"A": {"1"}, "B": {"1"}, "C": {"1"}}
	if _, _, err := at.rewrite("/", "h", h); err != nil || h.Get("A") != "2" || len(h["B"]) != 2 || len(h["C"]) != 0 {
		t.Errorf("headers %v (%v)", h, err)
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	good := []string{"--kubeconfig=k", "--maas-api=https://127.0.0.1:8443", "--identities=i"}
	tests := map[string]struct {
		args []string
		want string // In the error; empty: none.
	}{
		"enough":                     {good, ""},
		"a backend":                  {append(good, "--backend=llm/granite:8000=http://127.0.0.1:9000"), ""},
		"a backend on IPv6":          {append(good, "--backend=llm/granite=https://[::1]:9000"), ""},
		"no kubeconfig":              {good[1:], "--kubeconfig is required"},
		"no identities":              {good[:2], "--identities is required"},
		"an argument":                {append(good, "x"), `no argument "x"`},
		"listening everywhere":       {append(good, "--listen=0.0.0.0:443"), "no loopback address"},
		"listening on a name":        {append(good, "--listen=example.com:443"), "no loopback address"},
		"half an address":            {append(good, "--listen=127.0.0.1"), "is no address"},
		"half a certificate":         {append(good, "--tls-cert=c"), "belong together"},
		"a backend elsewhere":        {append(good, "--backend=llm/granite:8000=http://10.0.0.1:9000"), "no loopback address"},
		"a backend without a place":  {append(good, "--backend=llm/granite:8000"), "write <namespace>/<service>"},
		"a backend without a port":   {append(good, "--backend=llm/granite=http://127.0.0.1"), "is no address"},
		"a backend without its name": {append(good, "--backend=granite=http://127.0.0.1:1"), "write <namespace>/<service>"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(slices.Clone(tc.args), &bytes.Buffer{})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	var help bytes.Buffer
	if _, err := parse([]string{"--help"}, &help); err == nil || !strings.Contains(help.String(), "It is a stand-in: never expose it.") {
		t.Errorf("--help (%v):\n%s", err, help.String())
	}
}

func TestIdentitiesFile(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"good":           {"a: {username: x, groups: []}\nb: refuse\n", ""},
		"another word":   {"a: allow\n", "neither a caller nor the word refuse"},
		"nobody":         {"a: {groups: []}\n", "needs a username"},
		"a misspelling":  {"a: {username: x, group: []}\n", "unknown field"},
		"a double entry": {"a: refuse\na: refuse\n", "already set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "identities")
			write(t, file, tc.text)
			_, err := newTable(settings{identities: file, api: "http://127.0.0.1:1"}, nil)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestMadeCertificateIsTrustedByItsFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ca.pem")
	c, err := certificateOf(settings{hostnames: "maas.example.com,*.models.example.com", caOut: file})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := roots(file)
	if err != nil {
		t.Fatal(err)
	}
	leaf := parseLeaf(t, c.Certificate[0])
	for _, name := range []string{"maas.example.com", "a.models.example.com", "127.0.0.1", "localhost"} {
		if err := verify(leaf, pool, name, time.Now()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if verify(leaf, pool, "other.example.com", time.Now()) == nil {
		t.Error("the certificate is for every host")
	}
}
