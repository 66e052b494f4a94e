// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engines_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// Long enough for a busy machine.
const eventually = time.Minute

// nsrun is the program, built if it has to be.
func nsrun(t *testing.T) string {
	t.Helper()
	if err := testenv.Build(t.Context(), "nsrun", t.Output()); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(testenv.RepoRoot(), "bin", "nsrun")
}

// startInside runs a shell script in a namespace, until the test ends.
func startInside(t *testing.T, script string, routes ...string) *process.Process {
	t.Helper()
	p, err := process.Start(t.Context(), process.Command{
		Name: "nsrun", Path: nsrun(t), Args: append(routes, "--", "/bin/sh", "-c", script),
		Log: filepath.Join(t.TempDir(), "nsrun.log"),
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

// awaitSaid waits until the program says a line that begins so, and returns the rest.
func awaitSaid(t *testing.T, p *process.Process, prefix string) string {
	t.Helper()
	var said string
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, eventually, true, func(context.Context) (bool, error) {
		for line := range strings.Lines(p.Excerpt()) {
			if rest, found := strings.CutPrefix(line, prefix); found {
				said = strings.TrimSpace(rest)
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		t.Fatalf("the program did not say %q: %s", prefix, p.Excerpt())
	}
	return said
}

func TestAProgramHasNothingButALoopbackInterface(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), nsrun(t), "--", "/bin/cat", "/proc/net/dev").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if name, _, found := strings.Cut(line, ":"); found {
			names = append(names, strings.TrimSpace(name))
		}
	}
	if got := strings.Join(names, " "); got != "lo" {
		t.Errorf("the program has the interfaces %q", got)
	}
}

func TestItEndsAsItsProgramDid(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]int{"true": 0, "exit 3": 3, "kill -TERM $$": 143} {
		p := startInside(t, script)
		<-p.Done()
		if got := p.ExitCode(); got != want {
			t.Errorf("%s ended with %d, want %d: %s", script, got, want, p.Excerpt())
		}
	}
}

func TestSignalsGoToTheProgram(t *testing.T) {
	t.Parallel()
	p := startInside(t, `trap "exit 7" TERM; echo listening; while :; do sleep 0.1; done`)
	awaitSaid(t, p, "listening")
	if err := p.Stop(eventually); err != nil {
		t.Fatal(err)
	}
	if got := p.ExitCode(); got != 7 {
		t.Errorf("it ended with %d, want 7", got)
	}
}

func TestTheProgramEndsWithIt(t *testing.T) {
	t.Parallel()
	p := startInside(t, `echo "pid $$"; exec sleep 600`)
	pid := awaitSaid(t, p, "pid ")
	if err := p.Stop(0); err != nil { // It has no chance to pass this on.
		t.Fatal(err)
	}
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, eventually, true, func(context.Context) (bool, error) {
		command, _ := os.ReadFile("/proc/" + pid + "/cmdline") // There is none any more.
		return len(command) == 0, nil
	})
	if err != nil {
		t.Errorf("process %s runs on", pid)
	}
}

func TestWhatIsToldPassesInAndOut(t *testing.T) {
	t.Parallel()
	_, outside := serving(t, "outside")
	way, err := testenv.FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The way leads in, to an address there that leads out again.
	const inside = "127.0.0.1:443"
	startInside(t, "exec sleep 600", "--in", way+"="+inside, "--out", inside+"="+outside)
	server, _ := serving(t, "nobody")
	proxy := startProxy(t)
	proxy.Set(certified, way)
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, eventually, true, func(ctx context.Context) (bool, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp4", way)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil, nil
	})
	if err != nil {
		t.Fatal("nobody listens")
	}
	wantWord(t, proxy, server, certified, "outside")
}

func TestAPrivateDirectoryIsTheProgramsOwn(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "private")
	first := startInside(t, "echo mine >"+directory+"/file; echo wrote; sleep 600", "--private", directory)
	awaitSaid(t, first, "wrote")
	second := startInside(t, "echo found $(ls "+directory+"); echo done", "--private", directory)
	awaitSaid(t, second, "done")
	if found := awaitSaid(t, second, "found"); found != "" {
		t.Errorf("another program sees %s", found)
	}
	if entries, err := os.ReadDir(directory); err != nil || len(entries) > 0 {
		t.Errorf("outside, there are %v, %v", entries, err)
	}
}
