// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/server"
)

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithCancel(context.WithoutCancel(t.Context()))
}

// open is a listener that the test itself ends.
func open(t *testing.T, handler http.Handler) *server.Listener {
	t.Helper()
	log, _ := logger()
	l, err := server.Listen(t.Context(), server.ListenerOptions{
		Name: "api", Address: "127.0.0.1:0", Handler: handler, Timeouts: server.APITimeouts(time.Second), Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestStopDrainsThenFinishesRequestsInFlight(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	log, _ := logger()
	health := server.NewHealth(log, server.Check{Name: "all", Ready: func(context.Context) error { return nil }})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		_, _ = w.Write([]byte("finished"))
	})
	l := open(t, wrap(t, append(health.Routes(httpapi.Public),
		httpapi.Route{Method: http.MethodGet, Pattern: "/slow", Handler: slow}, httpapi.Route{Method: http.MethodGet, Pattern: "/quick", Handler: ok()})...))
	url := "http://" + l.Addr().String()
	c := client(t, nil)
	if got := get(t, c, url+"/readyz"); got.status != http.StatusOK {
		t.Fatalf("not ready: %d", got.status)
	}
	inFlight := make(chan answer, 1)
	go func() {
		got, err := try(t, c, url+"/slow")
		if err != nil {
			t.Error(err)
		}
		inFlight <- got
	}()
	<-entered

	fake := clocktesting.NewFakeClock(time.Now())
	stopped := make(chan error, 1)
	stop := server.Stop{Health: health, Clock: fake, Log: log, Drain: 5 * time.Second, Timeout: 10 * time.Second, Listeners: []*server.Listener{l}}
	go func() { stopped <- stop.Run(t.Context()) }()
	waitFor(t, fake.HasWaiters)
	// While it drains, it says that it is not ready and serves on.
	if got := get(t, client(t, nil), url+"/readyz"); got.status != http.StatusServiceUnavailable {
		t.Errorf("readiness is %d while it drains", got.status)
	}
	if got := get(t, client(t, nil), url+"/quick"); got.body != "hello" {
		t.Errorf("a new request while it drains is answered %d", got.status)
	}
	fake.Step(5 * time.Second)
	waitFor(t, func() bool { _, err := try(t, client(t, nil), url+"/quick"); return err != nil })
	select {
	case err := <-stopped:
		t.Errorf("stopped with a request in flight: %v", err)
	default:
	}
	close(release)
	if got := <-inFlight; got.body != "finished" {
		t.Errorf("the request in flight was answered %d %q", got.status, got.body)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if err := <-l.Done(); err != nil {
		t.Error(err)
	}
}

// waitFor returns when the condition holds.
func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for !condition() {
		<-ticker.C
		if time.Now().After(deadline) {
			t.Fatal("waited for too long")
		}
	}
}

// TestConnectionsEndBehindAnAnswerDuringTheDrain proves that a client which keeps its
// connections has none left when they are closed: a request on one would be lost.
func TestConnectionsEndBehindAnAnswerDuringTheDrain(t *testing.T) {
	t.Parallel()
	certificate, err := server.SelfSigned("test", []string{"127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]*tls.Config{
		"HTTP/1.1": nil, "HTTP/2": {MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*certificate}, NextProtos: []string{"h2", "http/1.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := listen(t, ok(), config)
			c, scheme := client(t, certificate), "http://"
			if config != nil {
				scheme = "https://"
			}
			connections := 0
			ask := func() {
				t.Helper()
				trace := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{ConnectDone: func(string, string, error) { connections++ }})
				r, err := http.NewRequestWithContext(trace, http.MethodPost, scheme+l.Addr().String(), http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := c.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				if resp.Proto[:6] != name[:6] {
					t.Errorf("the protocol is %s", resp.Proto)
				}
			}
			ask()
			ask()
			if connections != 1 {
				t.Fatalf("%d connections before the drain", connections)
			}
			l.Leave()
			ask()
			waitFor(t, func() bool { ask(); return connections > 1 })
			before := connections
			waitFor(t, func() bool { ask(); return connections > before })
		})
	}
}

func TestStopCutsOffWhatTakesTooLong(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	hang := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	})
	log, _ := logger()
	l := open(t, hang)
	failed := make(chan error, 1)
	go func() {
		_, err := try(t, client(t, nil), "http://"+l.Addr().String())
		failed <- err
	}()
	<-entered
	err := server.Stop{Health: server.NewHealth(log), Clock: clock.RealClock{}, Log: log, Timeout: 50 * time.Millisecond, Listeners: []*server.Listener{l}}.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "requests in flight") {
		t.Errorf("error is %v", err)
	}
	if err := <-failed; err == nil {
		t.Error("the request was answered")
	}
	if err := <-l.Done(); err != nil {
		t.Error(err)
	}
}

func TestAContextThatEndsShortensTheDrain(t *testing.T) {
	t.Parallel()
	log, _ := logger()
	ctx, cancel := contextOf(t)
	cancel()
	err := server.Stop{Health: server.NewHealth(log), Clock: clock.RealClock{}, Log: log, Drain: time.Hour, Timeout: time.Second}.Run(ctx)
	if err != nil {
		t.Error(err)
	}
}

func TestAddressInUseIsAnError(t *testing.T) {
	t.Parallel()
	l := listen(t, ok(), nil)
	log, _ := logger()
	_, err := server.Listen(t.Context(), server.ListenerOptions{Name: "api", Address: l.Addr().String(), Handler: ok(), Log: log})
	if err == nil || !strings.Contains(err.Error(), "listen for api") {
		t.Errorf("error is %v", err)
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	if got := server.APITimeouts(15 * time.Second); got != (server.Timeouts{ReadHeader: 5 * time.Second, Read: 15 * time.Second, Write: 30 * time.Second, Idle: time.Minute}) {
		t.Errorf("API: %+v", got)
	}
	if got := server.APITimeouts(time.Minute).Write; got <= time.Minute {
		t.Errorf("a listing of a minute cannot be written within %s", got)
	}
	if got := server.MetricsTimeouts(); got != (server.Timeouts{ReadHeader: 5 * time.Second, Read: 10 * time.Second, Write: 10 * time.Second, Idle: 30 * time.Second}) {
		t.Errorf("metrics: %+v", got)
	}
}
