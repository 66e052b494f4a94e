// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Request asks for one object.
type Request struct {
	// ID is the template.
	ID ID
	// Namespace and Name are the identity the object must have. Namespace is
	// empty for a cluster-scoped object.
	Namespace, Name string
	// Values has exactly the type of the table entry's Values.
	Values any
}

// Render renders one object. The error carries no rendered value.
func (e *Engine) Render(r Request) (*unstructured.Unstructured, error) {
	entry, ok := e.entries[r.ID]
	if !ok {
		return nil, &Error{ID: r.ID, Message: "is not in the component table"}
	}
	if got, want := reflect.TypeOf(r.Values), reflect.TypeOf(entry.Values); got != want {
		return nil, &Error{ID: r.ID, Message: fmt.Sprintf("takes values of type %v, not %v", want, got)}
	}
	if r.Name == "" {
		return nil, &Error{ID: r.ID, Message: "request has no name"}
	}
	object := &unstructured.Unstructured{}
	err := e.set.execute(string(r.ID), r.Values, func(text []byte) (err error) {
		object.Object, err = decode(text)
		return err
	})
	if err != nil {
		return nil, e.explain(r, err)
	}
	if err := errors.Join(checkIdentity(object, entry, r), checkSchema(e.scheme, object)); err != nil {
		return nil, &Error{ID: r.ID, File: r.ID.File(), Message: err.Error()}
	}
	return object, nil
}

// RenderAll renders every request. The objects come sorted by stage, template,
// namespace and name. On any fault there are no objects, and the error joins
// all faults in the same order.
func (e *Engine) RenderAll(rs []Request) ([]*unstructured.Unstructured, error) {
	sorted := slices.Clone(rs)
	slices.SortStableFunc(sorted, e.compareRequests)
	objects := make([]*unstructured.Unstructured, 0, len(sorted))
	seen := make(map[string]ID, len(sorted))
	var errs []error
	for _, r := range sorted {
		object, err := e.Render(r)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		key := object.GroupVersionKind().GroupKind().String() + " " + r.Namespace + "/" + r.Name
		if other, taken := seen[key]; taken {
			errs = append(errs, &Error{ID: r.ID, Message: fmt.Sprintf("renders %s, which template %s renders too", key, other)})
		}
		seen[key] = r.ID
		objects = append(objects, object)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return objects, nil
}

func (e *Engine) compareRequests(a, b Request) int {
	return cmp.Or(
		compareEntries(Entry{ID: a.ID, Stage: e.entries[a.ID].Stage}, Entry{ID: b.ID, Stage: e.entries[b.ID].Stage}),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
	)
}

func compareEntries(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.ID, b.ID))
}
