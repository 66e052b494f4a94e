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

	"github.com/opendatahub-io/maas-operator/test/internal/process"
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
	p, err := process.Start(t.Context(), program("etcd", args, t.TempDir(), false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(0); err != nil {
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

func TestSweepTemporary(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	self, err := process.Self("self")
	if err != nil {
		t.Fatal(err)
	}
	gone := &process.Process{Name: "gone", PID: self.PID, Started: self.Started - 1}
	tests := map[string]struct {
		state *state
		lock  bool
		kept  bool
	}{
		"all processes gone":      {state: &state{Processes: []*process.Process{gone}}},
		"stopped but not removed": {state: &state{}},
		"a process left":          {state: &state{Processes: []*process.Process{gone, self}}, kept: true},
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
