// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

func TestServicesAreFoundByTheirNames(t *testing.T) {
	t.Parallel()
	r := workloadReport{Services: map[string]string{"infra/maas-api-red:8443": "127.0.0.1:4711"}}
	for name, want := range map[string]string{
		"maas-api-red.infra.svc.cluster.local:8443": "127.0.0.1:4711",
		"maas-api-red.infra.svc.cluster.local:9090": "",
		"maas-api-red.other.svc.cluster.local:8443": "",
		"maas-api-red.infra:8443":                   "",
		"maas-api-red.infra.svc.cluster.local":      "",
		"idp.example.com:443":                       "",
	} {
		if got := r.named(name); got != want {
			t.Errorf("%s is at %q, want %q", name, got, want)
		}
	}
}

func TestOnlyTheGatewayWithTheNameOfATenantPlays(t *testing.T) {
	t.Parallel()
	site := &site{tenant: "red"}
	for name, want := range map[string]bool{"": true, "red": true, "blue": false} {
		tenant := site.aiTenant()
		if name != "" {
			tenant.Object["spec"] = map[string]any{"gateway": map[string]any{"name": name}}
		}
		err := site.ownGateway(tenant)
		if (err == nil) != want {
			t.Errorf("Gateway %q: %v, want accepted: %t", name, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), "AITenant red has Gateway blue") {
			t.Errorf("the error does not name both: %v", err)
		}
	}
}

func TestAPersonIsShownOneArgumentAboutWebhooks(t *testing.T) {
	t.Parallel()
	usual := stage.Args("kubeconfig", "probes", "metrics")
	got := withoutWebhooks(slices.Clone(usual))
	if len(got) != len(usual)-1 || slices.ContainsFunc(got, func(arg string) bool { return strings.HasPrefix(arg, "--enable-webhooks") }) {
		t.Errorf("of %q is left %q", usual, got)
	}
}

func TestDataIsNotMixed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before, now bool
		want        string
	}{
		"stand-ins again":          {false, false, ""},
		"the engines again":        {true, true, ""},
		"engines after stand-ins":  {false, true, "go on with it by `make up`,"},
		"stand-ins after engines ": {true, false, "go on with it by `make up ENGINES=1`,"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := &stack{layout: layout{root: dir, dir: dir}, engines: tc.now}
			if err := s.sameAsBefore(); err != nil {
				t.Errorf("without data: %v", err)
			}
			before := newState()
			before.Engines = tc.before
			if err := errors.Join(os.Mkdir(s.layout.controlPlane(), 0o700), s.layout.writeState(before)); err != nil {
				t.Fatal(err)
			}
			err := s.sameAsBefore()
			if (tc.want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("sameAsBefore() = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestWhereNoNamespaceCanBeMadeTheErrorSaysWhatToDo(t *testing.T) {
	t.Parallel()
	nsrun := filepath.Join(t.TempDir(), "nsrun")
	script := "#!/bin/sh\necho nsrun: making a network namespace needs root >&2\nexit 125\n"
	if err := os.WriteFile(nsrun, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	err := isolates(t.Context(), nsrun)
	if err == nil || !strings.Contains(err.Error(), "needs root") || !strings.Contains(err.Error(), "sudo make run ENGINES=1") {
		t.Errorf("isolates() = %v, want why and what to do", err)
	}
	if err := isolates(t.Context(), "/usr/bin/env"); err != nil {
		t.Errorf("a program that runs the other: %v", err)
	}
}

func TestEnginesNeedWhatTheyAsk(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*stack{
		"without maas-controller": {engines: true, service: true}, "without maas-api": {engines: true, controller: true},
	} {
		if err := s.checkEngines(t.Context()); err == nil || !strings.Contains(err.Error(), "they need") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStatusShowsEnginesOnlyWhereTheyAre(t *testing.T) {
	t.Parallel()
	for _, with := range []bool{true, false} {
		s := &stack{state: newState(), engines: with, controller: true, service: true}
		s.state.Engines = with
		for _, name := range engineProcesses() {
			if got := slices.Contains(s.everyChild(), name); got != with {
				t.Errorf("with engines %t, %s is listed: %t", with, name, got)
			}
			if got := s.has(name); got != with {
				t.Errorf("with engines %t, %s is part of the stack: %t", with, name, got)
			}
		}
	}
	s := &stack{state: newState()}
	s.state.Processes[processAuthorino] = &child{}
	if !slices.Contains(s.everyChild(), processAuthorino) {
		t.Error("an engine that is left over is not listed, and so not ended")
	}
}

// ended is an engine that has ended.
type ended struct{ done chan struct{} }

var errDied = errors.New("authorino ended by itself")

func (e ended) Done() <-chan struct{} { return e.done }
func (e ended) Err() error            { return errDied }

func TestAStartIsGivenUpWhenAnEngineEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	s := &stack{giveUp: cancel}
	e := ended{done: make(chan struct{})}
	s.hold(ctx, e)
	close(e.done)
	<-ctx.Done()
	if got := reason(ctx, ctx.Err()); !errors.Is(got, errDied) {
		t.Errorf("the reason is %v, want %v", got, errDied)
	}
	other := errors.New("no such file")
	if got := reason(ctx, other); !errors.Is(got, other) {
		t.Errorf("the reason is %v, want %v", got, other)
	}
}

func TestTheKeyIsAwaited(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		valid string
		// calls are those it takes: two to maas-api that fail, then two refusals at the
		// model.
		calls int32
	}{
		"a valid key":   {`{"valid": true}`, 8},
		"a revoked key": {`{"valid": false}`, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all, atModel atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch n := all.Add(1); {
				case n < 3:
					panic(http.ErrAbortHandler)
				case r.Method == http.MethodPost:
					_, _ = io.WriteString(w, tc.valid)
				case atModel.Add(1) < 3 || r.Header.Get("Authorization") != "Bearer k":
					w.WriteHeader(http.StatusForbidden)
				}
			}))
			t.Cleanup(server.Close)
			v := &visit{caller: &caller{http: server.Client()}, endpoint: server.URL, service: server.URL}
			if err := v.awaitKey(t.Context(), "k"); err != nil || all.Load() != tc.calls {
				t.Errorf("after %d calls: %v, want %d", all.Load(), err, tc.calls)
			}
		})
	}
}

func TestATenantOfAStackWithEnginesAcceptsTokens(t *testing.T) {
	t.Parallel()
	for _, with := range []bool{true, false} {
		tenant := (&stack{engines: with}).declare(&site{tenant: "red"})
		got, _, _ := unstructured.NestedString(tenant.Object, "spec", "oidc", "issuerUrl")
		if (got == issuer) != with {
			t.Errorf("with engines %t, the issuer is %q", with, got)
		}
	}
}

func TestTheTableSaysWhetherTokensAreCounted(t *testing.T) {
	t.Parallel()
	for _, with := range []bool{true, false} {
		var out bytes.Buffer
		if err := renderVisit(&out, visitReport{Engines: with}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "COUNTS NO TOKENS") == with || strings.Contains(out.String(), "Authorino") != with {
			t.Errorf("with engines %t:\n%s", with, out.String())
		}
	}
}

func TestTheReadmeSaysInWhatTheEnginesDiffer(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(testenv.RepoRoot(), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, setting := range kuadrantEnvironment() {
		if !strings.Contains(string(text), "`"+setting+"`") {
			t.Errorf("the README does not name %s", setting)
		}
	}
	for with, want := range map[bool]string{true: "403 within a minute: Authorino remembers answers for 60 s", false: "403"} {
		if got := (&stack{engines: with}).afterRevocation(); got != want {
			t.Errorf("after a revocation, engines %t: %q, want %q", with, got, want)
		}
	}
}
