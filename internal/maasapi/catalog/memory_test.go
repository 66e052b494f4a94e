// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	fake := clocktesting.NewFakeClock(time.Unix(0, 0))
	m := newMemory([]byte("key"), Options{MaxVerdicts: 100, AdmittedFor: time.Hour, Clock: fake})
	for i := range 10_000 {
		k := m.mark(Credential{authorization: fmt.Sprint(i)})
		_, known, a, first := m.recall(k)
		if known || !first {
			t.Fatalf("question %d was asked before", i)
		}
		m.settle(k, a, verdict{outcomeAdmitted, fake.Now()})
		if got := len(m.recent) + len(m.former); got > 100 {
			t.Fatalf("%d verdicts kept, want at most 100", got)
		}
	}
	if _, known, _, _ := m.recall(m.mark(Credential{authorization: "9999"})); !known {
		t.Error("the latest verdict is forgotten")
	}
	if got := len(m.asking); got != 0 {
		t.Errorf("%d questions under way, want none", got)
	}
}

func TestQuestionIsAskedByOneAtATime(t *testing.T) {
	t.Parallel()
	m := newMemory([]byte("key"), Options{AdmittedFor: time.Hour, Clock: clocktesting.NewFakeClock(time.Unix(0, 0))})
	k := m.mark(Credential{authorization: "x"})
	_, _, a, first := m.recall(k)
	_, known, same, second := m.recall(k)
	if !first || second || known || a != same {
		t.Fatalf("first %v, second %v, known %v, the same question %v", first, second, known, a == same)
	}
	m.settle(k, a, verdict{outcome: outcomeCancelled})
	<-same.done
	if _, known, _, again := m.recall(k); known || !again {
		t.Error("an answer that came to nothing was remembered")
	}
}

// broken is a clock that fails once a question is under way.
type broken struct{ clock.WithTicker }

func (broken) NewTimer(time.Duration) clock.Timer { panic("no timer") }

func TestNobodyWaitsForAQuestionWhoseAskerFailed(t *testing.T) {
	t.Parallel()
	address, err := url.Parse("http://127.0.0.1:1/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{
		Mode: ModePolicy, Random: strings.NewReader(strings.Repeat("k", keySize)), Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
		Clock: broken{clock.RealClock{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := c.prober
	ask := func() (failure any) {
		defer func() { failure = recover() }()
		p.verdict(t.Context(), question{url: address, gateway: address.Host})
		return nil
	}
	if ask() == nil {
		t.Fatal("the question did not fail")
	}
	if got := len(p.memory.asking); got != 0 {
		t.Errorf("%d questions are under way, want none", got)
	}
}

// Two processes, or two runs of one, keep nothing that can be compared, and no two
// questions look alike.
func TestMarks(t *testing.T) {
	t.Parallel()
	c := NewCredential("Bearer x", "")
	m := newMemory([]byte("key"), Options{})
	same := m.mark(c, "llm/granite", "gold")
	if same != m.mark(c, "llm/granite", "gold") {
		t.Error("one question has two marks")
	}
	for name, other := range map[string]mark{
		"another key":          newMemory([]byte("other"), Options{}).mark(c, "llm/granite", "gold"),
		"another credential":   m.mark(NewCredential("Bearer y", ""), "llm/granite", "gold"),
		"another header":       m.mark(NewCredential("", "Bearer x"), "llm/granite", "gold"),
		"another boundary":     m.mark(c, "llm/graniteg", "old"),
		"one part less":        m.mark(c, "llm/granitegold"),
		"an empty part beside": m.mark(c, "llm/granite", "gold", ""),
	} {
		if same == other {
			t.Errorf("%s has the same mark", name)
		}
	}
}

func TestBreakersForgetDestinationsRatherThanGrow(t *testing.T) {
	t.Parallel()
	b := newBreakers(Options{OpenAfter: 1, OpenFor: time.Second, Clock: clocktesting.NewFakeClock(time.Unix(0, 0))})
	for i := range 3 * maxFailing {
		b.failed(fmt.Sprint(i))
	}
	if got := len(b.failing); got > maxFailing {
		t.Errorf("%d destinations kept, want at most %d", got, maxFailing)
	}
}

func TestBreakerLetsOneRequestThroughAfterItsRest(t *testing.T) {
	t.Parallel()
	fake := clocktesting.NewFakeClock(time.Unix(0, 0))
	b := newBreakers(Options{OpenAfter: 2, OpenFor: 10 * time.Second, Clock: fake})
	steps := []struct {
		name string
		do   func()
		want []bool
	}{
		{"fresh", func() {}, []bool{true, true}},
		{"one failure", func() { b.failed("x") }, []bool{true, true}},
		{"success in between", func() { b.succeeded("x"); b.failed("x") }, []bool{true, true}},
		{"two in a row", func() { b.failed("x") }, []bool{false, false}},
		{"still resting", func() { fake.Step(9 * time.Second) }, []bool{false}},
		{"rested", func() { fake.Step(time.Second) }, []bool{true, false}},
		{"the one failed", func() { b.failed("x") }, []bool{false}},
		{"rested again", func() { fake.Step(10 * time.Second) }, []bool{true, false}},
		{"the one never came back", func() { fake.Step(10 * time.Second) }, []bool{true, false}},
		{"the one succeeded", func() { b.succeeded("x") }, []bool{true, true}},
	}
	for _, step := range steps {
		step.do()
		for i, want := range step.want {
			if got := b.allow("x"); got != want {
				t.Errorf("%s: request %d allowed: %v, want %v", step.name, i, got, want)
			}
		}
		if !b.allow("y") {
			t.Errorf("%s: another destination is left in peace", step.name)
		}
	}
}

func TestCredentialIsNeverPrinted(t *testing.T) {
	t.Parallel()
	c := NewCredential("Bearer verysecret", "")
	encoded, err := json.Marshal(map[string]any{"c": c})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s %q", c, c, c, c, c), c.LogValue().String(), string(encoded), fmt.Sprintf("%+v", Query{Credential: c})} {
		if strings.Contains(text, "verysecret") {
			t.Errorf("printed as %s", text)
		}
	}
}

func TestGatewayPort(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ address, asked, want string }{
		"the port of the URL":         {"gw.ns.svc.cluster.local", "maas.example.com:8443", "gw.ns.svc.cluster.local:8443"},
		"the port of the address":     {"gw.ns.svc.cluster.local:443", "maas.example.com:8443", "gw.ns.svc.cluster.local:443"},
		"an IPv6 address":             {"fd00::1", "maas.example.com:443", "[fd00::1]:443"},
		"an IPv6 address with a port": {"[fd00::1]:8443", "maas.example.com:443", "[fd00::1]:8443"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := gatewayPort(tc.address, tc.asked); got != tc.want {
				t.Errorf("connects to %s, want %s", got, tc.want)
			}
		})
	}
}

func TestLoadRoots(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	good, bad, none := filepath.Join(t.TempDir(), "good"), filepath.Join(t.TempDir(), "bad"), filepath.Join(t.TempDir(), "none")
	for file, text := range map[string][]byte{
		good: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), bad: []byte("no certificate"),
	} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		optional, required []string
		trusted, fails     bool
	}{
		"nothing more than the system's":       {},
		"an optional file":                     {optional: []string{good}, trusted: true},
		"an optional file that is absent":      {optional: []string{none}, required: []string{good}, trusted: true},
		"a required file that is absent":       {optional: []string{good}, required: []string{none}, fails: true},
		"an optional file of another kind":     {optional: []string{bad}, fails: true},
		"an optional file that is a directory": {optional: []string{t.TempDir()}, fails: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			roots, err := LoadRoots(tc.optional, tc.required)
			if (err != nil) != tc.fails {
				t.Fatalf("error %v", err)
			}
			if tc.fails {
				return
			}
			_, err = server.Certificate().Verify(x509.VerifyOptions{Roots: roots, CurrentTime: server.Certificate().NotBefore})
			if (err == nil) != tc.trusted {
				t.Errorf("trusted: %v", err)
			}
		})
	}
}
