// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inCheckout makes a directory that looks like a checkout the working directory.
func inCheckout(t *testing.T) layout {
	t.Helper()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module github.com/opendatahub-io/maas-operator\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	return layout{root: root, dir: filepath.Join(root, upDir)}
}

// execute runs a command and returns what it printed.
func execute(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newRootCommand()
	root.SetOut(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// Not in parallel, like the others: it changes the working directory.
func TestWhereNothingRanNothingIsWritten(t *testing.T) {
	l := inCheckout(t)
	for command, want := range map[string]string{"down": nothingRan + "\n", "clean": nothingRan + "\n", "status": "stopped"} {
		got, err := execute(t, command)
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %v, want %q:\n%s", command, err, want, got)
		}
		if l.exists() {
			t.Fatalf("%s made %s", command, l.dir)
		}
	}
}

func TestCleanSaysThatDataWasRemoved(t *testing.T) {
	l := inCheckout(t)
	if err := l.create(); err != nil {
		t.Fatal(err)
	}
	got, err := execute(t, "clean")
	if want := nothingRan + "\nRemoved all data in .dev.\n"; err != nil || got != want {
		t.Errorf("clean: %v, %q, want %q", err, got, want)
	}
	if _, err := os.Stat(l.logs()); err == nil {
		t.Error("the data is still there")
	}
}

func TestAStackInTheForegroundIsMentioned(t *testing.T) {
	l := inCheckout(t)
	const mention = "`make run` is running; end it with Ctrl-C in its terminal.\n"
	foreground := (&stack{layout: l}).foreground()
	unlock, err := foreground.lock()
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"status", "down"} {
		if got, err := execute(t, command); err != nil || !strings.HasSuffix(got, mention) {
			t.Errorf("%s: %v:\n%s", command, err, got)
		}
		if got, err := execute(t, command, "--dir", t.TempDir()); err != nil || strings.Contains(got, mention) {
			t.Errorf("%s elsewhere: %v:\n%s", command, err, got)
		}
	}
	if got, err := execute(t, "clean"); err == nil || !strings.Contains(err.Error(), "end it with Ctrl-C") || !foreground.exists() {
		t.Errorf("clean: %v:\n%s", err, got)
	}
	unlock()
	if got, err := execute(t, "down"); err != nil || strings.Contains(got, mention) {
		t.Errorf("down, without it: %v:\n%s", err, got)
	}
}
