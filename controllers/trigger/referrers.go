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

// Referrers finds the objects of one kind that refer to a model.
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

func (r Referrers) referring(ctx context.Context, model types.NamespacedName) []ctrl.Request {
	list := r.List()
	if err := r.Reader.List(ctx, list, client.MatchingFields{r.Index: model.String()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing the objects that refer to a model", "MaaSModelRef", model)
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
