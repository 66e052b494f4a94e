// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usageproxy_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/usageproxy"
)

func TestOwnRecordsAreAskedForAndNothingElse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	in := request(t, "/loki/api/v1/query_range?query="+url.QueryEscape(`{a="b"} | json`)+"&start=1&end=2&limit=10&direction=backward")
	for name, value := range map[string]string{
		"X-Scope-OrgID": "other", "X-Forwarded-For": "1.2.3.4", "X-Forwarded-User": "bob", "Impersonate-User": "bob", "Cookie": "a=b",
		"Connection": "X-Scope-OrgID", "X-Maas-Username": "bob", "Accept-Encoding": "gzip", "Te": "trailers", "X-Remote-User": "bob",
	} {
		in.Header.Set(name, value)
	}
	got := r.do(in)
	if got.Code != http.StatusOK || got.Body.String() != empty {
		t.Fatalf("answered %d %s", got.Code, got.Body)
	}
	if h := got.Header(); h.Get("Content-Type") != "application/json; charset=utf-8" || h.Get("Cache-Control") != "no-store" {
		t.Errorf("header %v", h)
	}
	asked := r.store.requests()
	if len(asked) != 1 {
		t.Fatalf("the log store was asked %d times", len(asked))
	}
	if asked[0].URL.Path != "/api/logs/v1/application/loki/api/v1/query_range" {
		t.Errorf("path %s", asked[0].URL.Path)
	}
	want := url.Values{
		"query": {`{kubernetes_namespace_name="mon", a="b"} | user_id="ann" | json`}, "start": {"1"}, "end": {"2"}, "limit": {"10"}, "direction": {"backward"},
	}
	if diff := cmp.Diff(want, asked[0].URL.Query()); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	wantHeader := http.Header{
		"Accept": {"application/json"}, "Authorization": {"Bearer " + ownToken}, "X-Scope-Orgid": {"application"}, "User-Agent": {"maas-usage-proxy"},
	}
	if diff := cmp.Diff(wantHeader, asked[0].Header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
}

// The log store counts what it read before it looked at users.
func TestNothingThatCountsOthersIsPassedOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.answers(says(http.StatusOK, `{"status":"success","data":{"resultType":"streams","result":[],"stats":{"summary":{"totalLinesProcessed":8}}}}`))
	for _, target := range []string{query(`{subscription="theirs"}`), "/loki/api/v1/query_range?query=" + url.QueryEscape(`{subscription="theirs"}`)} {
		if got := r.get(t, target); got.Code != http.StatusOK || got.Body.String() != empty {
			t.Errorf("%s answers %d %s", target, got.Code, got.Body)
		}
	}
}

func TestOnlyHealthNeedsNoToken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for path, want := range map[string]string{"/health": `"healthy"`, "/ready": `"ready"`} {
		got := r.do(httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if got.Code != http.StatusOK || got.Body.String() != want {
			t.Errorf("%s answers %d %s", path, got.Code, got.Body)
		}
	}
	for name, authorization := range map[string][]string{
		"none": nil, "an empty one": {""}, "an empty token": {"Bearer "}, "another scheme": {"Basic YTpi"}, "only a token": {tokenOfAnn},
		"two": {"Bearer " + tokenOfAnn, "Bearer " + tokenOfBob}, "two in one": {"Bearer a b"}, "an unknown token": {"Bearer x"},
		"a long one": {"Bearer " + strings.Repeat("a", 1<<16)}, "a nameless one": {"Bearer nameless"},
	} {
		for _, path := range []string{"/loki/api/v1/query", "/", "/metrics", "/health/", "/loki/api/v1/push"} {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions, http.MethodHead} {
				in := httptest.NewRequestWithContext(t.Context(), method, "http://h/", http.NoBody)
				in.URL = &url.URL{Path: path}
				in.Header["Authorization"] = authorization
				got := r.do(in)
				if got.Code != http.StatusUnauthorized || !strings.HasPrefix(got.Header().Get("WWW-Authenticate"), "Bearer") {
					t.Errorf("%s: %s %s answers %d", name, method, path, got.Code)
				}
			}
		}
	}
	in := request(t, query(`{}`))
	in.Header.Set("Authorization", "Bearer away")
	if got := r.do(in); got.Code != http.StatusServiceUnavailable {
		t.Errorf("without an API server it answers %d", got.Code)
	}
	if n := len(r.store.requests()); n != 0 {
		t.Errorf("the log store was asked %d times", n)
	}
}

func TestWhatIsNotAllowedIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	good := "query=" + url.QueryEscape(`{a="b"}`)
	for name, tc := range map[string]struct {
		method, target, body string
		want                 int
	}{
		"another path":              {target: "/loki/api/v1/push", want: http.StatusForbidden},
		"series":                    {target: "/loki/api/v1/series?match[]={}", want: http.StatusForbidden},
		"tail":                      {target: "/loki/api/v1/tail?" + good, want: http.StatusForbidden},
		"an escape in the path":     {target: "/loki/api/v1/quer%79?" + good, want: http.StatusForbidden},
		"an escaped slash":          {target: "/loki%2Fapi/v1/query?" + good, want: http.StatusForbidden},
		"dots":                      {target: "/loki/api/v1/x/../query?" + good, want: http.StatusForbidden},
		"two slashes":               {target: "//loki/api/v1/query?" + good, want: http.StatusForbidden},
		"a slash behind":            {target: "/loki/api/v1/query/?" + good, want: http.StatusForbidden},
		"a label with a slash":      {target: "/loki/api/v1/label/a%2Fb/values", want: http.StatusForbidden},
		"a label with a quote":      {target: "/loki/api/v1/label/a)/values", want: http.StatusForbidden},
		"a label without a name":    {target: "/loki/api/v1/label//values", want: http.StatusForbidden},
		"another verb":              {method: http.MethodPost, target: "/loki/api/v1/query?" + good, want: http.StatusForbidden},
		"a head":                    {method: http.MethodHead, target: "/loki/api/v1/query?" + good, want: http.StatusForbidden},
		"a form":                    {target: "/loki/api/v1/query", body: good, want: http.StatusBadRequest},
		"a form beside a query":     {target: "/loki/api/v1/query?" + good, body: good, want: http.StatusBadRequest},
		"no query":                  {target: "/loki/api/v1/query", want: http.StatusBadRequest},
		"an empty query":            {target: "/loki/api/v1/query?query=%20", want: http.StatusBadRequest},
		"two queries":               {target: "/loki/api/v1/query?" + good + "&" + good, want: http.StatusBadRequest},
		"a second query, escaped":   {target: "/loki/api/v1/query?" + good + "&quer%79=" + url.QueryEscape(`{c="d"}`), want: http.StatusBadRequest},
		"a query behind ;":          {target: "/loki/api/v1/query?" + good + ";query=x", want: http.StatusBadRequest},
		"another case":              {target: "/loki/api/v1/query?" + good + "&Query=x", want: http.StatusBadRequest},
		"an unknown parameter":      {target: "/loki/api/v1/query?" + good + "&x=y", want: http.StatusBadRequest},
		"a parameter of another":    {target: "/loki/api/v1/labels?limit=5", want: http.StatusBadRequest},
		"a wrong escape":            {target: "/loki/api/v1/query?" + good + "&time=%zz", want: http.StatusBadRequest},
		"a time with something in":  {target: "/loki/api/v1/query?" + good + "&time=1%26query%3Dx", want: http.StatusBadRequest},
		"a widened query":           {target: query(`{a="b"} or user_id="bob"`), want: http.StatusBadRequest},
		"a query for label names":   {target: "/loki/api/v1/labels?query=" + url.QueryEscape(`{a="b"} | json`), want: http.StatusBadRequest},
		"a query for label values":  {target: "/loki/api/v1/label/a/values?query=" + url.QueryEscape(`{a="b"}) or ({}`), want: http.StatusBadRequest},
		"an end before the start":   {target: "/loki/api/v1/label/a/values?start=2&end=1", want: http.StatusBadRequest},
		"a start that is no time":   {target: "/loki/api/v1/label/a/values?start=yesterday", want: http.StatusBadRequest},
		"a span of 31 days":         {target: "/loki/api/v1/label/a/values?since=744h", want: http.StatusBadRequest},
		"a start long ago":          {target: "/loki/api/v1/label/a/values?start=1", want: http.StatusBadRequest},
		"a duration that is none":   {target: "/loki/api/v1/label/a/values?since=1y", want: http.StatusBadRequest},
		"a time that is no number":  {target: "/loki/api/v1/label/a/values?start=NaN", want: http.StatusBadRequest},
		"a time that is too large":  {target: "/loki/api/v1/label/a/values?start=1e300", want: http.StatusBadRequest},
		"a query of another script": {target: query(`{ä="b"}`), want: http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			method := tc.method
			if method == "" {
				method = http.MethodGet
			}
			in := httptest.NewRequestWithContext(t.Context(), method, tc.target, strings.NewReader(tc.body))
			if tc.body == "" {
				in.ContentLength, in.Body = 0, http.NoBody
			} else {
				in.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			}
			in.Header.Set("Authorization", "bearer "+tokenOfAnn)
			if got := r.do(in); got.Code != tc.want || !strings.Contains(got.Body.String(), `"status":"error"`) {
				t.Errorf("answered %d %s", got.Code, got.Body)
			}
		})
	}
	t.Cleanup(func() {
		if n := len(r.store.requests()); n != 0 {
			t.Errorf("the log store was asked %d times", n)
		}
	})
}

// The log store's list would tell of others' subscriptions and models: it is empty where
// nobody uses them.
func TestLabelNamesAreTheSameForEverybody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	names, err := json.Marshal(map[string]any{"data": usageproxy.Labels(), "status": "success"})
	if err != nil {
		t.Fatal(err)
	}
	for _, parameters := range []string{"", "?since=6h", "?start=1&end=2", "?query=" + url.QueryEscape(`{subscription=~"other.*"}`)} {
		if got := r.get(t, "/loki/api/v1/labels"+parameters); got.Code != http.StatusOK || got.Body.String() != string(names) {
			t.Errorf("%s answers %d %s", parameters, got.Code, got.Body)
		}
	}
	if asked := r.store.requests(); len(asked) != 0 {
		t.Errorf("the log store was asked %d times", len(asked))
	}
}

func TestValuesOfALabelAreThoseOfTheUser(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.answers(says(http.StatusOK, `{"status":"success","data":{"resultType":"vector","result":[
		{"metric":{"model":"b"},"value":[1,"2"]},{"metric":{"model":"a"},"value":[1,"2"]},{"metric":{},"value":[1,"2"]},{"metric":{"model":"b"},"value":[1,"1"]}]}}`))
	for target, want := range map[string][2]string{
		"/loki/api/v1/label/model/values":                                   {`{kubernetes_namespace_name="mon"} | user_id="ann" [21600s]`, "1800000000000000000"},
		"/loki/api/v1/label/model/values?start=1799999990.5&end=1799999999": {`{kubernetes_namespace_name="mon"} | user_id="ann" [9s]`, "1799999999000000000"},
		"/loki/api/v1/label/model/values?since=1m&query=" + url.QueryEscape(`{a=~"b|c"}`): {
			`{kubernetes_namespace_name="mon", a=~"b|c"} | user_id="ann" [60s]`, "1800000000000000000",
		},
		"/loki/api/v1/label/model/values?end=1800000000000000000&start=2027-01-15T07%3A00%3A00Z": {
			`{kubernetes_namespace_name="mon"} | user_id="ann" [3600s]`, "1800000000000000000",
		},
	} {
		got := r.get(t, target)
		if got.Code != http.StatusOK || got.Body.String() != `{"data":["a","b"],"status":"success"}` {
			t.Errorf("%s answers %d %s", target, got.Code, got.Body)
		}
		asked := r.store.requests()
		last := asked[len(asked)-1]
		wanted := url.Values{"query": {"sum by (model) (count_over_time(" + want[0] + "))"}, "time": {want[1]}}
		if diff := cmp.Diff(wanted, last.URL.Query()); diff != "" || last.URL.Path != "/api/logs/v1/application/loki/api/v1/query" {
			t.Errorf("%s asks %s (-want +got):\n%s", target, last.URL.Path, diff)
		}
	}
	for name, body := range map[string]string{"no vector": empty, "another form": `[1]`, "a failure": `{"status":"error","data":{"resultType":"vector"}}`} {
		r.store.answers(says(http.StatusOK, body))
		if got := r.get(t, "/loki/api/v1/label/model/values?since=2m&query="+url.QueryEscape(`{x="`+name+`"}`)); got.Code != http.StatusBadGateway {
			t.Errorf("%s: answered %d %s", name, got.Code, got.Body)
		}
	}
}

func TestAnswersAreGivenAgainToTheSameUserOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ask := func(token, target string, want int) {
		t.Helper()
		in := request(t, target)
		in.Header.Set("Authorization", "Bearer "+token)
		if got := r.do(in); got.Code != http.StatusOK {
			t.Errorf("answered %d", got.Code)
		}
		if n := len(r.store.requests()); n != want {
			t.Errorf("the log store was asked %d times, want %d", n, want)
		}
	}
	ask(tokenOfAnn, query(`{a="b"}`)+"&limit=1", 1)
	ask(tokenOfAnn, "/loki/api/v1/query?limit=1&"+strings.SplitN(query(`{a="b"}`), "?", 2)[1], 1)
	ask(tokenOfBob, query(`{a="b"}`)+"&limit=1", 2)
	ask(tokenOfAnn, query(`{a="b"}`)+"&limit=2", 3)
	ask(tokenOfAnn, query(`{a="c"}`)+"&limit=1", 4)
	r.clock.SetTime(r.clock.Now().Add(30*time.Second - time.Nanosecond))
	ask(tokenOfAnn, query(`{a="b"}`)+"&limit=1", 4)
	r.clock.SetTime(r.clock.Now().Add(time.Nanosecond))
	ask(tokenOfAnn, query(`{a="b"}`)+"&limit=1", 5)
	in := request(t, query(`{a="b"}`)+"&limit=1")
	in.Header.Set("Authorization", "Bearer x")
	if got := r.do(in); got.Code != http.StatusUnauthorized {
		t.Errorf("without a token it answers %d", got.Code)
	}
}

func TestNothingOfUsersIsLogged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.get(t, query(`{a="hidden"}`))
	r.store.answers(says(http.StatusInternalServerError, `{"error":"hidden"}`))
	r.get(t, query(`{a="hidden", b="c"}`))
	r.store.CloseClientConnections()
	r.store.Close()
	r.get(t, query(`{a="hidden", b="d"}`))
	in := request(t, query(`{}`))
	in.Header.Set("Authorization", "Bearer away")
	r.do(in)
	text := r.log.String()
	for _, secret := range []string{"hidden", tokenOfAnn, ownToken, "ann\"", "user_id"} {
		if strings.Contains(text, secret) {
			t.Errorf("the log has %q:\n%s", secret, text)
		}
	}
	if lines := strings.Count(text, "Request completed"); lines != 4 {
		t.Errorf("%d requests in the log:\n%s", lines, text)
	}
	if !slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool { return strings.Contains(l, "status=502") && strings.Contains(l, "endpoint=query") }) {
		t.Errorf("no failure in the log:\n%s", text)
	}
}
