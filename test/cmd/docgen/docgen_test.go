// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const (
	repoCRDs   = "../../../config/crd/bases"
	repoAPI    = "../../../api/v1alpha1"
	repoValues = "../../../templates/values"
	repoDocs   = "../../../docs/reference"
)

func TestReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	pages, err := generate(sources{crds: repoCRDs, api: repoAPI, values: repoValues})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join(repoDocs, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is out of date, run make docs (-want +got):\n%s", name, diff)
		}
	}
}

func TestEveryFieldOfTheAPIIsExplained(t *testing.T) {
	t.Parallel()
	crds, err := loadCRDs(repoCRDs)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range crds {
		root := version(c).Schema.OpenAPIV3Schema
		for _, part := range []string{"spec", "status"} {
			s := root.Properties[part]
			for _, row := range fieldRows(&s, part, false) {
				if meaning := row[len(row)-1]; meaning == "" {
					t.Errorf("%s %s has no doc comment", heading(c), row[0])
				}
			}
		}
	}
}

func TestEveryNameOfTheAPIIsExplained(t *testing.T) {
	t.Parallel()
	groups, err := loadConstants(repoAPI)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if g.title == "" {
			t.Errorf("the block of %s has no doc comment to be its heading", g.constants[0].name)
		}
		for _, c := range g.constants {
			if c.doc == "" && !strings.HasPrefix(c.name, "Kind") {
				t.Errorf("%s has no doc comment", c.name)
			}
		}
	}
}

func TestFieldRows(t *testing.T) {
	t.Parallel()
	field := func(s schema, path string, required bool) []string {
		rows := fieldRows(&s, path, required)
		return rows[0]
	}
	tests := map[string]struct {
		schema   schema
		required bool
		want     []string
	}{
		"an enum with a default": {
			schema: schema{
				Type: "string", Description: "What\nit is.",
				Enum:    []apiextensionsv1.JSON{{Raw: []byte(`"A"`)}, {Raw: []byte(`"B"`)}},
				Default: &apiextensionsv1.JSON{Raw: []byte(`"A"`)},
			},
			want: []string{"`spec.x`", "string", "", "`\"A\"`", "one of `A`, `B`", "What it is."},
		},
		"a required bounded string with a pattern": {
			schema:   schema{Type: "string", MinLength: new(int64(1)), MaxLength: new(int64(9)), Pattern: "^a|b$"},
			required: true,
			want:     []string{"`spec.x`", "string", "yes", "", "1 to 9 characters; matches `^a\\|b$`", ""},
		},
		"a list of bounded strings": {
			schema: schema{
				Type: "array", MaxItems: new(int64(3)),
				Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &schema{Type: "string", MinLength: new(int64(2))}},
			},
			want: []string{"`spec.x`", "list of string", "", "", "at most 3 items; each: at least 2 characters", ""},
		},
		"a number with a rule": {
			schema: schema{
				Type: "integer", Format: "int32", Minimum: new(1.0), Maximum: new(5.0),
				XValidations: apiextensionsv1.ValidationRules{{Rule: "true", Message: "must be <odd>"}},
			},
			want: []string{"`spec.x`", "integer (int32)", "", "", "1 to 5; must be &lt;odd>", ""},
		},
		"a map": {
			schema: schema{
				Type: "object", MaxProperties: new(int64(32)),
				AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &schema{Type: "string"}},
			},
			want: []string{"`spec.x`", "map of string to string", "", "", "at most 32 entries", ""},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, field(tc.schema, "spec.x", tc.required)); diff != "" {
				t.Errorf("row (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNestedFieldsFollowTheirParent(t *testing.T) {
	t.Parallel()
	s := schema{Properties: map[string]schema{
		"b": {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &schema{
			Type: "object", Required: []string{"c"}, Properties: map[string]schema{"c": {Type: "string"}},
		}}},
		"a": {Type: "string"},
	}}
	var got []string
	for _, row := range fieldRows(&s, "spec", false) {
		got = append(got, row[0]+row[2])
	}
	if diff := cmp.Diff([]string{"`spec.a`", "`spec.b`", "`spec.b[].c`yes"}, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestConstantsAreReadWithTheirDocs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source := `package x

// Kinds of fruit.
const (
	// FruitApple: round, not like FruitPear.
	FruitApple Fruit = "apple"
	// FruitPear is not round.
	FruitPear Fruit = "pear"
	unexported = "x"
	Number = 3
)

// Alone is no block.
const Alone = "alone"
`
	if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := loadConstants(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []group{{"Kinds of fruit", "Fruit", []constant{
		{"FruitApple", "apple", "Round, not like `pear`."},
		{"FruitPear", "pear", "`pear` is not round."},
	}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(group{}, constant{})); diff != "" {
		t.Errorf("constants (-want +got):\n%s", diff)
	}
}

func TestMissingInputsAreErrors(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	for missing, from := range map[string]sources{
		"CRDs":        {crds: empty, api: repoAPI, values: repoValues},
		"constants":   {crds: repoCRDs, api: empty, values: repoValues},
		"value types": {crds: repoCRDs, api: repoAPI, values: empty},
	} {
		if _, err := generate(from); err == nil {
			t.Errorf("no error without %s", missing)
		}
	}
}

func TestLinksOfTheOverviewLeadToHeadings(t *testing.T) {
	t.Parallel()
	crds, err := loadCRDs(repoCRDs)
	if err != nil {
		t.Fatal(err)
	}
	var anchors []string
	for line := range strings.SplitSeq(string(kindsPage(crds)), "\n") {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			anchors = append(anchors, anchor(title))
		}
	}
	for _, c := range crds {
		if a := anchor(heading(c)); !slices.Contains(anchors, a) {
			t.Errorf("no heading for #%s", a)
		}
	}
}
