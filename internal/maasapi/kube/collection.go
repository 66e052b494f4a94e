// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

// read turns an object of the API server into what is needed of it, and names the
// tenant it belongs to. An error means that the object cannot be understood.
type read[T any] func(object any) (*T, string, error)

// collection holds the objects of one kind, as a reflector reports them. It keeps
// only what decisions are made of, and tells a change of that from other ones.
type collection[T any] struct {
	read    read[T]
	changed func()
	skipped func(key types.NamespacedName, err error)

	mu     sync.Mutex
	synced bool
	items  map[types.NamespacedName]entitlement.Tenanted[*T]
	// broken are the objects that cannot be understood.
	broken map[types.NamespacedName]struct{}
}

var _ cache.ReflectorStore = (*collection[int])(nil)

func newCollection[T any](read read[T], changed func(), skipped func(types.NamespacedName, error)) *collection[T] {
	return &collection[T]{
		read: read, changed: changed, skipped: skipped,
		items: map[types.NamespacedName]entitlement.Tenanted[*T]{}, broken: map[types.NamespacedName]struct{}{},
	}
}

// Add takes in an object, which may be known already.
func (c *collection[T]) Add(object any) error {
	key, err := keyOf(object)
	if err != nil {
		return err
	}
	item, tenant, err := c.read(object)
	if c.put(key, entitlement.Tenanted[*T]{Object: item, Tenant: tenant}, err) {
		c.changed()
	}
	return nil
}

// Update is [collection.Add].
func (c *collection[T]) Update(object any) error { return c.Add(object) }

// put tells whether something changed.
func (c *collection[T]) put(key types.NamespacedName, item entitlement.Tenanted[*T], err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, known := c.items[key]
	if err != nil {
		if _, again := c.broken[key]; !again {
			c.broken[key] = struct{}{}
			c.skipped(key, err)
		}
		delete(c.items, key)
		return known
	}
	delete(c.broken, key)
	if known && before.Tenant == item.Tenant && equality.Semantic.DeepEqual(before.Object, item.Object) {
		return false
	}
	c.items[key] = item
	return true
}

// Delete removes an object.
func (c *collection[T]) Delete(object any) error {
	key, err := keyOf(object)
	if err != nil {
		return err
	}
	c.mu.Lock()
	_, known := c.items[key]
	delete(c.items, key)
	delete(c.broken, key)
	c.mu.Unlock()
	if known {
		c.changed()
	}
	return nil
}

// Replace takes in a complete list. The first one makes the collection known.
func (c *collection[T]) Replace(objects []any, _ string) error {
	listed := make(map[types.NamespacedName]struct{}, len(objects))
	changed := false
	for _, object := range objects {
		key, err := keyOf(object)
		if err != nil {
			return err
		}
		listed[key] = struct{}{}
		item, tenant, err := c.read(object)
		changed = c.put(key, entitlement.Tenanted[*T]{Object: item, Tenant: tenant}, err) || changed
	}
	if c.retain(listed) || changed {
		c.changed()
	}
	return nil
}

// retain removes what is not listed and tells whether that changes something; the
// first list does in any case.
func (c *collection[T]) retain(listed map[types.NamespacedName]struct{}) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := !c.synced
	c.synced = true
	for key := range c.items {
		if _, ok := listed[key]; !ok {
			delete(c.items, key)
			changed = true
		}
	}
	for key := range c.broken {
		if _, ok := listed[key]; !ok {
			delete(c.broken, key)
		}
	}
	return changed
}

// Resync does nothing: nothing here depends on being told again.
func (c *collection[T]) Resync() error { return nil }

// known tells whether a complete list was taken in.
func (c *collection[T]) known() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.synced
}

// list returns the objects, and how many there are beside them that cannot be
// understood. The objects must not be modified.
func (c *collection[T]) list() ([]entitlement.Tenanted[*T], int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]entitlement.Tenanted[*T], 0, len(c.items))
	for _, item := range c.items {
		out = append(out, item)
	}
	return out, len(c.broken)
}

func keyOf(object any) (types.NamespacedName, error) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	m, err := meta.Accessor(object)
	if err != nil {
		return types.NamespacedName{}, fmt.Errorf("read the name of an object: %w", err)
	}
	return types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}, nil
}
