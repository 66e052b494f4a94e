// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package golden reads the inputs of a test from files in the repository, compares
// what the test made of them with others, and rewrites those when the test runs with
// -update. It knows nothing of what is compared.
package golden

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite golden files with what the tests produce")

const (
	dirMode  = 0o755
	fileMode = 0o644
)

// Text compares text with a file.
func Text(tb testing.TB, file string, got []byte) {
	tb.Helper()
	if err := compare(file, got, *update); err != nil {
		tb.Error(err)
	}
}

// YAML compares objects with a file that holds each as one YAML document, keys
// sorted.
func YAML(tb testing.TB, file string, objects ...any) {
	tb.Helper()
	content, err := Marshal(objects...)
	if err != nil {
		tb.Fatal(err)
	}
	Text(tb, file, content)
}

// Marshal writes objects as YAML documents, keys sorted.
func Marshal(objects ...any) ([]byte, error) {
	var b bytes.Buffer
	for i, object := range objects {
		content, err := yaml.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("marshal object %d: %w", i, err)
		}
		if i > 0 {
			b.WriteString("---\n")
		}
		b.Write(content)
	}
	return b.Bytes(), nil
}

// Documents are the items of a list as [YAML] takes them.
func Documents[T any](list []T) []any {
	documents := make([]any, 0, len(list))
	for _, item := range list {
		documents = append(documents, item)
	}
	return documents
}

// Load reads a file of YAML. A field that T does not have is a mistake.
func Load[T any](tb testing.TB, file string) T {
	tb.Helper()
	in, err := load[T](file)
	if err != nil {
		tb.Fatal(err)
	}
	return in
}

// Cases returns the sub-directories of a directory by name: one per case, each
// with its inputs and its golden files. There must be at least one.
func Cases(tb testing.TB, dir string) []string {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatalf("list cases: %v", err)
	}
	var cases []string
	for _, entry := range entries {
		if entry.IsDir() {
			cases = append(cases, entry.Name())
		}
	}
	if len(cases) == 0 {
		tb.Fatalf("list cases: %s has no sub-directory", dir)
	}
	return cases
}

// Updating tells whether the tests run with -update.
func Updating() bool { return *update }

func load[T any](file string) (T, error) {
	var in T
	raw, err := os.ReadFile(file)
	if err != nil {
		return in, fmt.Errorf("read a case: %w", err)
	}
	if err := yaml.UnmarshalStrict(raw, &in); err != nil {
		return in, fmt.Errorf("decode %s: %w", file, err)
	}
	return in, nil
}

func compare(file string, got []byte, rewrite bool) error {
	want, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read golden file: %w", err)
	}
	missing := err != nil
	switch {
	case !missing && bytes.Equal(want, got):
		return nil
	case rewrite:
		return write(file, got)
	case missing:
		return fmt.Errorf("golden file %s does not exist; run the test with -update and review the file", file)
	}
	return fmt.Errorf("%s differs; if that is right, run the test with -update and review the change (-want +got):\n%s", file, cmp.Diff(string(want), string(got)))
}

func write(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), dirMode); err != nil {
		return fmt.Errorf("update golden file: %w", err)
	}
	if err := os.WriteFile(file, content, fileMode); err != nil {
		return fmt.Errorf("update golden file: %w", err)
	}
	return nil
}
