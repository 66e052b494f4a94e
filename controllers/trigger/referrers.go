// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

// Referrers finds the objects of one kind that a change concerns: those that
// refer to a model, or that live in a tenant's namespace.
type Referrers struct {
	// Reader lists from the cache.
	Reader client.Reader
	// List makes an empty list of the kind.
	List func() client.ObjectList
	// Index is the field index of the kind by model.
	Index string
}

// OfModel enqueues the objects that refer to a MaaSModelRef.
func (r Referrers) OfModel() handler.EventHandler {
	return Enqueue(func(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
		return r.OfModelKey(ctx, client.ObjectKeyFromObject(object))
	})
}

// OfNamespace enqueues the objects in a tenant's namespace, for changes of the
// Namespace itself or of the tenant objects in it.
func (r Referrers) OfNamespace() handler.EventHandler {
	return Enqueue(func(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
		namespace := object.GetNamespace()
		if namespace == "" {
			namespace = object.GetName() // A Namespace.
		}
		return Keys(ctx, r.Reader, r.List(), client.InNamespace(namespace))
	})
}

// All enqueues every object: an AITenant's change is rare and may concern any.
func (r Referrers) All() handler.EventHandler {
	return Enqueue(func(ctx context.Context, _ client.Object) ([]types.NamespacedName, error) {
		return Keys(ctx, r.Reader, r.List())
	})
}

// OfModelKey lists the objects that refer to a model.
func (r Referrers) OfModelKey(ctx context.Context, model types.NamespacedName) ([]types.NamespacedName, error) {
	return Keys(ctx, r.Reader, r.List(), client.MatchingFields{r.Index: model.String()})
}
