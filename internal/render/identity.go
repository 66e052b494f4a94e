// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// serverFields are the metadata fields a template must not set.
var serverFields = [...]string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generateName", "generation",
	"managedFields", "resourceVersion", "selfLink", "uid",
}

// checkIdentity makes sure that the object is the one that was asked for, so
// that no value can redirect it to another name, namespace or kind.
func checkIdentity(object *unstructured.Unstructured, entry Entry, want Request) error {
	if object.GroupVersionKind() != entry.GVK || object.GetAPIVersion() != entry.GVK.GroupVersion().String() {
		return &decodeError{path: "kind", message: "is not the kind of the table entry"}
	}
	metadata, ok := object.Object["metadata"].(map[string]any)
	if !ok {
		return &decodeError{path: "metadata", message: "is missing"}
	}
	for _, check := range []struct{ field, want string }{{"name", want.Name}, {"namespace", want.Namespace}} {
		got, isSet := metadata[check.field]
		if check.want == "" && !isSet {
			continue // a cluster-scoped object
		}
		if text, isText := got.(string); !isText || text != check.want {
			return &decodeError{path: "metadata." + check.field, message: "is not the " + check.field + " that was requested; the caller and the template must take it from the same place"}
		}
	}
	for _, field := range serverFields {
		if _, isSet := metadata[field]; isSet {
			return &decodeError{path: "metadata." + field, message: "belongs to the API server; remove it"}
		}
	}
	if _, isSet := object.Object["status"]; isSet {
		return &decodeError{path: "status", message: "belongs to the object's controller; remove it"}
	}
	return checkStringMaps(metadata)
}

// checkStringMaps refuses labels and annotations that are not all strings,
// which unstructured accessors would silently report as empty.
func checkStringMaps(metadata map[string]any) error {
	for _, field := range []string{"labels", "annotations"} {
		value, isSet := metadata[field]
		if !isSet {
			continue
		}
		items, ok := value.(map[string]any)
		if !ok {
			return &decodeError{path: "metadata." + field, message: "is not a map"}
		}
		for _, item := range items {
			if _, ok := item.(string); !ok {
				return &decodeError{path: "metadata." + field, message: "has a value that is not a string; quote it"}
			}
		}
	}
	return nil
}

// checkSchema refuses fields that the Go type of the object does not have. A
// kind that is not in the scheme passes.
func checkSchema(scheme *runtime.Scheme, object *unstructured.Unstructured) error {
	gvk := object.GroupVersionKind()
	if scheme == nil || !scheme.Recognizes(gvk) {
		return nil
	}
	typed, err := scheme.New(gvk)
	if err != nil {
		return fmt.Errorf("create %s: %w", gvk.Kind, err)
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true)
	if err == nil {
		return nil
	}
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		return &decodeError{message: fmt.Sprintf("does not fit %s: %v", reflect.TypeOf(typed).Elem(), strict)}
	}
	// Other messages of the converter repeat the value.
	return &decodeError{message: fmt.Sprintf("does not fit %s: a field has the wrong type", reflect.TypeOf(typed).Elem())}
}
