// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// serverFields are the members of metadata that only the server writes.
var serverFields = [...]string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generateName", "generation",
	"managedFields", "resourceVersion", "selfLink", "uid",
}

// emptyAsAbsent are the members of metadata for which an empty collection means nothing.
var emptyAsAbsent = [...]string{"annotations", "finalizers", "labels", "ownerReferences"}

// prepare returns a private copy of desired that holds only what an apply request may carry: no status, no metadata of
// the server, no null members, and only the value types that unstructured objects may hold.
func prepare(desired *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if desired == nil {
		return nil, fmt.Errorf("%w: it is nil", ErrInvalidDesired)
	}
	if gvk := desired.GroupVersionKind(); gvk.Kind == "" || gvk.Version == "" {
		return nil, fmt.Errorf("%w: apiVersion or kind is empty", ErrInvalidDesired)
	}
	if desired.GetName() == "" {
		return nil, fmt.Errorf("%w: %s without a name", ErrInvalidDesired, desired.GetKind())
	}
	value, err := normalize("", desired.Object)
	if err != nil {
		return nil, fmt.Errorf("%w: %s %s: %w", ErrInvalidDesired, desired.GetKind(), desired.GetName(), err)
	}
	object := value.(map[string]any)
	delete(object, "status")
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%w: %s %s: metadata is not an object", ErrInvalidDesired, desired.GetKind(), desired.GetName())
	}
	for _, field := range serverFields {
		delete(metadata, field)
	}
	for _, field := range emptyAsAbsent {
		if v := reflect.ValueOf(metadata[field]); v.IsValid() && (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Len() == 0 {
			delete(metadata, field)
		}
	}
	return &unstructured.Unstructured{Object: object}, nil
}

// normalize deep-copies a JSON value, drops null members of objects, and turns Go numbers into int64 and float64.
func normalize(path string, value any) (any, error) {
	switch v := value.(type) {
	case nil, string, bool, int64, float64:
		return v, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, member := range v {
			if member == nil {
				continue
			}
			normal, err := normalize(joinField(path, key), member)
			if err != nil {
				return nil, err
			}
			out[key] = normal
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			normal, err := normalize(joinIndex(path, i), item)
			if err != nil {
				return nil, err
			}
			out[i] = normal
		}
		return out, nil
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		return v.Float64()
	default:
		return normalizeGo(path, reflect.ValueOf(value))
	}
}

// normalizeGo converts the Go types that reach hand-built objects: other numbers, and typed maps and slices.
func normalizeGo(path string, v reflect.Value) (any, error) {
	switch {
	case v.CanInt():
		return v.Int(), nil
	case v.CanUint() && v.Uint() <= math.MaxInt64:
		return int64(v.Uint()), nil //nolint:gosec // bounded by the condition above
	case v.CanFloat():
		return v.Float(), nil
	case v.Kind() == reflect.String:
		return v.String(), nil
	case v.Kind() == reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = v.Index(i).Interface()
		}
		return normalize(path, out)
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		out := make(map[string]any, v.Len())
		for iter := v.MapRange(); iter.Next(); {
			out[iter.Key().String()] = iter.Value().Interface()
		}
		return normalize(path, out)
	default:
		return nil, fmt.Errorf("%s: a value of type %s cannot be applied", path, v.Type())
	}
}
