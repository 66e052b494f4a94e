// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opendatahub-io/maas-operator/hack/gateway/filter"
)

func TestGeneratedConfigurationIsEnforced(t *testing.T) {
	t.Parallel()
	s := enforced(t)
	for name, tc := range map[string]struct {
		method, path string
		header       http.Header
		status       int
		text         string
		outcome      string
		results      string
	}{
		"nobody":        {path: chat, status: 401, text: `{"error":"denied"}`, outcome: filter.OutcomeDenied, results: "auth:denied"},
		"somebody else": {path: chat, header: authorization("no"), status: 403, text: `{"error":"denied"}`, outcome: filter.OutcomeDenied, results: "auth:denied"},
		"a caller": {
			path: chat, header: authorization("alice/" + unlimited), status: 200, outcome: filter.OutcomePassed,
			results: "auth:allowed check:skipped,skipped,within report:skipped,skipped,reported",
		},
		"the list of models, which no limit is for": {
			path: "/llm/granite/v1/models", header: authorization("alice/" + hundred), status: 200, outcome: filter.OutcomePassed,
			results: "auth:allowed check:skipped,skipped,skipped report:skipped,skipped,skipped",
		},
		"its path in the query, which a limit is for": {
			path: chat + "?x=/v1/models", header: authorization("bob/" + hundred), status: 200, outcome: filter.OutcomePassed,
			results: "auth:allowed check:within,skipped,skipped report:reported,skipped,skipped",
		},
		"health of maas-api": {
			method: "GET", path: "/maas-api/health", status: 200, outcome: filter.OutcomePassed,
			results: "check:skipped auth:skipped report:skipped",
		},
		"health by another method": {path: "/maas-api/health", status: 401, text: `{"error":"denied"}`, outcome: filter.OutcomeDenied, results: "check:skipped auth:denied"},
		"what only begins like a path of maas-api": {
			path: "/maas-api/v1/modelsx", header: authorization("alice/" + hundred), status: 429, text: "Too Many Requests", outcome: filter.OutcomeLimited, results: "check:over",
		},
		"a route that nothing is generated for": {path: "/v1/subscriptions", status: 200, outcome: filter.OutcomeUnmatched},
		"no route":                              {path: "/none", status: 404, text: noRoute, outcome: filter.OutcomeUnmatched},
		"no route, but an action set for its path": {
			path: "/llm/granite2", status: 401, text: `{"error":"denied"}`, outcome: filter.OutcomeDenied, results: "auth:denied",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			method := tc.method
			if method == "" {
				method = http.MethodPost
			}
			id := strings.ReplaceAll(name, " ", "-")
			header := http.Header{"X-Request-Id": {id}}
			maps.Copy(header, tc.header)
			got := s.call(t, method, tc.path, header)
			if got.status != tc.status || tc.text != "" && got.text != tc.text {
				t.Errorf("status %d (%s), want %d (%s)", got.status, got.text, tc.status, tc.text)
			}
			d := s.decision(t, id)
			if d.Outcome != tc.outcome || resultsOf(d) != tc.results || d.Status != tc.status {
				t.Errorf("%s with %d by\n%s, want %s with %d by\n%s", d.Outcome, d.Status, resultsOf(d), tc.outcome, tc.status, tc.results)
			}
		})
	}
}

// resultsOf lists the results of actions, those of one kind in a row together.
func resultsOf(d filter.Decision) string {
	var out strings.Builder
	last := ""
	for _, s := range d.Steps {
		kind := strings.TrimPrefix(s.Type, "ratelimit-")
		if kind == last {
			out.WriteString("," + s.Result)
			continue
		}
		out.WriteString(" " + kind + ":" + s.Result)
		last = kind
	}
	return strings.TrimSpace(out.String())
}

func TestLimitsOfTheRealConfiguration(t *testing.T) {
	t.Parallel()
	s := enforced(t)
	use := func(token string, want int) {
		t.Helper()
		if got := s.call(t, http.MethodPost, chat, authorization(token)); got.status != want {
			t.Fatalf("%s: status %d (%s), want %d", token, got.status, got.text, want)
		}
	}
	use("alice/"+hundred, 200)
	use("alice/"+hundred, 200) // This one crosses the limit.
	use("alice/"+hundred, 429)
	use("bob/"+hundred, 200)
	use("alice/"+thousand, 200)
	if got, want := s.counters(t), "alice "+thousand+" 1000/60=60, alice "+thousand+" 100000/86400=60, alice "+hundred+" 100/60=120, bob "+hundred+" 100/60=60"; got != want {
		t.Errorf("counters\n%s, want\n%s", got, want)
	}
	if code := s.ask(t, http.MethodPut, "/clock", "60s", nil); code != http.StatusNoContent {
		t.Fatalf("setting the clock answers %d", code)
	}
	if got, want := s.counters(t), "alice "+thousand+" 100000/86400=60"; got != want {
		t.Errorf("counters after a minute\n%s, want\n%s", got, want)
	}
	use("alice/"+hundred, 200)
	use("alice/"+hundred, 200)
	use("alice/"+hundred, 429)
	s.ask(t, http.MethodDelete, "/counters", "", nil)
	use("alice/"+hundred, 200)
}

func TestTwoCallersAtATime(t *testing.T) {
	t.Parallel()
	s := enforced(t)
	// The model answers nobody before both have passed the check.
	var both sync.WaitGroup
	both.Add(2)
	s.model = func(w http.ResponseWriter, r *http.Request) {
		both.Done()
		there := make(chan struct{})
		go func() {
			both.Wait()
			close(there)
		}()
		select {
		case <-there:
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"usage": {"total_tokens": 100}}`)
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+chat, http.NoBody)
			if err != nil {
				t.Error(err)
				return
			}
			r.Host, r.Header = "maas.example.com", authorization("alice/"+hundred)
			client := &http.Client{Transport: s.client.Transport, Timeout: 30 * time.Second}
			response, err := client.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			_, err = io.Copy(io.Discard, response.Body)
			if err := errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != http.StatusOK {
				t.Errorf("%s (%v)", response.Status, err)
			}
		})
	}
	all.Wait()
	if got, want := s.counters(t), "alice "+hundred+" 100/60=200"; got != want {
		t.Errorf("counters %s, want %s", got, want)
	}
	if got := s.call(t, http.MethodPost, chat, authorization("alice/"+hundred)); got.status != http.StatusTooManyRequests {
		t.Errorf("status %d", got.status)
	}
}

func TestPathBeforeAndAfterTheRoute(t *testing.T) {
	t.Parallel()
	s := enforced(t)
	got := s.call(t, http.MethodPost, chat+"?a=b", http.Header{"Authorization": {"Bearer alice/" + unlimited}, "X-User": {"root", "admin"}})
	if want := `{"original":"/llm/granite/v1/chat/completions?a=b","path":"/v1/chat/completions","usage":{"total_tokens":60},"users":["alice"]}`; got.text != want {
		t.Errorf("the model sees %s, want %s", got.text, want)
	}
	if len(s.scopes) != 1 || len(s.scopes[0]) != 64 {
		t.Errorf("Authorino is asked by the scopes %q", s.scopes)
	}
}

func TestDenialReachesTheClient(t *testing.T) {
	t.Parallel()
	s := enforced(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+chat, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Host, r.Header = "maas.example.com", authorization("no")
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if h := response.Header; response.StatusCode != http.StatusForbidden || h.Get("X-Reason") != "no" || len(h["Content-Type"]) != 1 || h.Get("Content-Type") != "application/json" {
		t.Errorf("%s with %v", response.Status, h)
	}
}

func TestServicesThatAreDown(t *testing.T) {
	t.Parallel()
	s := enforced(t)
	s.ask(t, http.MethodPut, "/limiter", "down", nil)
	if got := s.call(t, http.MethodPost, chat, authorization("alice/"+hundred)); got.status != http.StatusOK {
		t.Errorf("status %d without a limiter, which is allowed", got.status)
	}
	s.ask(t, http.MethodPut, "/limiter", "up", nil)
	if got := s.counters(t); got != "" {
		t.Errorf("counters %s", got)
	}
	s.grpc.Stop()
	got := s.call(t, http.MethodPost, chat, http.Header{"Authorization": {"Bearer alice/" + hundred}, "X-Request-Id": {"r"}})
	if d := s.decision(t, "r"); got.status != http.StatusInternalServerError || got.text != "Internal Server Error." || resultsOf(d) != "auth:failed" {
		t.Errorf("status %d (%s) without an authorization server: %+v", got.status, got.text, d)
	}
}

// streaming lets a test hand out a reply piece by piece, and tells whether the
// gateway has gone before its end.
func (s *stage) streaming(pieces <-chan string) *atomic.Bool {
	gone := &atomic.Bool{}
	s.model = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			select {
			case piece, more := <-pieces:
				if !more {
					return
				}
				fmt.Fprint(w, piece)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				gone.Store(true)
				return
			}
		}
	}
	return gone
}

func TestStream(t *testing.T) {
	t.Parallel()
	for name, abort := range map[string]bool{"to its end": false, "until the client goes": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := enforced(t)
			pieces := make(chan string, 3)
			gone := s.streaming(pieces)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+chat, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Host, r.Header = "maas.example.com", authorization("alice/"+hundred)
			r.Header.Set("X-Request-Id", "r")
			pieces <- "data: {\"usage\":{\"total_tokens\":3}}\n\n"
			response, err := s.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			reader := bufio.NewReader(response.Body)
			if line, err := reader.ReadString('\n'); err != nil || line != "data: {\"usage\":{\"total_tokens\":3}}\n" {
				t.Fatalf("the first piece is %q (%v)", line, err)
			}
			if abort {
				cancel()
				s.until(t, "the reply is broken off", func(state) bool { return gone.Load() && s.decision(t, "r").Reply == filter.ReplyAborted })
				if got := s.counters(t); got != "" {
					t.Errorf("counters %s", got)
				}
				return
			}
			pieces <- "data: {\"usage\":{\"total_tokens\":42}}\n\n"
			pieces <- "data: [DONE]\n\n"
			close(pieces)
			if _, err := io.Copy(io.Discard, reader); err != nil {
				t.Fatal(err)
			}
			if got, want := s.counters(t), "alice "+hundred+" 100/60=42"; got != want || s.decision(t, "r").Reply != filter.ReplyComplete {
				t.Errorf("counters %s, want %s; %+v", got, want, s.decision(t, "r"))
			}
		})
	}
}

func TestAdminRefusesNonsense(t *testing.T) {
	t.Parallel()
	s := engineStage(t)
	for _, tc := range []struct{ method, path, body string }{
		{http.MethodPut, "/clock", "soon"}, {http.MethodPut, "/limiter", "off"}, {http.MethodGet, "/requests?n=many", ""}, {http.MethodGet, "/requests?n=-1", ""},
	} {
		if code := s.ask(t, tc.method, tc.path, tc.body, nil); code != http.StatusBadRequest {
			t.Errorf("%s %s answers %d", tc.method, tc.path, code)
		}
	}
	for i := range 3 {
		s.call(t, http.MethodGet, "/", http.Header{"X-Request-Id": {fmt.Sprint("r", i)}})
	}
	var last []filter.Decision
	if s.ask(t, http.MethodGet, "/requests?n=2", "", &last); len(last) != 2 || last[0].ID != "r2" || last[1].ID != "r1" {
		t.Errorf("the last two are %+v", last)
	}
	if s.ask(t, http.MethodDelete, "/requests", "", nil); s.ask(t, http.MethodGet, "/requests", "", &last) != http.StatusOK || len(last) != 0 {
		t.Errorf("%d decisions are left", len(last))
	}
}

func TestCommandLineOfTheEngine(t *testing.T) {
	t.Parallel()
	good := []string{"--kubeconfig=k", "--engine", "--authorino=127.0.0.1:50051"}
	for name, tc := range map[string]struct {
		args []string
		want string // In the error; empty: none.
	}{
		"enough":                     {good, ""},
		"an admin address":           {append(good, "--admin=127.0.0.1:0", "--admin-address-file=f"), ""},
		"no Authorino":               {good[:2], "--authorino is required"},
		"Authorino elsewhere":        {append(good[:2:2], "--authorino=10.0.0.1:50051"), "no loopback address"},
		"an admin address elsewhere": {append(good, "--admin=0.0.0.0:1"), "no loopback address"},
		"identities as well":         {append(good, "--identities=i"), "no meaning with --engine=true"},
		"maas-api as well":           {append(good, "--maas-api=https://127.0.0.1:1"), "no meaning with --engine=true"},
		"half a Limitador":           {append(good, "--limitador=limitador"), "write <namespace>/<name>"},
		"Authorino without engine":   {[]string{"--kubeconfig=k", "--maas-api=u", "--identities=i", "--authorino=127.0.0.1:1"}, "no meaning with --engine=false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(append([]string{}, tc.args...), &bytes.Buffer{})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
