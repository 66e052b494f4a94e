// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Queue is the work queue of a controller.
type Queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// Concerned finds what is to be looked at because of an object.
type Concerned func(context.Context, client.Object) ([]types.NamespacedName, error)

// Enqueue enqueues at once what an object concerns, before and after its change.
//
// What it concerns may have to be listed, and a list can fail. The event is not
// lost then: the handler tries again until it succeeds or the controller ends.
// Later events of the watch wait meanwhile, in their order; other watches do not.
func Enqueue(of Concerned) handler.Funcs {
	return EnqueueAfter(of, func(types.NamespacedName) time.Duration { return 0 })
}

// EnqueueAfter is Enqueue with a delay, in which further changes join: a burst of
// subscriptions to one model is one look at it.
func EnqueueAfter(of Concerned, delay func(types.NamespacedName) time.Duration) handler.Funcs {
	add := func(ctx context.Context, q Queue, objects ...client.Object) {
		for key := range find(ctx, of, objects...) {
			q.AddAfter(ctrl.Request{NamespacedName: key}, delay(key))
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q Queue) { add(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q Queue) { add(ctx, q, e.ObjectOld, e.ObjectNew) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q Queue) { add(ctx, q, e.Object) },
	}
}

// Due says when to look at what a change concerns.
type Due map[types.NamespacedName]time.Duration

// EnqueueDue enqueues what follows from a change as a whole. Before is nil for a new
// object, after for one that is gone. Failures are treated as by Enqueue.
func EnqueueDue(of func(ctx context.Context, before, after client.Object) (Due, error)) handler.Funcs {
	add := func(ctx context.Context, q Queue, before, after client.Object) {
		var due Due
		if !untilFound(ctx, func(ctx context.Context) (err error) { due, err = of(ctx, before, after); return err }) {
			return
		}
		for key, delay := range due {
			q.AddAfter(ctrl.Request{NamespacedName: key}, delay)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q Queue) { add(ctx, q, nil, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q Queue) { add(ctx, q, e.ObjectOld, e.ObjectNew) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q Queue) { add(ctx, q, e.Object, nil) },
	}
}

// EnqueueOnce is a source that enqueues, when it starts, what is found without an
// object. A controller gets it together with a watch that comes late.
func EnqueueOnce(of Concerned) source.Source {
	return source.Func(func(ctx context.Context, q Queue) error {
		for key := range find(ctx, of, nil) {
			q.Add(ctrl.Request{NamespacedName: key})
		}
		return ctx.Err()
	})
}

// find asks for each object until it gets an answer; nothing when the context ends.
func find(ctx context.Context, of Concerned, objects ...client.Object) sets.Set[types.NamespacedName] {
	keys := sets.New[types.NamespacedName]()
	for _, object := range objects {
		found := untilFound(ctx, func(ctx context.Context) error {
			names, err := of(ctx, object)
			keys.Insert(names...)
			return err
		})
		if !found {
			return nil // The controller ends, and with it its queue.
		}
	}
	return keys
}

// untilFound tries until it succeeds; false when the context ends first.
func untilFound(ctx context.Context, try func(context.Context) error) bool {
	backoff := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 9, Cap: 30 * time.Second}
	err := backoff.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := try(ctx); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Trying again to find what a change concerns")
			return false, nil // Logged; the next attempt decides.
		}
		return true, nil
	})
	return err == nil
}

// Keys lists the names of the objects of a kind; the list tells the kind, and is
// filled. The objects may come from a cache that is shared: change none.
func Keys(ctx context.Context, reader client.Reader, list client.ObjectList, options ...client.ListOption) ([]types.NamespacedName, error) {
	if err := reader.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, fmt.Errorf("list what a change concerns: %w", err)
	}
	keys := make([]types.NamespacedName, 0, meta.LenList(list))
	err := meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err == nil {
			keys = append(keys, types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the names in a list: %w", err)
	}
	return keys, nil
}
