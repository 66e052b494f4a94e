// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"testing"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
)

func TestLockKeepsOthersOut(t *testing.T) {
	t.Parallel()
	l := layout{dir: t.TempDir()}
	unlock, err := l.lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.lock(); !errors.Is(err, errLocked) {
		t.Errorf("second lock() = %v, want %v", err, errLocked)
	}
	unlock()
	again, err := l.lock()
	if err != nil {
		t.Fatalf("lock() after unlock: %v", err)
	}
	again()
}

func TestStateSurvives(t *testing.T) {
	t.Parallel()
	l := layout{dir: t.TempDir()}
	empty, err := l.readState()
	if err != nil {
		t.Fatal(err)
	}
	if empty.alive(processController) != nil {
		t.Error("an empty state has a controller")
	}
	self, err := process.Self(processController)
	if err != nil {
		t.Fatal(err)
	}
	p := &child{Process: self, Probe: "http://127.0.0.1:1/readyz"}
	if err := l.writeState(&state{Processes: map[string]*child{processController: p}}); err != nil {
		t.Fatal(err)
	}
	read, err := l.readState()
	if err != nil {
		t.Fatal(err)
	}
	if got := read.alive(processController); got == nil || got.PID != p.PID || got.Probe != p.Probe {
		t.Errorf("process read back = %+v, want pid %d and probe %s", got, p.PID, p.Probe)
	}
}

func TestLaterCommandsRunTheControllerOfTheStack(t *testing.T) {
	t.Parallel()
	l := layout{root: "/checkout", dir: t.TempDir()}
	later := func(binary string) string {
		read, err := l.readState()
		if err != nil {
			t.Fatal(err)
		}
		return (&stack{layout: l, state: read, binaries: map[string]string{processController: binary}}).program(processController)
	}
	if got, want := later(""), "/checkout/bin/maas-controller"; got != want {
		t.Errorf("before the start it is %s, want %s", got, want)
	}
	started := &stack{layout: l, state: newState(), binaries: map[string]string{processController: "/mine"}}
	if err := started.remember(); err != nil {
		t.Fatal(err)
	}
	if got := later(""); got != "/mine" {
		t.Errorf("after a start with /mine it is %s", got)
	}
	if got := later("/other"); got != "/other" {
		t.Errorf("asked for /other it is %s", got)
	}
	if _, err := started.stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := later(""); got == "/mine" {
		t.Error("after the end it still is the one of the stack that ended")
	}
}

func TestSettingsAreQuotedForAShell(t *testing.T) {
	t.Parallel()
	l := layout{root: "/it's/here", dir: t.TempDir()}
	if err := l.writeEnv([]setting{{"KUBECONFIG", "/tmp/k"}, {"KUBECTL", l.binary("kubectl")}}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(l.envFile())
	if err != nil {
		t.Fatal(err)
	}
	want := "export KUBECONFIG='/tmp/k'\nexport KUBECTL='/it'\\''s/here/bin/kubectl'\n"
	if string(got) != want {
		t.Errorf("settings = %q, want %q", got, want)
	}
}
