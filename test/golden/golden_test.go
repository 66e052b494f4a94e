// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		want    string // content of the file, "-" if there is none
		got     string
		rewrite bool
		err     string
		after   string
	}{
		"equal text":                  {want: "a\n", got: "a\n", after: "a\n"},
		"different text":              {want: "a\n", got: "b\n", err: "(-want +got)", after: "a\n"},
		"a missing file":              {want: "-", got: "a\n", err: "run the test with -update", after: "-"},
		"an update of different text": {want: "a\n", got: "b\n", rewrite: true, after: "b\n"},
		"an update of a missing file": {want: "-", got: "b\n", rewrite: true, after: "b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "sub", "file")
			if tc.want != "-" {
				if err := write(file, []byte(tc.want)); err != nil {
					t.Fatal(err)
				}
			}
			err := compare(file, []byte(tc.got), tc.rewrite)
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v, want one that says %q", err, tc.err)
			}
			after := "-"
			if content, err := os.ReadFile(file); err == nil {
				after = string(content)
			}
			if diff := cmp.Diff(tc.after, after); diff != "" {
				t.Errorf("file afterwards (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMarshalSortsKeys(t *testing.T) {
	t.Parallel()
	got, err := Marshal(map[string]any{"b": 1, "a": map[string]any{"d": "x", "c": true}}, []string{"y"})
	if err != nil {
		t.Fatal(err)
	}
	want := "a:\n  c: true\n  d: x\nb: 1\n---\n- \"y\"\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestCasesAreDirectories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, file := range []string{"b/in.yaml", "a/in.yaml", "README.md"} {
		if err := write(filepath.Join(dir, file), nil); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"a", "b"}, Cases(t, dir)); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
}

func TestLoadTakesNoFieldItDoesNotKnow(t *testing.T) {
	t.Parallel()
	type input struct {
		Name string `json:"name"`
	}
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		content string
		fails   bool
	}{
		"a known field":    {content: "name: red\n"},
		"an unknown field": {content: "name: red\nnames: []\n", fails: true},
		"no YAML":          {content: "{", fails: true},
	} {
		file := filepath.Join(dir, name)
		if err := write(file, []byte(tc.content)); err != nil {
			t.Fatal(err)
		}
		got, err := load[input](file)
		if (err != nil) != tc.fails || !tc.fails && got.Name != "red" {
			t.Errorf("%s: load() = %v, %v, want an error: %t", name, got, err, tc.fails)
		}
	}
	if _, err := load[input](filepath.Join(dir, "missing")); err == nil {
		t.Error("a file that does not exist is loaded")
	}
}
