// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	code := Main(m)
	if _, err := os.Stat(Dir()); code == 0 && !os.IsNotExist(err) {
		panic("logs that were removed are there")
	}
	os.Exit(code)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, program string) string {
	t.Helper()
	path, err := New(program)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLogsAreNumberedAndNamedAfterTheSuite(t *testing.T) {
	t.Parallel()
	want := filepath.Join("bin", "test-logs", "stage-logs", strconv.Itoa(os.Getpid()), "numbered-")
	for n := 1; n <= 11; n++ {
		if got := create(t, "numbered"); !strings.HasSuffix(got, want+strconv.Itoa(n)+".log") || Newest("numbered") != got {
			t.Errorf("the log number %d is %s, the newest %s", n, got, Newest("numbered"))
		}
	}
	if err := os.Remove(filepath.Join(Dir(), "numbered-1.log")); err != nil {
		t.Fatal(err)
	}
	if got := create(t, "numbered"); number(got) != 12 {
		t.Errorf("the number of one that was removed is given again: %s", got)
	}
}

func TestAProgramThatNeverRanHasNoLog(t *testing.T) {
	t.Parallel()
	if got := Newest("absent"); got != "" {
		t.Errorf("Newest() = %q", got)
	}
}

func TestSweepLeavesTheLogsOfRunsThatGoOn(t *testing.T) {
	t.Parallel()
	ended := exec.CommandContext(t.Context(), "true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	over := filepath.Join(suiteDir(), strconv.Itoa(ended.Process.Pid))
	goesOn := filepath.Join(suiteDir(), strconv.Itoa(os.Getppid()))
	for _, dir := range []string{over, goesOn} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.RemoveAll(goesOn) })
	own := create(t, "swept")
	if err := Sweep(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(over); !os.IsNotExist(err) {
		t.Errorf("the logs of a run that has ended are there: %v", err)
	}
	for _, path := range []string{goesOn, own} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("the logs of a run that goes on: %v", err)
		}
	}
}

func TestKeptLogsAreCopies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.log"), "hello\n")
	if err := Keep(dir, "kept"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(Dir(), "kept", "a.log")); string(got) != "hello\n" {
		t.Errorf("the copy says %q, err = %v", got, err)
	}
	if err := Keep(filepath.Join(dir, "absent"), "kept"); err != nil {
		t.Errorf("what nobody wrote is missed: %v", err)
	}
}
