// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package version_test

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/version"
)

func TestStringNamesVersionCommitDateAndGo(t *testing.T) {
	t.Parallel()
	info := version.Info{Version: "1.2.3", Commit: "abc1234", Date: "2026-01-02T03:04:05Z", GoVersion: "go1.26.8"}
	want := "1.2.3 (commit abc1234, 2026-01-02T03:04:05Z, go1.26.8)"
	if diff := cmp.Diff(want, info.String()); diff != "" {
		t.Errorf("String() (-want +got):\n%s", diff)
	}
}

func TestEveryVersionButThatOfPlainBuildsIsARelease(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"0.0.0-dev": false, "0.1.0": true, "1.0.0-rc.1": true, "": true} {
		if got := (version.Info{Version: name}).Release(); got != want {
			t.Errorf("Release() of %q = %v, want %v", name, got, want)
		}
	}
	if version.Get().Release() {
		t.Errorf("a plain build has version %q, which passes for a release", version.Get().Version)
	}
}

// The flag names a variable by its path as text: renaming the package or the
// variable would compile and silently leave the default in release binaries.
func TestLinkerFlagsReachTheVariables(t *testing.T) {
	t.Parallel()
	const pkg = "github.com/opendatahub-io/maas-operator/internal/version"
	binary := filepath.Join(t.TempDir(), "show")
	flags := "-X " + pkg + ".version=9.8.7 -X " + pkg + ".commit=feedbee -X " + pkg + ".date=2026-01-02T03:04:05Z"
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", flags, "-o", binary, "./testdata/show")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program that prints its version: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), binary).Output()
	if err != nil {
		t.Fatalf("run the program that prints its version: %v", err)
	}
	want := "9.8.7 (commit feedbee, 2026-01-02T03:04:05Z, " + runtime.Version() + ")"
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Errorf("printed version (-want +got):\n%s", diff)
	}
}
