// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
)

type (
	queue   = workqueue.TypedRateLimitingInterface[ctrl.Request]
	mapFunc func(context.Context, client.Object) ([]types.NamespacedName, error)
)

// batchDelay is how long changes of what refers to a model are collected.
const batchDelay = 200 * time.Millisecond

// everything is no model's name. It stands for all of them: when a mapping fails,
// the change that could not be mapped must not be lost.
var everything = ctrl.Request{}

func enqueueEverything(_ context.Context, q queue) error {
	q.Add(everything)
	return nil
}

// resync enqueues every model; a failure is tried again by the queue.
func (r *Reconciler) resync(ctx context.Context) error {
	keys, err := r.allModels(ctx, nil)
	if err != nil {
		return err
	}
	for _, key := range keys {
		model := &v1alpha1.MaaSModelRef{}
		model.Namespace, model.Name = key.Namespace, key.Name
		select {
		case r.resyncs <- event.GenericEvent{Object: model}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// mapped enqueues the models that an object concerns, before and after its change.
func (r *Reconciler) mapped(models mapFunc) handler.EventHandler { return r.mappedAfter(0, models) }

// mappedAfter does so after a delay, in which further changes join: a burst of
// subscriptions to one model is one look at it.
func (r *Reconciler) mappedAfter(delay time.Duration, models mapFunc) handler.EventHandler {
	add := func(ctx context.Context, q queue, objects ...client.Object) {
		keys := sets.New[types.NamespacedName]()
		for _, obj := range objects {
			found, err := models(ctx, obj)
			if err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "Looking at every model, because a change could not be mapped to its models")
				q.AddRateLimited(everything)
				return
			}
			keys.Insert(found...)
		}
		for key := range keys {
			q.AddAfter(ctrl.Request{NamespacedName: key}, delay)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { add(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { add(ctx, q, e.ObjectOld, e.ObjectNew) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { add(ctx, q, e.Object) },
	}
}

// modelsOf are the models a subscription or auth policy refers to.
func modelsOf(_ context.Context, obj client.Object) ([]types.NamespacedName, error) {
	switch o := obj.(type) {
	case *v1alpha1.MaaSSubscription:
		return index.SubscribedModels(o), nil
	case *v1alpha1.MaaSAuthPolicy:
		return index.GrantedModels(o), nil
	default:
		return nil, nil
	}
}

// modelsOfService are the models that publish an LLMInferenceService.
func (r *Reconciler) modelsOfService(ctx context.Context, obj client.Object) ([]types.NamespacedName, error) {
	keys, err := r.modelsByBackend(ctx, v1alpha1.BackendLLMInferenceService, obj.GetNamespace(), obj.GetName())
	if err != nil {
		return nil, err
	}
	old, err := r.modelsByBackend(ctx, legacyServiceKind, obj.GetNamespace(), obj.GetName())
	return append(keys, old...), err
}

// modelsOfExternalModel are the models that publish an ExternalModel of either group.
func (r *Reconciler) modelsOfExternalModel(ctx context.Context, obj client.Object) ([]types.NamespacedName, error) {
	return r.modelsByBackend(ctx, v1alpha1.BackendExternalModel, obj.GetNamespace(), obj.GetName())
}

func (r *Reconciler) modelsByBackend(ctx context.Context, kind v1alpha1.BackendKind, namespace, name string) ([]types.NamespacedName, error) {
	return r.list(ctx, client.InNamespace(namespace), client.MatchingFields{index.ModelByBackend: index.BackendKey(kind, name)})
}

// modelsOfRoute are the models served by a route: those of the service it was made
// for, those whose status names it, and those of its namespace that have none yet,
// because a service may choose its route by name.
func (r *Reconciler) modelsOfRoute(ctx context.Context, obj client.Object) ([]types.NamespacedName, error) {
	var keys []types.NamespacedName
	if service := kserve.ServiceOfRoute(obj.GetLabels()); service != "" {
		found, err := r.modelsByBackend(ctx, v1alpha1.BackendLLMInferenceService, obj.GetNamespace(), service)
		if err != nil {
			return nil, err
		}
		keys = found
	}
	for _, name := range []string{obj.GetName(), ""} {
		found, err := r.list(ctx, client.MatchingFields{index.ModelByRoute: index.Key(obj.GetNamespace(), name)})
		if err != nil {
			return nil, err
		}
		keys = append(keys, found...)
	}
	return keys, nil
}

// modelsOfGateway are the models whose route is attached to a gateway.
func (r *Reconciler) modelsOfGateway(ctx context.Context, obj client.Object) ([]types.NamespacedName, error) {
	var list v1alpha1.MaaSModelRefList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list models of Gateway %s: %w", client.ObjectKeyFromObject(obj), err)
	}
	var keys []types.NamespacedName
	for i := range list.Items {
		status := &list.Items[i].Status
		if status.HTTPRouteGatewayNamespace == obj.GetNamespace() && status.HTTPRouteGatewayName == obj.GetName() {
			keys = append(keys, client.ObjectKeyFromObject(&list.Items[i]))
		}
	}
	return keys, nil
}

// allModels is for changes that are rare and may concern any model.
func (r *Reconciler) allModels(ctx context.Context, _ client.Object) ([]types.NamespacedName, error) {
	return r.list(ctx)
}

func (r *Reconciler) list(ctx context.Context, opts ...client.ListOption) ([]types.NamespacedName, error) {
	var list v1alpha1.MaaSModelRefList
	if err := r.Client.List(ctx, &list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, fmt.Errorf("list models: %w", err)
	}
	keys := make([]types.NamespacedName, 0, len(list.Items))
	for i := range list.Items {
		keys = append(keys, client.ObjectKeyFromObject(&list.Items[i]))
	}
	return keys, nil
}

// The sibling functions enqueue the other models of a namespace that have an alias
// which a model gained or lost.

func (r *Reconciler) siblingCreated(ctx context.Context, e event.CreateEvent, q queue) {
	r.enqueueSiblings(ctx, q, e.Object, aliasOf(e.Object))
}

func (r *Reconciler) siblingDeleted(ctx context.Context, e event.DeleteEvent, q queue) {
	r.enqueueSiblings(ctx, q, e.Object, aliasOf(e.Object))
}

func (r *Reconciler) siblingUpdated(ctx context.Context, e event.UpdateEvent, q queue) {
	before, after := aliasOf(e.ObjectOld), aliasOf(e.ObjectNew)
	leaving := e.ObjectOld.GetDeletionTimestamp() == nil && e.ObjectNew.GetDeletionTimestamp() != nil
	if before == after && !leaving {
		return
	}
	r.enqueueSiblings(ctx, q, e.ObjectNew, before, after)
}

func (r *Reconciler) enqueueSiblings(ctx context.Context, q queue, obj client.Object, aliases ...string) {
	self := client.ObjectKeyFromObject(obj)
	for alias := range sets.New(aliases...).Delete("") {
		keys, err := r.list(ctx, client.InNamespace(self.Namespace), client.MatchingFields{index.ModelByAlias: alias})
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Looking at every model, because those with the same alias could not be listed")
			q.AddRateLimited(everything)
			return
		}
		for _, key := range keys {
			if key != self {
				q.Add(ctrl.Request{NamespacedName: key})
			}
		}
	}
}

func aliasOf(obj client.Object) string {
	if model, ok := obj.(*v1alpha1.MaaSModelRef); ok {
		return model.Status.ResolvedModelAlias
	}
	return ""
}
