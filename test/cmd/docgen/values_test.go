// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/test/valuetypes"
)

func TestReachableTypes(t *testing.T) {
	t.Parallel()
	declared := valueTypes{
		"Root":  {Name: "Root", Fields: []valuetypes.Field{{Name: "A", Type: "[]List"}, {Name: "B", Type: "Part"}, {Name: "C", Type: "string"}}},
		"List":  {Name: "List", Fields: []valuetypes.Field{{Name: "P", Type: "Part"}, {Name: "D", Type: "[]Deep"}}},
		"Part":  {Name: "Part", Fields: []valuetypes.Field{{Name: "M", Type: "map[string]string"}}},
		"Deep":  {Name: "Deep", Underlying: "string"},
		"Other": {Name: "Other", Fields: []valuetypes.Field{{Name: "P", Type: "Part"}}},
	}
	tests := map[string]struct {
		roots []string
		want  []string
		err   string
	}{
		"types follow those that hold them": {roots: []string{"Root", "Other"}, want: []string{"Other", "Root", "Part", "List", "Deep"}},
		"a type of no template":             {roots: []string{"Root"}, err: "Other belongs to no template"},
		"a type that is not declared":       {roots: []string{"Root", "Other", "Elsewhere"}, err: "Elsewhere is not declared"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := declared.reachable(tc.roots)
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("reachable() error = %v, want one that says %q", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("types (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTypesAreSaidInWords(t *testing.T) {
	t.Parallel()
	declared := valueTypes{"TokenRate": {Name: "TokenRate"}}
	for goType, want := range map[string]string{
		"string":            "string",
		"bool":              "boolean",
		"int64":             "integer",
		"[]string":          "list of string",
		"map[string]string": "map of string to string",
		"TokenRate":         "[TokenRate](#tokenrate)",
		"[]TokenRate":       "list of [TokenRate](#tokenrate)",
		"[][]int8":          "list of list of integer",
	} {
		if diff := cmp.Diff(want, declared.word(goType)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", goType, diff)
		}
	}
}

func TestLinksOfTheValuesPageLeadToHeadings(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join(repoDocs, "template-values.md"))
	if err != nil {
		t.Fatal(err)
	}
	headings := map[string]bool{}
	for line := range strings.SplitSeq(string(content), "\n") {
		if title, ok := strings.CutPrefix(line, "### "); ok {
			headings[anchor(title)] = true
		}
	}
	links := strings.Split(string(content), "](#")[1:]
	if len(links) == 0 {
		t.Fatal("the page has no links")
	}
	for _, rest := range links {
		if target, _, _ := strings.Cut(rest, ")"); !headings[target] {
			t.Errorf("no heading for #%s", target)
		}
	}
}
