// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhole(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		want, got any
		found     []Difference
	}{
		"equal trees": {
			want: map[string]any{"a": []any{"x", int64(1)}, "b": map[string]any{"c": true}},
			got:  map[string]any{"b": map[string]any{"c": true}, "a": []any{"x", int64(1)}},
		},
		"an integer equals its float form": {want: map[string]any{"a": int64(3)}, got: map[string]any{"a": 3.0}},
		"a number differs from its text": {
			want: map[string]any{"a": int64(3)}, got: map[string]any{"a": "3"},
			found: []Difference{{"s.a", Changed, int64(3), "3"}},
		},
		"an integer differs from a fraction": {
			want: map[string]any{"a": int64(3)}, got: map[string]any{"a": 3.5},
			found: []Difference{{"s.a", Changed, int64(3), 3.5}},
		},
		"added, removed and changed members are told apart, in order": {
			want: map[string]any{"b": "1", "c": "1"},
			got:  map[string]any{"a": "1", "c": "2"},
			found: []Difference{
				{"s.a", Extra, nil, "1"}, {"s.b", Missing, "1", nil}, {"s.c", Changed, "1", "2"},
			},
		},
		"an empty object is not an absent one": {
			want: map[string]any{}, got: map[string]any{"a": map[string]any{}},
			found: []Difference{{"s.a", Extra, nil, map[string]any{}}},
		},
		"lists of equal length differ by item": {
			want:  map[string]any{"l": []any{"a", map[string]any{"b": "c"}}},
			got:   map[string]any{"l": []any{"a", map[string]any{"b": "d", "e": "f"}}},
			found: []Difference{{"s.l[1].b", Changed, "c", "d"}, {"s.l[1].e", Extra, nil, "f"}},
		},
		"lists of other length differ as a whole": {
			want:  map[string]any{"l": []any{"a"}},
			got:   map[string]any{"l": []any{"a", "b"}},
			found: []Difference{{"s.l", Changed, []any{"a"}, []any{"a", "b"}}},
		},
		"order of list items matters": {
			want:  []any{"a", "b"},
			got:   []any{"b", "a"},
			found: []Difference{{"s[0]", Changed, "a", "b"}, {"s[1]", Changed, "b", "a"}},
		},
		"another type is a change": {
			want: map[string]any{"a": map[string]any{}}, got: map[string]any{"a": []any{}},
			found: []Difference{{"s.a", Changed, map[string]any{}, []any{}}},
		},
		"names that look like paths are quoted": {
			want: map[string]any{}, got: map[string]any{"a.b/c": "x"},
			found: []Difference{{`s["a.b/c"]`, Extra, nil, "x"}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var d differences
			d.whole("s", tc.want, tc.got)
			if diff := cmp.Diff(tc.found, d.found); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}
