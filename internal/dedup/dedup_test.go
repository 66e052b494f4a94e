// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/internal/dedup"
)

// values draws what unstructured objects may hold.
func values(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(v bool) any { return v }),
		rapid.Map(rapid.Int64Range(-1, 1), func(v int64) any { return v }),
		rapid.Map(rapid.Float64Range(-1, 1), func(v float64) any { return v }),
		rapid.Map(rapid.StringN(0, 2, -1), func(v string) any { return v }),
	)
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf,
		rapid.Map(rapid.MapOfN(rapid.StringN(0, 2, -1), values(depth-1), 0, 3), func(v map[string]any) any { return v }),
		rapid.Map(rapid.SliceOfN(values(depth-1), 0, 3), func(v []any) any { return v }),
	)
}

func TestPropertyASharedValueIsEqualToTheGivenOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pool := dedup.New(rapid.IntRange(1, 100).Draw(t, "size"))
		for range 5 {
			value := values(3).Draw(t, "value")
			before := fmt.Sprintf("%#v", value)
			if after := fmt.Sprintf("%#v", pool.Share(value)); after != before {
				t.Fatalf("became %s, was %s", after, before)
			}
		}
	})
}

func parse(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// same tells whether two maps or slices are one.
func same(a, b any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

func TestEqualPartsAreKeptOnce(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		first, second string
		want          bool
	}{
		"equal maps":                       {`{"a":"x","b":[1,null,true]}`, `{"b":[1,null,true],"a":"x"}`, true},
		"equal lists":                      {`["a","b"]`, `["a","b"]`, true},
		"another member":                   {`{"a":"x"}`, `{"a":"y"}`, false},
		"another name":                     {`{"a":"x"}`, `{"b":"x"}`, false},
		"another order":                    {`["a","b"]`, `["b","a"]`, false},
		"a number is no text":              {`{"a":1}`, `{"a":"1"}`, false},
		"null is no text":                  {`{"a":null}`, `{"a":"<nil> <nil>"}`, false},
		"a list of a list is no list":      {`[["a"]]`, `["a"]`, false},
		"names and values do not run over": {`{"ab":"c"}`, `{"a":"bc"}`, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := dedup.New(100)
			if got := same(pool.Share(parse(t, tc.first)), pool.Share(parse(t, tc.second))); got != tc.want {
				t.Errorf("%s and %s are one: %v, want %v", tc.first, tc.second, got, tc.want)
			}
		})
	}
}

func TestPartsOfDifferentValuesAreShared(t *testing.T) {
	t.Parallel()
	pool := dedup.New(100)
	first := pool.Share(parse(t, `{"name":"one","rules":[{"when":"x"}]}`)).(map[string]any)
	second := pool.Share(parse(t, `{"name":"two","rules":[{"when":"x"}]}`)).(map[string]any)
	if !same(first["rules"], second["rules"]) {
		t.Error("equal lists in two values are kept twice")
	}
}

func TestAValueOfAnotherTypeStays(t *testing.T) {
	t.Parallel()
	pool := dedup.New(100)
	want := map[string]any{"odd": 'x', "list": []any{struct{}{}}, "text": "y"}
	for range 2 {
		got := pool.Share(map[string]any{"odd": 'x', "list": []any{struct{}{}}, "text": "y"})
		if diff := cmp.Diff(any(want), got); diff != "" {
			t.Errorf("value (-want +got):\n%s", diff)
		}
	}
}

func TestLongTextsAreNotRemembered(t *testing.T) {
	t.Parallel()
	pool := dedup.New(100)
	for length, want := range map[int]bool{4 << 10: true, 4<<10 + 1: false} {
		text := strings.Repeat("x", length)
		if got := same(pool.Share([]any{text}), pool.Share([]any{text})); got != want {
			t.Errorf("lists of a text of %d bytes are one: %v, want %v", length, got, want)
		}
	}
}

func TestThePoolForgetsWhatIsTooMuch(t *testing.T) {
	t.Parallel()
	pool := dedup.New(2)
	first := pool.Share([]any{"a"})
	pool.Share([]any{strings.Repeat("b", 3)})
	if again := pool.Share([]any{"a"}); same(first, again) {
		t.Error("a pool of two parts remembers four")
	}
}

func TestTheGivenValueIsNotWrittenTo(t *testing.T) {
	t.Parallel()
	pool := dedup.New(100)
	first := pool.Share(parse(t, `{"a":"x","b":[{"c":"y"}]}`))
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			_ = fmt.Sprint(pool.Share(first), first) // The race detector watches.
		})
	}
	group.Wait()
}

func TestPoolsAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	pool := dedup.New(100)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 200 {
				value := pool.Share(map[string]any{"same": []any{"a", "b"}, "other": int64(i)})
				_ = fmt.Sprint(value) // The race detector watches.
			}
		})
	}
	group.Wait()
}
