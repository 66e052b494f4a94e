// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usageproxy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/usageproxy"
)

func TestErrorsOfTheLogStoreHaveOneForm(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   int
		says   string
	}{
		"its own JSON":             {says(http.StatusBadRequest, `{"status":"secret","error":"parse error at a","data":"secret"}`), http.StatusBadRequest, `{"status":"error","errorType":"bad_data","error":"parse error at a"}`},
		"other JSON":               {says(http.StatusBadRequest, `{"code":400,"message":"max entries limit per query exceeded"}`), http.StatusBadRequest, `"error":"max entries limit per query exceeded"`},
		"what others have":         {says(http.StatusBadRequest, `{"message":"the query would read too many bytes (query: secret)"}`), http.StatusBadRequest, "refuses the query"},
		"a text":                   {typed(http.StatusBadRequest, "text/plain", "parse error\x00 at <line> 1\n"), http.StatusBadRequest, `"error":"parse error  at \u003cline\u003e 1"`},
		"a page":                   {typed(http.StatusUnprocessableEntity, "text/html", "<html>"), http.StatusUnprocessableEntity, `"status":"error"`},
		"nothing":                  {typed(http.StatusBadRequest, "text/plain", ""), http.StatusBadRequest, "refuses the query"},
		"a long text":              {typed(http.StatusBadRequest, "text/plain", "parse error"+strings.Repeat("ä", 1<<12)), http.StatusBadRequest, "…"},
		"an endless text":          {typed(http.StatusBadRequest, "text/plain", strings.Repeat("a", 1<<17)), http.StatusBadRequest, "refuses the query"},
		"too many requests":        {says(http.StatusTooManyRequests, `{"secret":1}`), http.StatusTooManyRequests, "refuses the query"},
		"no rights of the proxy":   {says(http.StatusForbidden, `{"secret":1}`), http.StatusBadGateway, "answered with an error"},
		"an unknown proxy":         {says(http.StatusUnauthorized, `{"secret":1}`), http.StatusBadGateway, "answered with an error"},
		"a path that is not":       {says(http.StatusNotFound, `{"secret":1}`), http.StatusBadGateway, "answered with an error"},
		"a fault":                  {says(http.StatusInternalServerError, `{"secret":1}`), http.StatusBadGateway, "answered with an error"},
		"away":                     {typed(http.StatusServiceUnavailable, "text/plain", "secret"), http.StatusServiceUnavailable, "not available"},
		"slow":                     {typed(http.StatusGatewayTimeout, "text/plain", "secret"), http.StatusGatewayTimeout, "not available"},
		"a success that is none":   {typed(http.StatusOK, "text/html", "<html>secret"), http.StatusBadGateway, "cannot be used"},
		"a success without a type": {func(w http.ResponseWriter, _ *http.Request) { w.Header()["Content-Type"] = nil }, http.StatusBadGateway, "cannot be used"},
		"nothing at all":           {says(http.StatusNoContent, ""), http.StatusBadGateway, "answered with an error"},
		"an answer in part": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"status"`)
		}, http.StatusBadGateway, "cannot be reached"},
		"an answer in pieces that ends": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"status"`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, http.StatusBadGateway, "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.store.answers(tc.answer)
			got := r.get(t, query(`{}`))
			if got.Code != tc.want || !strings.Contains(got.Body.String(), tc.says) || strings.Contains(got.Body.String(), "secret") {
				t.Errorf("answered %d %s", got.Code, got.Body)
			}
			if !json.Valid(got.Body.Bytes()) {
				t.Errorf("no JSON: %s", got.Body)
			}
			// A failure is not remembered.
			r.store.answers(says(http.StatusOK, empty))
			if again := r.get(t, query(`{}`)); again.Code != http.StatusOK {
				t.Errorf("then answered %d %s", again.Code, again.Body)
			}
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.answers(func(w http.ResponseWriter, in *http.Request) {
		http.Redirect(w, in, "/elsewhere", http.StatusTemporaryRedirect)
	})
	if got := r.get(t, query(`{}`)); got.Code != http.StatusBadGateway || got.Header().Get("Location") != "" {
		t.Errorf("answered %d %v", got.Code, got.Header())
	}
	if n := len(r.store.requests()); n != 1 {
		t.Errorf("the log store was asked %d times", n)
	}
}

func TestLargeAnswersAreRefused(t *testing.T) {
	t.Parallel()
	const bound = 10 << 20
	answer := func(size int) string {
		const begin, end = `{"status":"success","data":{"resultType":"streams","result":["`, `"]}}`
		return begin + strings.Repeat("a", size-len(begin)-len(end)) + end
	}
	for size, want := range map[int]int{bound: http.StatusOK, bound + 1: http.StatusBadGateway, bound + 1<<20: http.StatusBadGateway} {
		r := newRig(t)
		r.store.answers(says(http.StatusOK, answer(size)))
		got := r.get(t, query(`{}`))
		if got.Code != want || want == http.StatusOK && got.Body.Len() != size {
			t.Errorf("%d bytes: answered %d with %d bytes", size, got.Code, got.Body.Len())
		}
		// It is too large to be remembered.
		r.get(t, query(`{}`))
		if n := len(r.store.requests()); n != 2 {
			t.Errorf("%d bytes: the log store was asked %d times", size, n)
		}
	}
}

func TestTokenAndAuthoritiesAreReadAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(t, "token", "renewed")
	r.get(t, query(`{}`))
	if got := r.store.requests()[0].Header.Get("Authorization"); got != "Bearer renewed" {
		t.Errorf("asked with %q", got)
	}
	good, err := os.ReadFile(filepath.Join(r.dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	later := func() { r.clock.SetTime(r.clock.Now().Add(31 * time.Second)) }
	// A file that is just being written changes nothing.
	r.write(t, "ca.crt", "")
	later()
	if got := r.get(t, query(`{a="1"}`)); got.Code != http.StatusOK {
		t.Errorf("with an empty file it answers %d", got.Code)
	}
	if err := r.proxy.Ready(t.Context()); err != nil {
		t.Errorf("with an empty file it is not ready: %v", err)
	}
	r.write(t, "ca.crt", string(good)+"\n")
	later()
	if got := r.get(t, query(`{a="2"}`)); got.Code != http.StatusOK {
		t.Errorf("with a new file it answers %d", got.Code)
	}
	for _, content := range []string{"", " \n", "a\nb", strings.Repeat("a", 1<<17)} {
		r.write(t, "token", content)
		if got := r.get(t, query(`{a="3"}`)); got.Code != http.StatusBadGateway || r.proxy.Ready(t.Context()) == nil {
			t.Errorf("with token %.10q it answers %d", content, got.Code)
		}
	}
}

func TestWithoutAuthoritiesItIsNotReady(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, content := range []string{"", "no certificate"} {
		r.write(t, "ca.crt", content)
		if err := r.proxy.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "--upstream-ca-file") {
			t.Errorf("%q: error %v", content, err)
		}
	}
	if text := r.log.String(); strings.Count(text, "cannot be asked yet") != 1 || !strings.Contains(text, "--upstream-ca-file") {
		t.Errorf("the log does not say once what is missing: %s", text)
	}
	if got := r.get(t, query(`{}`)); got.Code != http.StatusBadGateway {
		t.Errorf("answered %d", got.Code)
	}
	if n := len(r.store.requests()); n != 0 {
		t.Errorf("the log store was asked %d times", n)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://h:8080/p": true, "https://h": true,
		"": false, "http://h/p": false, "https:///p": false, "https://u:p@h/p": false, "https://h/p?q=1": false, "https://h/p#f": false, "h:8080": false,
	} {
		upstream, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		_, err = usageproxy.New(usageproxy.Options{
			Reviewer: review, Upstream: upstream, TokenFile: "f", Namespace: "n", Health: http.NotFoundHandler(), Ready: http.NotFoundHandler(),
			Clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0)), Log: slog.New(slog.DiscardHandler),
		})
		if (err == nil) != want {
			t.Errorf("%q gives error %v", address, err)
		}
	}
}

// slow is a client that takes nothing until it is released.
type slow struct {
	http.ResponseWriter
	writing, release chan struct{}
	once             sync.Once
}

// Write implements [io.Writer].
func (s *slow) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.writing) })
	<-s.release
	return len(p), nil
}

// A user whose clients do not read takes up their own turns and nobody else's.
func TestSlowClientsHoldUpThemselves(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var wg sync.WaitGroup
	release := make(chan struct{})
	for i := range 3 {
		client := &slow{ResponseWriter: httptest.NewRecorder(), writing: make(chan struct{}), release: release}
		wg.Go(func() { r.proxy.ServeHTTP(client, request(t, query(fmt.Sprintf(`{a="%d"}`, i)))) })
		<-client.writing
	}
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan int, 16)
	for range 16 {
		queued := request(t, query(`{a="b"}`)).WithContext(ctx)
		wg.Go(func() { waiting <- r.do(queued).Code })
	}
	bob := request(t, query(`{a="b"}`))
	bob.Header.Set("Authorization", "Bearer "+tokenOfBob)
	if got := r.do(bob); got.Code != http.StatusOK {
		t.Errorf("somebody else is answered %d", got.Code)
	}
	cancel()
	for range 16 {
		if code := <-waiting; code != http.StatusServiceUnavailable && code != http.StatusTooManyRequests {
			t.Errorf("who waited and left is answered %d", code)
		}
	}
	close(release)
	wg.Wait()
	if got := r.get(t, query(`{a="b"}`)); got.Code != http.StatusOK {
		t.Errorf("then answered %d", got.Code)
	}
}
