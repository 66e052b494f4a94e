// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startShell runs a script as a child that ends with the test.
func startShell(t *testing.T, script string) *process {
	t.Helper()
	p, err := start(command{
		name: "child", path: "/bin/sh", args: []string{"-c", script}, log: filepath.Join(t.TempDir(), "child.log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.stop() })
	return p
}

func TestStopEndsAProcessAndMayBeRepeated(t *testing.T) {
	t.Parallel()
	p := startShell(t, "exec sleep 60")
	if !p.alive() {
		t.Fatal("process is not alive after its start")
	}
	for range 2 {
		if err := p.stop(); err != nil {
			t.Fatal(err)
		}
		if p.alive() {
			t.Fatal("process is alive after stop")
		}
	}
}

func TestAnotherProcessWithTheSameIDIsNotOurs(t *testing.T) {
	t.Parallel()
	p := startShell(t, "exec sleep 60")
	impostor := &process{Name: p.Name, PID: p.PID, Started: p.Started + 1}
	if impostor.alive() {
		t.Error("a process with another start time passes for the recorded one")
	}
	if err := impostor.stop(); err != nil {
		t.Error(err)
	}
	if !p.alive() {
		t.Error("stop ended a process that was not recorded")
	}
}

func TestFailureQuotesTheEndOfTheLog(t *testing.T) {
	t.Parallel()
	p := startShell(t, "for i in $(seq 100); do echo line $i; done; echo no such host >&2; exit 1")
	select {
	case <-p.reaped:
	case <-time.After(10 * time.Second):
		t.Fatal("child did not end")
	}
	text := p.failure("ended before it was ready").Error()
	for _, want := range []string{"child ended before it was ready", "no such host", "line 100"} {
		if !strings.Contains(text, want) {
			t.Errorf("error %q lacks %q", text, want)
		}
	}
	if strings.Contains(text, "line 50\n") {
		t.Errorf("error quotes too much: %q", text)
	}
}

func TestStartOfAMissingProgramFails(t *testing.T) {
	t.Parallel()
	_, err := start(command{name: "child", path: "/does/not/exist", log: filepath.Join(t.TempDir(), "child.log")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("start() = %v, want not-exist", err)
	}
}

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
	p := startShell(t, "exec sleep 60")
	if err := l.writeState(&state{Processes: map[string]*process{processController: p}}); err != nil {
		t.Fatal(err)
	}
	read, err := l.readState()
	if err != nil {
		t.Fatal(err)
	}
	if got := read.alive(processController); got == nil || got.PID != p.PID {
		t.Errorf("process read back = %+v, want pid %d", got, p.PID)
	}
}

func TestSettingsAreQuotedForAShell(t *testing.T) {
	t.Parallel()
	l := layout{root: "/it's/here", dir: t.TempDir()}
	if err := l.writeEnv("/tmp/k"); err != nil {
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
