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

// The platform starts the images by the paths of their programs.
func TestDockerfileMakesAnImageOfEachProgram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	programs, err := filepath.Glob(filepath.Join(root, "cmd", "*"))
	if err != nil || len(programs) == 0 {
		t.Fatalf("list programs: %v, %v", programs, err)
	}
	entrypoints := map[string]string{"maas-api": "/maas-api", "maas-controller": "/manager"}
	_, images, _ := strings.Cut(string(text), "\nFROM ${BASE_IMAGE}")
	stages := strings.Split(images, "\nFROM ${BASE_IMAGE}")
	if len(stages) != len(programs) {
		t.Errorf("%d images of %d programs", len(stages), len(programs))
	}
	for _, stage := range stages {
		target, _, _ := strings.Cut(strings.TrimPrefix(stage, " AS "), "\n")
		for _, want := range []string{
			"COPY --from=builder /workspace/bin/" + target + " " + entrypoints[target] + "\n",
			"ENTRYPOINT [\"" + entrypoints[target] + "\"]\n",
			"USER 65532:65532\n",
			"COPY LICENSE /licenses/LICENSE\n",
		} {
			if !strings.Contains(stage, want) {
				t.Errorf("image %q has no line %q", target, want)
			}
		}
	}
	if last := stages[len(stages)-1]; !strings.HasPrefix(last, " AS maas-controller\n") {
		t.Error("the image built without --target is not that of maas-controller")
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
