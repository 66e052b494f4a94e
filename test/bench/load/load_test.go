// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// server answers what it is asked, and counts.
type server struct {
	*httptest.Server
	requests  atomic.Int64
	mu        sync.Mutex
	protocols map[string]bool
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{protocols: map[string]bool{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		s.mu.Lock()
		s.protocols[r.Proto] = true
		s.mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.URL.Path == "/teapot" {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = w.Write(body)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *server) plan(protocol Protocol) *Plan {
	return &Plan{
		Address: s.Listener.Addr().String(), Protocol: protocol, Clients: 3, Measure: time.Second,
		Turn: func(int) []Request {
			return []Request{
				{Path: "/a", Body: []byte(`{"a":1}`), Status: http.StatusOK, Text: []byte(`"a"`)},
				{Path: "/teapot", Body: []byte(`{"b":1}`), Status: http.StatusTeapot, Text: []byte(`"b"`)},
			}
		},
	}
}

func TestRunCountsWhatWasAnswered(t *testing.T) {
	t.Parallel()
	for protocol, seen := range map[Protocol]string{HTTP1: "HTTP/1.1", HTTP2: "HTTP/2.0"} {
		t.Run(string(protocol), func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			r, err := Run(t.Context(), s.plan(protocol))
			if err != nil {
				t.Fatal(err)
			}
			if r.Turns == 0 || r.Requests != 2*r.Turns || len(r.Sent) != r.Turns || len(r.Due) != 0 {
				t.Errorf("turns %d, requests %d, times %d and %d", r.Turns, r.Requests, len(r.Sent), len(r.Due))
			}
			if asked := int(s.requests.Load()); asked < r.Requests || asked > r.Requests+2*3 {
				t.Errorf("the server was asked %d times, %d requests are reported by 3 clients", asked, r.Requests)
			}
			if len(s.protocols) != 1 || !s.protocols[seen] {
				t.Errorf("protocols %v, want %s", s.protocols, seen)
			}
		})
	}
}

func TestRateIsKept(t *testing.T) {
	t.Parallel()
	p := newServer(t).plan(HTTP1)
	p.Rate, p.Measure = 100, 500*time.Millisecond
	r, err := Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if r.Turns > 51 || r.Turns < 10 {
		t.Errorf("%d turns in half a second, want about 50 and never more", r.Turns)
	}
	if len(r.Due) != r.Turns || r.Due.Quantile(0) < 0 {
		t.Errorf("%d times from when a turn was due, the shortest %s", len(r.Due), r.Due.Quantile(0))
	}
}

func TestWhatIsNotAnsweredAsItShouldEndsTheRun(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]Request{
		"another status": {Path: "/a", Status: http.StatusTeapot},
		"another text":   {Path: "/a", Body: []byte("{}"), Status: http.StatusOK, Text: []byte("valid")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newServer(t).plan(HTTP1)
			p.Measure = time.Minute
			p.Turn = func(int) []Request { return []Request{r} }
			if _, err := Run(t.Context(), p); err == nil || !strings.Contains(err.Error(), "POST /a is answered by 200") {
				t.Errorf("Run() = %v, want the answer", err)
			}
		})
	}
}

func TestToleratedAnswersAreCountedApart(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	p := s.plan(HTTP1)
	p.Tolerate = http.StatusTeapot
	p.Turn = func(n int) []Request {
		if n%2 == 0 {
			return []Request{{Path: "/teapot", Status: http.StatusOK}}
		}
		return []Request{{Path: "/a", Status: http.StatusOK}}
	}
	r, err := Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Failures) == 0 || r.Turns == 0 || int64(len(r.Failures)+r.Turns) > s.requests.Load() {
		t.Errorf("%d turns and %d failures of %d requests", r.Turns, len(r.Failures), s.requests.Load())
	}
}

func TestWarmingUpDoesNotCount(t *testing.T) {
	t.Parallel()
	p := newServer(t).plan(HTTP1)
	p.Warm, p.Measure = time.Second, 200*time.Millisecond
	requests := p.Turn(0)
	// The first turn is taken a little after the time has begun to run.
	first := sync.OnceValue(time.Now)
	var all, early atomic.Int64
	p.Turn = func(int) []Request {
		all.Add(1)
		if time.Since(first()) < p.Warm/2 {
			early.Add(1)
		}
		return requests
	}
	r, err := Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if early.Load() == 0 {
		t.Error("nothing was asked to warm up")
	}
	// Of each client the last one may have ended when it counts.
	if most := all.Load() - early.Load() + int64(p.Clients); int64(r.Turns) > most {
		t.Errorf("%d turns count, want at most %d", r.Turns, most)
	}
}

func TestAPlanThatLacksSomethingIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Plan){
		"no clients":          func(p *Plan) { p.Clients = 0 },
		"no time":             func(p *Plan) { p.Measure = 0 },
		"an unknown protocol": func(p *Plan) { p.Protocol = "HTTP/9" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &Plan{Address: "127.0.0.1:1", Protocol: HTTP1, Clients: 1, Measure: time.Second, Turn: func(int) []Request { return nil }}
			change(p)
			if _, err := Run(t.Context(), p); err == nil || !strings.Contains(err.Error(), "check the plan") {
				t.Errorf("Run() = %v, want it to refuse the plan", err)
			}
		})
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	l := Latencies{3, 1, 2}
	for share, want := range map[float64]time.Duration{0: 1, 0.5: 2, 0.99: 3, 1: 3} {
		if got := l.Quantile(share); got != want {
			t.Errorf("Quantile(%g) = %d, want %d", share, got, want)
		}
	}
	if got := (Latencies{}).Quantile(0.5); got != 0 {
		t.Errorf("Quantile() of nothing = %d, want 0", got)
	}
}
