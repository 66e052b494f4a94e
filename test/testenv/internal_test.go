// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Not in parallel: a program that another test starts holds a copy of every
// listening socket for an instant.
func TestReservedPortsDiffer(t *testing.T) {
	const count = 200
	seen := map[int]bool{}
	for range count {
		port, err := reservePort(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] {
			t.Fatalf("port %d was handed out twice", port)
		}
		if !portFree(t.Context(), port) {
			t.Fatalf("port %d cannot be listened on", port)
		}
		seen[port] = true
	}
}

// Not in parallel: a program that another test starts holds a copy of every
// listening socket for an instant.
func TestPortsFill(t *testing.T) {
	taken := takePort(t)
	free, err := reservePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := ports{EtcdClient: free, APIServer: taken}
	before := p
	if err := p.fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.EtcdClient != free {
		t.Errorf("free port %d was replaced by %d", free, p.EtcdClient)
	}
	if p.APIServer == before.APIServer {
		t.Errorf("port %d is taken and was kept", p.APIServer)
	}
	if p.EtcdPeer == 0 || p.ControllerManager == 0 || p.Scheduler == 0 {
		t.Errorf("ports are missing: %+v", p)
	}
}

// takePort listens on a port for as long as the test runs.
func takePort(t *testing.T) int {
	t.Helper()
	listener, err := listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().(*net.TCPAddr).Port
}

// startEtcd starts etcd with the arguments and waits for what cannot be.
func startEtcd(t *testing.T, args ...string) error {
	t.Helper()
	if err := Build(t.Context(), "controlplane", os.Stderr); err != nil {
		t.Fatal(err)
	}
	p, err := start(t.Context(), command{name: "etcd", args: args, dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.stop(0); err != nil {
			t.Error(err)
		}
	})
	return await(t.Context(), p, func(context.Context) error { return errors.New("never") })
}

func TestFailedProgramShowsItsLog(t *testing.T) {
	t.Parallel()
	err := startEtcd(t, "--no-such-flag")
	if err == nil || !strings.HasPrefix(err.Error(), "etcd: it ended") || !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("got %v, want the program's name and what its log says", err)
	}
	if errors.Is(err, errPortTaken) {
		t.Error("a wrong flag is not a taken port")
	}
}

func TestTakenPortIsRecognised(t *testing.T) {
	t.Parallel()
	taken := takePort(t)
	url := httpURL(taken)
	peer, err := reservePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = startEtcd(t, "--listen-client-urls="+url, "--advertise-client-urls="+url,
		"--listen-peer-urls="+httpURL(peer), fmt.Sprintf("--data-dir=%s/data", t.TempDir()))
	if !errors.Is(err, errPortTaken) {
		t.Errorf("got %v, want %v", err, errPortTaken)
	}
}

func TestProcessIsToldFromALaterOneWithItsID(t *testing.T) {
	t.Parallel()
	started, _, err := procStat(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if p := (&process{Name: "self", PID: os.Getpid(), Started: started}); !p.alive() {
		t.Error("this process should be alive")
	}
	other := &process{Name: "other", PID: os.Getpid(), Started: started - 1}
	if other.alive() {
		t.Error("a process that started at another time is another process")
	}
	if err := other.stop(0); err != nil { // must not end this test
		t.Error(err)
	}
}

func TestSweepTemporary(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	started, _, err := procStat(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	self := &process{Name: "self", PID: os.Getpid(), Started: started}
	gone := &process{Name: "gone", PID: os.Getpid(), Started: started - 1}
	tests := map[string]struct {
		state *state
		lock  bool
		kept  bool
	}{
		"all processes gone":      {state: &state{Processes: []*process{gone}}},
		"stopped but not removed": {state: &state{}},
		"a process left":          {state: &state{Processes: []*process{gone, self}}, kept: true},
		"about to start":          {kept: true},
		"starting":                {state: &state{}, lock: true, kept: true},
	}
	dirs := map[string]string{}
	for name, tc := range tests {
		dir := filepath.Join(os.TempDir(), temporaryPrefix+strings.ReplaceAll(name, " ", "-"))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		dirs[name] = dir
		if tc.state != nil {
			if err := tc.state.write(dir); err != nil {
				t.Fatal(err)
			}
		}
		if tc.lock {
			unlock, err := lockDir(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(unlock)
		}
	}
	sweepTemporary(t.Context())
	for name, tc := range tests {
		_, err := os.Stat(dirs[name])
		if kept := err == nil; kept != tc.kept {
			t.Errorf("%s: kept = %v, want %v", name, kept, tc.kept)
		}
	}
}
