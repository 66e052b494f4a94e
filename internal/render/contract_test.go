// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"reflect"
	"testing"
)

type (
	named     string
	namedInt  int
	recursive struct{ Children []recursive }
	hidden    struct {
		Shown  string
		hidden string
	}
)

func TestCheckValues(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		value any
		want  []string
	}{
		"the permitted types": {value: struct {
			A string
			B bool
			C int
			D int64
			E []string
			F map[string]string
			G struct{ H []demoBlock }
			I JSON
			J [][]int8
		}{}},
		"a pointer":            {struct{ A *string }{}, []string{".A: pointer *string", "slice of length 0 or 1"}},
		"an interface":         {struct{ A any }{}, []string{".A: interface {} is not permitted"}},
		"an untyped map":       {struct{ A map[string]any }{}, []string{"only permitted map is map[string]string"}},
		"a map by number":      {struct{ A map[int]string }{}, []string{"only permitted map is map[string]string"}},
		"a float":              {struct{ A float64 }{}, []string{".A: float64 is not permitted"}},
		"an unsigned integer":  {struct{ A uint }{}, []string{".A: uint is not permitted"}},
		"a function":           {struct{ A func() }{}, []string{".A: func() is not permitted"}},
		"an array":             {struct{ A [2]string }{}, []string{".A: [2]string is not permitted"}},
		"a named string":       {struct{ A named }{}, []string{".A: named type render.named; use string"}},
		"a named number":       {struct{ A []namedInt }{}, []string{".A[]: named type render.namedInt; use int"}},
		"an unexported field":  {hidden{hidden: ""}, []string{"render.hidden.hidden: unexported field"}},
		"a type inside itself": {recursive{}, []string{"render.recursive.Children[]: render.recursive contains itself"}},
		"a fault deep below": {struct {
			A []struct{ B struct{ C *int } }
		}{}, []string{".A[].B.C: pointer"}},
		"several faults at once": {struct {
			A *int
			B any
		}{}, []string{".A: pointer", ".B: interface"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := CheckValues(reflect.TypeOf(tc.value))
			if len(tc.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatal("CheckValues accepted the type")
			}
			wantError(t, err.Error(), tc.want...)
		})
	}
}

func TestCheckValuesRefusesNil(t *testing.T) {
	t.Parallel()
	if err := CheckValues(nil); err == nil {
		t.Error("CheckValues accepted nil")
	}
}
