// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
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
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []ctrl.Request {
		return r.referring(ctx, client.ObjectKeyFromObject(object))
	})
}

// OfPolicy enqueues the objects that refer to the model of a generated policy.
func (r Referrers) OfPolicy() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []ctrl.Request {
		if key, ours := ModelOfPolicy(object); ours {
			return r.referring(ctx, key)
		}
		return nil
	})
}

// OfNamespace enqueues the objects in a tenant's namespace, for changes of the
// Namespace itself or of the tenant objects in it.
func (r Referrers) OfNamespace() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []ctrl.Request {
		namespace := object.GetNamespace()
		if namespace == "" {
			namespace = object.GetName() // A Namespace.
		}
		return r.list(ctx, client.InNamespace(namespace))
	})
}

// All enqueues every object: an AITenant's change is rare and may concern any.
func (r Referrers) All() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []ctrl.Request {
		return r.list(ctx)
	})
}

func (r Referrers) referring(ctx context.Context, model types.NamespacedName) []ctrl.Request {
	return r.list(ctx, client.MatchingFields{r.Index: model.String()})
}

func (r Referrers) list(ctx context.Context, options ...client.ListOption) []ctrl.Request {
	list := r.List()
	if err := r.Reader.List(ctx, list, options...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing the objects that a change concerns")
		return nil
	}
	var out []ctrl.Request
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		if object, ok := item.(client.Object); ok {
			out = append(out, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)})
		}
		return nil
	})
	return out
}
