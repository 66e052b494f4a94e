// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// keeperSuffix makes of our field manager the one that fields to be kept are left to.
const keeperSuffix = "-keeper"

// keep leaves the field of the call that desired no longer has to another field manager, as it is, when it is ours.
// Otherwise the next apply would remove it, and the server fill in its default. It returns the newest copy.
func (a *Applier) keep(ctx context.Context, c *call, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	path := c.opts.Keep
	if len(path) == 0 || has(c.want.Object, path) || !a.ownTree(live).has(path) {
		return live, nil
	}
	value, found, err := unstructured.NestedFieldCopy(live.Object, path...)
	if err != nil || !found {
		return live, nil //nolint:nilerr // There is nothing at that place.
	}
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(live.GroupVersionKind())
	obj.SetNamespace(live.GetNamespace())
	obj.SetName(live.GetName())
	obj.SetResourceVersion(live.GetResourceVersion())
	if err := unstructured.SetNestedField(obj.Object, value, path...); err != nil {
		return nil, fmt.Errorf("keep a field of %s: %w", c, err)
	}
	c.count(false)
	if err := a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner(a.owner+keeperSuffix)); err != nil {
		return nil, fmt.Errorf("keep a field of %s: %w", c, err)
	}
	return obj, nil
}

// has tells whether an object has a field.
func has(object map[string]any, path []string) bool {
	_, found, err := unstructured.NestedFieldNoCopy(object, path...)
	return found && err == nil
}

// has tells whether the tree holds a field.
func (t fieldTree) has(path []string) bool {
	for _, name := range path {
		below, ok := t.child(fieldPrefix + name)
		if !ok {
			return false
		}
		t = below
	}
	return true
}
