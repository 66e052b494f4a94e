// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// queue is where policies wait for their turn.
type queue = workqueue.TypedRateLimitingInterface[request]

func (r *reconciler) setup(ctx context.Context, mgr ctrl.Manager) error {
	r.client = mgr.GetClient()
	if err := addIndexes(ctx, mgr); err != nil {
		return err
	}
	b := builder.TypedControllerManagedBy[request](mgr).Named("kuadrant-standin")
	for _, kind := range kinds() {
		b = b.Watches(newUnstructured(kind), r.onChange(r.policyEvent(kind)))
	}
	return b.
		Watches(&gwapiv1.HTTPRoute{}, r.onChange(r.routeEvent)).
		Watches(&gwapiv1.Gateway{}, r.onChange(r.gatewayEvent)).
		Complete(r)
}

func addIndexes(ctx context.Context, mgr ctrl.Manager) error {
	byTarget := func(o client.Object) []string {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			return nil
		}
		return []string{targetOf(u).String()}
	}
	for _, kind := range kinds() {
		if err := mgr.GetFieldIndexer().IndexField(ctx, newUnstructured(kind), indexTarget, byTarget); err != nil {
			return err
		}
	}
	return mgr.GetFieldIndexer().IndexField(ctx, &gwapiv1.HTTPRoute{}, indexGateway, func(o client.Object) []string {
		route, ok := o.(*gwapiv1.HTTPRoute)
		if !ok {
			return nil
		}
		var out []string
		for _, gateway := range acceptedBy(route) {
			out = append(out, gateway.String())
		}
		return out
	})
}

// change says what happened to an object; old is nil unless it was an update.
type change struct {
	old, now client.Object
	deleted  bool
}

func (r *reconciler) onChange(f func(context.Context, change, queue)) handler.TypedEventHandler[client.Object, request] {
	return handler.TypedFuncs[client.Object, request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[client.Object], q queue) {
			f(ctx, change{now: e.Object}, q)
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
			f(ctx, change{old: e.ObjectOld, now: e.ObjectNew}, q)
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[client.Object], q queue) {
			f(ctx, change{now: e.Object, deleted: true}, q)
		},
	}
}

// policyEvent starts the lag of the policy itself and wakes those whose effect
// it may change.
func (r *reconciler) policyEvent(kind Kind) func(context.Context, change, queue) {
	return func(ctx context.Context, c change, q queue) {
		self := request{kind: kind, name: client.ObjectKeyFromObject(c.now)}
		if !c.deleted {
			r.clock.observe(self, c.now.GetGeneration())
		}
		q.Add(self)
		if c.old != nil && c.old.GetGeneration() == c.now.GetGeneration() &&
			c.old.GetDeletionTimestamp().IsZero() == c.now.GetDeletionTimestamp().IsZero() {
			return
		}
		for _, o := range []client.Object{c.old, c.now} {
			if u, ok := o.(*unstructured.Unstructured); ok && u != nil {
				r.wakeAround(ctx, targetOf(u), self, q)
			}
		}
	}
}

func (r *reconciler) routeEvent(ctx context.Context, c change, q queue) {
	for _, lost := range r.losses.end() {
		q.Add(lost)
	}
	now := acceptedBy(c.now.(*gwapiv1.HTTPRoute))
	var before []types.NamespacedName
	if old, ok := c.old.(*gwapiv1.HTTPRoute); ok {
		before = acceptedBy(old)
		if slices.Equal(before, now) && old.Generation == c.now.GetGeneration() {
			return
		}
	}
	r.wakeOn(ctx, target{kindHTTPRoute, client.ObjectKeyFromObject(c.now)}, request{}, q)
	for _, gateway := range append(before, now...) {
		r.wakeOn(ctx, target{kindGateway, gateway}, request{}, q)
	}
}

func (r *reconciler) gatewayEvent(ctx context.Context, c change, q queue) {
	if old, ok := c.old.(*gwapiv1.Gateway); ok && programmed(old) == programmed(c.now.(*gwapiv1.Gateway)) {
		return
	}
	r.wakeAround(ctx, target{kindGateway, client.ObjectKeyFromObject(c.now)}, request{}, q)
}

// wakeAround wakes the policies on a target and on its neighbours: the gateways
// of a route, the routes of a gateway.
func (r *reconciler) wakeAround(ctx context.Context, on target, except request, q queue) {
	r.wakeOn(ctx, on, except, q)
	switch on.kind {
	case kindHTTPRoute:
		route := &gwapiv1.HTTPRoute{}
		if err := r.client.Get(ctx, on.name, route); err != nil {
			return // a vanished route has no neighbours
		}
		for _, gateway := range acceptedBy(route) {
			r.wakeOn(ctx, target{kindGateway, gateway}, except, q)
		}
	case kindGateway:
		var routes gwapiv1.HTTPRouteList
		if err := r.client.List(ctx, &routes, client.MatchingFields{indexGateway: on.name.String()}, client.UnsafeDisableDeepCopy); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Listing the routes of a gateway", "gateway", on.name.String())
			return
		}
		for i := range routes.Items {
			r.wakeOn(ctx, target{kindHTTPRoute, client.ObjectKeyFromObject(&routes.Items[i])}, except, q)
		}
	}
}

// wakeOn queues the policies on one target after their lag.
func (r *reconciler) wakeOn(ctx context.Context, on target, except request, q queue) {
	for _, kind := range kinds() {
		list, err := r.policiesOn(ctx, kind, on)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Listing the policies on a target", "target", on.String())
			return
		}
		for i := range list.Items {
			name := types.NamespacedName{Namespace: list.Items[i].GetNamespace(), Name: list.Items[i].GetName()}
			if req := (request{kind: kind, name: name}); req != except {
				q.AddAfter(req, r.clock.lag(kind, name, list.Items[i].GetGeneration()))
			}
		}
	}
}
