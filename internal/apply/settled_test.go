// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := newMemory(3)
	want := liveObject(t, `{"kind":"Thing"}`)
	for i := range 10 {
		live := liveObject(t, fmt.Sprintf(`{"metadata":{"uid":"u%d","resourceVersion":"5"}}`, i))
		if err := m.remember(want, live, comparison{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := m.entries.Len(); got != 3 {
		t.Errorf("remembered %d objects, want 3", got)
	}
	if _, ok := m.get(types.UID("u9")); !ok {
		t.Error("the newest object was forgotten")
	}
	if _, ok := m.get(types.UID("u0")); ok {
		t.Error("the oldest object is still remembered")
	}
}

func TestMemoryKnowsAnOldCopy(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		live string
		want bool
	}{
		"older":          {`{"metadata":{"uid":"u","resourceVersion":"99"}}`, true},
		"the same":       {`{"metadata":{"uid":"u","resourceVersion":"100"}}`, false},
		"newer":          {`{"metadata":{"uid":"u","resourceVersion":"1000"}}`, false},
		"another object": {`{"metadata":{"uid":"v","resourceVersion":"1"}}`, false},
		"not a number":   {`{"metadata":{"uid":"u","resourceVersion":"x"}}`, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory(3)
			known := liveObject(t, `{"metadata":{"uid":"u","resourceVersion":"100"}}`)
			if err := m.remember(known, known, comparison{}); err != nil {
				t.Fatal(err)
			}
			if got := m.behind(liveObject(t, tc.live)); got != tc.want {
				t.Errorf("behind = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestDigestTellsStatesApart(t *testing.T) {
	t.Parallel()
	extra := []Difference{{Path: "spec.a", Reason: Extra, Got: "x"}}
	other := []Difference{{Path: "spec.a", Reason: Extra, Got: "y"}}
	states := map[string]struct {
		want  string
		found comparison
	}{
		"no difference":               {`{"spec":{"b":"1"}}`, comparison{}},
		"another desired object":      {`{"spec":{"b":"2"}}`, comparison{}},
		"a protected difference":      {`{"spec":{"b":"1"}}`, comparison{protected: extra}},
		"another value":               {`{"spec":{"b":"1"}}`, comparison{protected: other}},
		"the same difference, unkept": {`{"spec":{"b":"1"}}`, comparison{owned: extra}},
	}
	seen := map[digest]string{}
	for name, state := range states {
		d, err := digestOf(liveObject(t, state.want), state.found)
		if err != nil {
			t.Fatal(err)
		}
		if earlier, dup := seen[d]; dup {
			t.Errorf("%q and %q have the same digest", earlier, name)
		}
		seen[d] = name
		again, err := digestOf(liveObject(t, state.want), state.found)
		if err != nil {
			t.Fatal(err)
		}
		if again != d {
			t.Errorf("%q: the digest is not stable", name)
		}
	}
}
