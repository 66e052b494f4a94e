// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// value draws a JSON value of at most the given depth.
func value(depth int) *rapid.Generator[any] {
	scalars := rapid.OneOf(
		rapid.Map(rapid.StringMatching(`[a-z]{0,3}`), func(s string) any { return s }),
		rapid.Map(rapid.Int64Range(-3, 3), func(i int64) any { return i }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
	)
	if depth == 0 {
		return scalars
	}
	return rapid.OneOf(
		scalars,
		rapid.Map(members(depth-1), func(m map[string]any) any { return m }),
		rapid.Map(rapid.SliceOfN(value(depth-1), 0, 3), func(l []any) any { return l }),
	)
}

func members(depth int) *rapid.Generator[map[string]any] {
	return rapid.MapOfN(rapid.StringMatching(`[a-d]`), value(depth), 0, 4)
}

// recordOf records every member of an object as owned, the way the server does for objects without a keyed list.
func recordOf(members map[string]any) map[string]any {
	tree := map[string]any{}
	for name, member := range members {
		if m, ok := member.(map[string]any); ok {
			tree[fieldPrefix+name] = recordOf(m)
		} else {
			tree[fieldPrefix+name] = map[string]any{}
		}
	}
	return tree
}

func desiredObject(apiVersion, kind string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"name": "n", "namespace": "ns", "labels": map[string]any{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}},
		"spec":     spec,
	}}
}

// stored is the desired object as it looks after our apply.
func stored(want *unstructured.Unstructured) *unstructured.Unstructured {
	live := want.DeepCopy()
	metadata := live.Object["metadata"].(map[string]any)
	metadata["uid"] = "u"
	metadata["managedFields"] = []any{map[string]any{
		"manager": v1alpha1.FieldOwner, "operation": "Apply",
		"fieldsV1": map[string]any{
			"f:metadata": map[string]any{"f:labels": map[string]any{fieldPrefix + v1alpha1.LabelManagedBy: map[string]any{}}},
			"f:spec":     recordOf(want.Object["spec"].(map[string]any)),
		},
	}}
	live.Object["status"] = map[string]any{"x": "y"}
	return live
}

var propertyKinds = [][2]string{{"kuadrant.io/v1", "AuthPolicy"}, {"apps/v1", "Deployment"}}

func TestPropertyEqualMeansNoDifference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(propertyKinds).Draw(t, "kind")
		want := desiredObject(kind[0], kind[1], members(3).Draw(t, "spec"))
		if found := newTestApplier().compare(want, stored(want)); !found.empty() {
			t.Fatalf("differences between equal objects: %+v", found)
		}
	})
}

// position is a place in a tree where a value can be put.
type position struct {
	put  func(any)
	name string
}

// positions lists all members and items below a value, and one new member or item per collection.
func positions(path string, v any, set func(any)) []position {
	var out []position
	switch c := v.(type) {
	case map[string]any:
		for _, name := range sortedNames(c) {
			put := func(x any) { c[name] = x }
			out = append(out, position{put, path + "." + name})
			out = append(out, positions(path+"."+name, c[name], put)...)
		}
		out = append(out, position{func(x any) { c["injected"] = x }, path + ".injected"})
	case []any:
		for i := range c {
			put := func(x any) { c[i] = x }
			out = append(out, position{put, fmt.Sprintf("%s[%d]", path, i)})
			out = append(out, positions(fmt.Sprintf("%s[%d]", path, i), c[i], put)...)
		}
		out = append(out, position{func(x any) { set(append(c, x)) }, path + "[+]"})
	}
	return out
}

func TestPropertyForeignChangeOfAProtectedTreeIsDetected(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := desiredObject("kuadrant.io/v1", "AuthPolicy", members(3).Draw(t, "spec"))
		live := stored(want)
		places := positions("spec", live.Object["spec"], func(any) {})
		place := places[rapid.IntRange(0, len(places)-1).Draw(t, "place")]
		place.put(runtime.DeepCopyJSONValue(value(2).Draw(t, "value")))
		changed := !equalValues(want.Object["spec"], live.Object["spec"])
		if found := newTestApplier().compare(want, live); (len(found.protected) > 0) != changed {
			t.Fatalf("change at %s: changed = %t, found = %+v", place.name, changed, found.protected)
		}
	})
}

func TestPropertyForeignFieldsElsewhereAreIgnored(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := desiredObject("apps/v1", "Deployment", map[string]any{"a": members(2).Draw(t, "spec"), "b": "x"})
		live := stored(want)
		live.Object["spec"].(map[string]any)["foreign"] = value(2).Draw(t, "value")
		labels := live.Object["metadata"].(map[string]any)["labels"].(map[string]any)
		labels["foreign"] = "x"
		if found := newTestApplier().compare(want, live); !found.empty() {
			t.Fatalf("foreign fields count as differences: %+v", found)
		}
	})
}

func TestPropertyFieldsOfOursThatAreNoLongerDesiredAreFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(propertyKinds).Draw(t, "kind")
		before := members(2).Filter(func(m map[string]any) bool { return len(m) > 0 }).Draw(t, "spec")
		live := stored(desiredObject(kind[0], kind[1], before))
		after := runtime.DeepCopyJSON(before)
		dropped := rapid.SampledFrom(sortedNames(after)).Draw(t, "dropped")
		delete(after, dropped)
		want := desiredObject(kind[0], kind[1], after)
		found := newTestApplier().compare(want, live)
		all := slices.Concat(found.protected, found.owned)
		if len(all) != 1 || all[0].Path != "spec."+dropped || all[0].Reason != Extra {
			t.Fatalf("dropped spec.%s, found %+v", dropped, all)
		}
	})
}

func sortedNames(members map[string]any) []string {
	return slices.Sorted(maps.Keys(members))
}
