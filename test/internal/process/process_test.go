// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startShell runs a script as a child that ends with the test.
func startShell(t *testing.T, script string, env ...string) *Process {
	t.Helper()
	p, err := Start(t.Context(), Command{
		Name: "child", Path: "/bin/sh", Args: []string{"-c", script}, Env: env, Log: filepath.Join(t.TempDir(), "child.log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(0); err != nil {
			t.Error(err)
		}
	})
	return p
}

// awaitEnd waits for a child that ends by itself.
func awaitEnd(t *testing.T, p *Process) {
	t.Helper()
	if err := p.waitGone(time.Minute); err != nil {
		t.Fatal(err)
	}
}

func TestStopEndsAProcessAndMayBeRepeated(t *testing.T) {
	t.Parallel()
	p := startShell(t, "exec sleep 600")
	tick := time.NewTicker(gonePoll)
	defer tick.Stop()
	for p.Alive() && CommandLine(p.PID) == "" { // While it becomes another program, it has none.
		<-tick.C
	}
	if !p.Alive() {
		t.Fatal("process is not alive after its start")
	}
	for range 2 {
		if err := p.Stop(time.Minute); err != nil {
			t.Fatal(err)
		}
		if p.Alive() || CommandLine(p.PID) != "" {
			t.Fatal("process is alive after Stop")
		}
	}
}

func TestStopForcesAProcessThatDoesNotListen(t *testing.T) {
	t.Parallel()
	p := startShell(t, `trap "" TERM; echo deaf; exec sleep 600`)
	tick := time.NewTicker(gonePoll)
	defer tick.Stop()
	for p.Excerpt() != "deaf" {
		<-tick.C
	}
	if err := p.Stop(gonePoll); err != nil {
		t.Fatal(err)
	}
	if p.Alive() {
		t.Error("process is alive after Stop")
	}
}

func TestAProcessIsFoundAgainByWhatWasWrittenDown(t *testing.T) {
	t.Parallel()
	p := startShell(t, "exec sleep 600")
	read := &Process{Name: p.Name, PID: p.PID, Started: p.Started}
	if !read.Alive() {
		t.Error("the process is not recognised")
	}
	if err := read.Stop(time.Minute); err != nil {
		t.Fatal(err)
	}
	if p.Alive() {
		t.Error("the process is still alive")
	}
}

func TestAnotherProcessWithTheSameIDIsNotOurs(t *testing.T) {
	t.Parallel()
	p := startShell(t, "exec sleep 600")
	impostor := &Process{Name: p.Name, PID: p.PID, Started: p.Started + 1}
	if impostor.Alive() {
		t.Error("a process with another start time passes for the recorded one")
	}
	if err := impostor.Stop(time.Minute); err != nil {
		t.Error(err)
	}
	if !p.Alive() {
		t.Error("Stop ended a process that was not recorded")
	}
}

func TestSelfIsAlive(t *testing.T) {
	t.Parallel()
	self, err := Self("self")
	if err != nil {
		t.Fatal(err)
	}
	if !self.Alive() {
		t.Error("this process should be alive")
	}
}

func TestAChildTellsHowItEnded(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]int{"true": 0, "exit 3": 3, "kill -KILL $$": 137} {
		p := startShell(t, script)
		<-p.Done()
		if got := p.ExitCode(); got != want {
			t.Errorf("%s ended with %d, want %d", script, got, want)
		}
	}
}

func TestExcerptQuotesBothEndsOfTheLog(t *testing.T) {
	t.Parallel()
	p := startShell(t, "for i in $(seq 100); do echo line $i; done; echo no such host >&2; exit 1")
	awaitEnd(t, p)
	text := p.Excerpt()
	for _, want := range []string{"line 1\n", "line 100\n", "no such host"} {
		if !strings.Contains(text, want) {
			t.Errorf("excerpt %q lacks %q", text, want)
		}
	}
	if strings.Contains(text, "line 50\n") {
		t.Errorf("excerpt is too long: %q", text)
	}
}

func TestExcerptQuotesACrashRatherThanItsGoroutines(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script       string
		wants, lacks []string
	}{
		"late in a long log": {
			`for i in $(seq 100); do echo line $i; done; echo "fatal error: concurrent map writes"; for i in $(seq 100); do echo goroutine $i; done`,
			[]string{"line 1\n", "line 93\n", "line 100\nfatal error: concurrent map writes\ngoroutine 1\n", "goroutine 23\n..."},
			[]string{"line 92\n", "goroutine 24"},
		},
		"at once": {`echo "panic: boom"; echo goroutine 1`, []string{"panic: boom\ngoroutine 1"}, []string{"..."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startShell(t, tc.script)
			awaitEnd(t, p)
			text := p.Excerpt()
			for _, want := range tc.wants {
				if !strings.Contains(text, want) {
					t.Errorf("excerpt %q lacks %q", text, want)
				}
			}
			for _, lack := range tc.lacks {
				if strings.Contains(text, lack) {
					t.Errorf("excerpt %q has %q", text, lack)
				}
			}
		})
	}
}

func TestCallersSettingsDoNotLeakIn(t *testing.T) {
	t.Setenv("KUBECONFIG", "/the/callers")
	p := startShell(t, `echo "$KUBECONFIG,$OURS,${PATH:+path}"`, "OURS=set")
	awaitEnd(t, p)
	if got, want := p.Excerpt(), ",set,path"; got != want {
		t.Errorf("the child saw %q, want %q", got, want)
	}
}

func TestStartOfAMissingProgramFails(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Command{Name: "child", Path: "/does/not/exist", Log: filepath.Join(t.TempDir(), "child.log")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Start() = %v, want not-exist", err)
	}
}
