// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestPrepare(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		desired map[string]any
		want    map[string]any
	}{
		"status and the server's metadata are dropped": {
			desired: map[string]any{
				"apiVersion": "v1", "kind": "Thing",
				"metadata": map[string]any{
					"name": "a", "uid": "1", "resourceVersion": "7", "generation": int64(2), "managedFields": []any{},
					"creationTimestamp": nil,
				},
				"status": map[string]any{"phase": "Ready"},
			},
			want: map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "a"}},
		},
		"null members are dropped at any depth and null list items stay": {
			desired: map[string]any{
				"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "a"},
				"spec": map[string]any{"a": nil, "b": map[string]any{"c": nil}, "d": []any{nil, map[string]any{"e": nil}}},
			},
			want: map[string]any{
				"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "a"},
				"spec": map[string]any{"b": map[string]any{}, "d": []any{nil, map[string]any{}}},
			},
		},
		"empty metadata collections mean nothing": {
			desired: map[string]any{
				"apiVersion": "v1", "kind": "Thing",
				"metadata": map[string]any{
					"name": "a", "labels": map[string]any{}, "annotations": map[string]string{},
					"ownerReferences": []any{}, "finalizers": nil,
				},
			},
			want: map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "a"}},
		},
		"Go numbers, typed maps and typed slices become JSON types": {
			desired: map[string]any{
				"apiVersion": "v1", "kind": "Thing",
				"metadata": map[string]any{"name": "a", "labels": map[string]string{"x": "y"}},
				"spec":     map[string]any{"i": 1, "u": uint8(2), "f": float32(0.5), "s": []string{"p"}, "n": json.Number("3")},
			},
			want: map[string]any{
				"apiVersion": "v1", "kind": "Thing",
				"metadata": map[string]any{"name": "a", "labels": map[string]any{"x": "y"}},
				"spec":     map[string]any{"i": int64(1), "u": int64(2), "f": 0.5, "s": []any{"p"}, "n": int64(3)},
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := prepare(&unstructured.Unstructured{Object: tc.desired})
			if err != nil {
				t.Fatalf("prepare: %v", err)
			}
			if diff := cmp.Diff(tc.want, got.Object); diff != "" {
				t.Errorf("prepared object (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	named := map[string]any{"name": "a"}
	tests := map[string]struct {
		desired     *unstructured.Unstructured
		wantMessage string
	}{
		"nil":            {nil, "nil"},
		"no kind":        {&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "metadata": named}}, "kind"},
		"no apiVersion":  {&unstructured.Unstructured{Object: map[string]any{"kind": "Thing", "metadata": named}}, "apiVersion"},
		"no name":        {&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Thing"}}, "name"},
		"a foreign type": {&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": named, "spec": map[string]any{"c": make(chan int)}}}, "spec.c"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := prepare(tc.desired)
			if !errors.Is(err, ErrInvalidDesired) {
				t.Fatalf("error = %v, want ErrInvalidDesired", err)
			}
			if !strings.Contains(err.Error(), tc.wantMessage) {
				t.Errorf("error %q does not name %q", err, tc.wantMessage)
			}
		})
	}
}

func TestPrepareLeavesTheArgumentAlone(t *testing.T) {
	t.Parallel()
	desired := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"list": []any{map[string]any{"k": "v"}}},
	}}
	before := desired.DeepCopy()
	got, err := prepare(desired)
	if err != nil {
		t.Fatalf("prepare: %v", err)
	}
	got.Object["spec"].(map[string]any)["list"].([]any)[0].(map[string]any)["k"] = "changed"
	if diff := cmp.Diff(before.Object, desired.Object); diff != "" {
		t.Errorf("argument changed (-before +after):\n%s", diff)
	}
}
