// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Images are built where this test does not run; a directory that the
// Dockerfile forgets would be noticed only there.
func TestDockerfileCopiesExactlyWhatTheProgramsAreBuiltFrom(t *testing.T) {
	t.Parallel()
	want := map[string]bool{"cmd": true}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/maas-api", "./cmd/maas-controller")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list what the programs are built from: %v", err)
	}
	for pkg := range strings.FieldsSeq(string(out)) {
		if own, ok := strings.CutPrefix(pkg, "github.com/opendatahub-io/maas-operator/"); ok {
			top, _, _ := strings.Cut(own, "/")
			want[top] = true
		}
	}
	got := matches(t, "Dockerfile", `(?m)^COPY ([a-z]+)/ `)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), got); diff != "" {
		t.Errorf("directories the Dockerfile copies (-want +got):\n%s", diff)
	}
}

func TestDockerignoreAdmitsWhatTheDockerfileCopies(t *testing.T) {
	t.Parallel()
	var want []string
	for _, line := range matches(t, "Dockerfile", `(?m)^COPY ([^-].*) \S+$`) {
		for name := range strings.FieldsSeq(line) {
			want = append(want, strings.TrimSuffix(name, "/"))
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	if diff := cmp.Diff(want, matches(t, ".dockerignore", `(?m)^!(\S+)$`)); diff != "" {
		t.Errorf("files that reach the builder (-want +got):\n%s", diff)
	}
}

// matches returns the first group of every match in a file, sorted.
func matches(t *testing.T, file, pattern string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1)
	values := make([]string, len(found))
	for i, m := range found {
		values[i] = m[1]
	}
	slices.Sort(values)
	return values
}
