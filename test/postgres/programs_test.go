// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

func TestProgramsThatNobodyCanReachRunFromACopy(t *testing.T) {
	t.Parallel()
	if err := Build(t.Context(), t.Output()); err != nil {
		t.Fatal(err)
	}
	from, to := filepath.Join(testenv.RepoRoot(), "bin", "postgres"), filepath.Join(t.TempDir(), "programs")
	if err := copyTree(from, to); err != nil {
		t.Fatal(err)
	}
	libraries, err := librariesOf(to)
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"postgres", "initdb", "pgbouncer"} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(to, "bin", program), "--version")
		cmd.Env = []string{"LD_LIBRARY_PATH=" + libraries}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", program, err, out)
		}
	}
}

func TestWhatOthersMayEnterIsFoundOut(t *testing.T) {
	t.Parallel()
	open, closed := t.TempDir(), filepath.Join(t.TempDir(), "closed")
	if err := os.MkdirAll(filepath.Join(closed, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{"/": true, "/usr/bin": true, open: false, filepath.Join(closed, "inner"): false, "/none": false} {
		if got := reachable(dir); got != want {
			t.Errorf("%s: %t, want %t", dir, got, want)
		}
	}
}
