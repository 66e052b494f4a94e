// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package valuetypes_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/test/valuetypes"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	source := `package p

// B is a struct.
type B struct {
	// X and Y are coordinates.
	X, Y int64
	// List is one.
	List []A
	hidden string
}

// A is text.
type A string

type hidden struct{ Z string }

// Number is no type.
const Number = 1
`
	got, err := valuetypes.Load(fstest.MapFS{
		"p.go":      {Data: []byte(source)},
		"p_test.go": {Data: []byte("package p\n\ntype OfTest int\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []valuetypes.Type{
		{Name: "A", Doc: "A is text.\n", Underlying: "string"},
		{Name: "B", Doc: "B is a struct.\n", Fields: []valuetypes.Field{
			{Name: "X", Type: "int64", Doc: "X and Y are coordinates.\n"},
			{Name: "Y", Type: "int64", Doc: "X and Y are coordinates.\n"},
			{Name: "List", Type: "[]A", Doc: "List is one.\n"},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ source, want string }{
		"a package without types": {"package p\n", "no exported type"},
		"what is no Go":           {"package", "parse value types"},
		"an embedded field":       {"package p\n\ntype A struct{ B }\n", "A embeds B"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := valuetypes.Load(fstest.MapFS{"p.go": {Data: []byte(tc.source)}})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Load() error = %v, want one that says %q", err, tc.want)
			}
		})
	}
}
