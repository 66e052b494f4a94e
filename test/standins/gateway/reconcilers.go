// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/test/standins/status"
)

// indexParent finds routes by the gateways they name.
const indexParent = "standin.parent"

type reconcilers struct {
	client client.Client
}

func setup(ctx context.Context, mgr ctrl.Manager) error {
	r := &reconcilers{client: mgr.GetClient()}
	err := mgr.GetFieldIndexer().IndexField(ctx, &gwapiv1.HTTPRoute{}, indexParent, func(o client.Object) []string {
		route, ok := o.(*gwapiv1.HTTPRoute)
		if !ok {
			return nil
		}
		var out []string
		for _, ref := range gatewayRefs(route) {
			out = append(out, ref.gateway.String())
		}
		return out
	})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(mgr).Named("gatewayclass-standin").
		For(&gwapiv1.GatewayClass{}).Complete(reconcile.Func(r.gatewayClass))
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(mgr).Named("gateway-standin").
		For(&gwapiv1.Gateway{}).
		Watches(&gwapiv1.HTTPRoute{}, handler.EnqueueRequestsFromMapFunc(parentsOf)).
		Watches(&gwapiv1.GatewayClass{}, handler.EnqueueRequestsFromMapFunc(r.gatewaysOf)).
		Complete(reconcile.Func(r.gateway))
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("httproute-standin").
		For(&gwapiv1.HTTPRoute{}).
		Watches(&gwapiv1.Gateway{}, handler.EnqueueRequestsFromMapFunc(r.routesOf), builder.WithPredicates(status.GatewayMoved())).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.routesIn)).
		Complete(reconcile.Func(r.route))
}

func (r *reconcilers) gatewayClass(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	class := &gwapiv1.GatewayClass{}
	if err := r.client.Get(ctx, req.NamespacedName, class); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if class.Spec.ControllerName != ControllerName {
		return reconcile.Result{}, nil
	}
	before := class.DeepCopy()
	setClassStatus(class)
	return reconcile.Result{}, r.write(ctx, before, class, equality.Semantic.DeepEqual(before.Status, class.Status))
}

func (r *reconcilers) gateway(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	gateway := &gwapiv1.Gateway{}
	if err := r.client.Get(ctx, req.NamespacedName, gateway); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if ours, err := r.ours(ctx, gateway); err != nil || !ours {
		return reconcile.Result{}, err
	}
	attached, err := r.attachedRoutes(ctx, gateway)
	if err != nil {
		return reconcile.Result{}, err
	}
	before := gateway.DeepCopy()
	setGatewayStatus(gateway, attached)
	return reconcile.Result{}, r.write(ctx, before, gateway, equality.Semantic.DeepEqual(before.Status, gateway.Status))
}

func (r *reconcilers) route(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	route := &gwapiv1.HTTPRoute{}
	if err := r.client.Get(ctx, req.NamespacedName, route); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if route.Annotations[AnnotationStall] == "true" {
		return reconcile.Result{}, nil
	}
	namespace := &corev1.Namespace{}
	if err := r.client.Get(ctx, types.NamespacedName{Name: req.Namespace}, namespace); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var parents []parent
	for _, ref := range gatewayRefs(route) {
		gateway := &gwapiv1.Gateway{}
		err := r.client.Get(ctx, ref.gateway, gateway)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return reconcile.Result{}, err
		}
		ours, err := r.ours(ctx, gateway)
		if err != nil {
			return reconcile.Result{}, err
		}
		if ours {
			parents = append(parents, parent{ref: ref.ref, gateway: gateway})
		}
	}
	before := route.DeepCopy()
	setRouteStatus(route, namespace, parents)
	return reconcile.Result{}, r.write(ctx, before, route, equality.Semantic.DeepEqual(before.Status, route.Status))
}

func (r *reconcilers) write(ctx context.Context, before, after client.Object, equal bool) error {
	if equal {
		return nil
	}
	err := r.client.Status().Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch status of %T %s: %w", after, client.ObjectKeyFromObject(after), err)
	}
	return nil
}

func (r *reconcilers) ours(ctx context.Context, gateway *gwapiv1.Gateway) (bool, error) {
	class := &gwapiv1.GatewayClass{}
	if err := r.client.Get(ctx, types.NamespacedName{Name: string(gateway.Spec.GatewayClassName)}, class); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return class.Spec.ControllerName == ControllerName, nil
}

// attachedRoutes counts the accepted routes per listener.
func (r *reconcilers) attachedRoutes(ctx context.Context, gateway *gwapiv1.Gateway) (map[gwapiv1.SectionName]int32, error) {
	name := client.ObjectKeyFromObject(gateway)
	var routes gwapiv1.HTTPRouteList
	if err := r.client.List(ctx, &routes, client.MatchingFields{indexParent: name.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	count := map[gwapiv1.SectionName]int32{}
	for i := range routes.Items {
		sections, all := attachments(&routes.Items[i], name)
		for _, l := range gateway.Spec.Listeners {
			if all || slices.Contains(sections, l.Name) {
				count[l.Name]++
			}
		}
	}
	return count, nil
}

func parentsOf(_ context.Context, o client.Object) []reconcile.Request {
	route, ok := o.(*gwapiv1.HTTPRoute)
	if !ok {
		return nil
	}
	var out []reconcile.Request
	for _, ref := range gatewayRefs(route) {
		out = append(out, reconcile.Request{NamespacedName: ref.gateway})
	}
	return out
}

func (r *reconcilers) gatewaysOf(ctx context.Context, class client.Object) []reconcile.Request {
	var list gwapiv1.GatewayList
	if err := r.client.List(ctx, &list); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing gateways")
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if string(list.Items[i].Spec.GatewayClassName) == class.GetName() {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return out
}

func (r *reconcilers) routesOf(ctx context.Context, gateway client.Object) []reconcile.Request {
	return r.routes(ctx, client.MatchingFields{indexParent: client.ObjectKeyFromObject(gateway).String()})
}

func (r *reconcilers) routesIn(ctx context.Context, namespace client.Object) []reconcile.Request {
	return r.routes(ctx, client.InNamespace(namespace.GetName()))
}

func (r *reconcilers) routes(ctx context.Context, opts ...client.ListOption) []reconcile.Request {
	var list gwapiv1.HTTPRouteList
	if err := r.client.List(ctx, &list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing routes")
		return nil
	}
	out := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return out
}
