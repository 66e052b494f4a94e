// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Trim takes out of a live object, in place, what an Applier with that field owner rarely needs: the record of which
// single fields below the protected ones are its own. They are compared as whole trees, and the record takes more
// memory than they do. It is meant for the transform of the cache that the Applier reads from; when the record is
// needed after all, the Applier reads it past the cache. An object that is trimmed already is not written to.
func Trim(object *unstructured.Unstructured, fieldOwner string) {
	fields := protectedFields(object)
	tree := (&Applier{owner: fieldOwner}).ownTree(object)
	for _, field := range fields {
		if below, owns := tree.child(fieldPrefix + field); owns && len(below) > 0 {
			tree[fieldPrefix+field] = map[string]any{}
		}
	}
}

// isTrimmed reports whether our part of the record of the given fields is missing.
func (a *Applier) isTrimmed(live *unstructured.Unstructured, fields []string) bool {
	tree := a.ownTree(live)
	return slices.ContainsFunc(fields, func(field string) bool {
		below, owns := tree.child(fieldPrefix + field)
		return owns && len(below) == 0
	})
}

// whole returns live with the record that the cache may lack; a conflict when there is a newer copy.
func (a *Applier) whole(ctx context.Context, c *call, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if !a.isTrimmed(live, c.protected) {
		return live, nil
	}
	full, err := get(ctx, a.reader, live.GroupVersionKind(), c.key())
	if err != nil {
		return nil, err
	}
	if full.GetResourceVersion() != live.GetResourceVersion() {
		resource := schema.GroupResource{Group: live.GroupVersionKind().Group, Resource: live.GetKind()}
		return nil, fmt.Errorf("replace the protected fields of %s: %w", c,
			apierrors.NewConflict(resource, live.GetName(), fmt.Errorf("it has changed since it was read")))
	}
	return full, nil
}
