// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kserve

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/test/standins/status"
)

type reconciler struct {
	client       client.Client
	gateway      types.NamespacedName
	modelRouting bool
}

func (r *reconciler) setup(mgr ctrl.Manager) error {
	r.client = mgr.GetClient()
	return ctrl.NewControllerManagedBy(mgr).Named("kserve-standin").
		For(newService()).
		Watches(&gwapiv1.HTTPRoute{}, handler.EnqueueRequestsFromMapFunc(r.servicesOf)).
		Watches(&gwapiv1.Gateway{}, handler.EnqueueRequestsFromMapFunc(r.allServices), builder.WithPredicates(status.GatewayMoved())).
		Complete(r)
}

// Reconcile creates a missing route and brings the status up to date.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	service := newService()
	if err := r.client.Get(ctx, req.NamespacedName, service); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !service.GetDeletionTimestamp().IsZero() || service.GetAnnotations()[AnnotationStall] == "true" {
		return reconcile.Result{}, nil
	}
	routes, err := r.ensureRoutes(ctx, service)
	if err != nil {
		return reconcile.Result{}, err
	}
	addresses, err := r.addresses(ctx, service, routes)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.writeStatus(ctx, service, routes, addresses)
}

// ensureRoutes returns the routes of a service, creating one when the service
// asks for a managed route and none carries its labels.
func (r *reconciler) ensureRoutes(ctx context.Context, service *unstructured.Unstructured) ([]gwapiv1.HTTPRoute, error) {
	if _, wanted, _ := unstructured.NestedMap(service.Object, "spec", "router", "route"); !wanted {
		return nil, nil
	}
	var list gwapiv1.HTTPRouteList
	if err := r.client.List(ctx, &list, client.InNamespace(service.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list routes of %s: %w", service.GetName(), err)
	}
	refs := referencedRoutes(service)
	var out []gwapiv1.HTTPRoute
	for _, route := range list.Items {
		if refs[route.Name] || hasRouterLabels(&route, service.GetName()) {
			out = append(out, route)
		}
	}
	if len(out) > 0 || len(refs) > 0 {
		return out, nil
	}
	route, err := r.newRoute(service)
	if err != nil {
		return nil, err
	}
	if err := r.client.Create(ctx, route); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("create route of %s/%s: %w", service.GetNamespace(), service.GetName(), err)
	}
	return []gwapiv1.HTTPRoute{*route}, nil
}

func (r *reconciler) writeStatus(ctx context.Context, service *unstructured.Unstructured, routes []gwapiv1.HTTPRoute, addresses []address) error {
	before := service.DeepCopy()
	conditions, err := status.Conditions(service)
	if err != nil {
		return err
	}
	for _, c := range judge(service, routes) {
		meta.SetStatusCondition(&conditions, c)
	}
	if err := setStatus(service, conditions, addresses); err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(before.Object["status"], service.Object["status"]) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, service, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch status of LLMInferenceService %s/%s: %w", service.GetNamespace(), service.GetName(), err)
	}
	return nil
}

// judge derives the conditions of a service from its routes.
func judge(service *unstructured.Unstructured, routes []gwapiv1.HTTPRoute) []metav1.Condition {
	workload := status.Condition("WorkloadsReady", true, "", "")
	if message, failing := service.GetAnnotations()[AnnotationNotReady]; failing {
		workload = status.Condition("WorkloadsReady", false, "WorkloadNotReady", message)
	}
	router := status.Condition("RouterReady", true, "", "")
	_, wantsRoute, _ := unstructured.NestedMap(service.Object, "spec", "router", "route")
	if wantsRoute && len(routes) == 0 {
		router = status.Condition("RouterReady", false, "HTTPRoutesNotReady", "The referenced HTTPRoutes do not exist")
	}
	for i := range routes {
		if !accepted(&routes[i]) {
			router = status.Condition("RouterReady", false, "HTTPRoutesNotReady", fmt.Sprintf("HTTPRoute %s is not accepted by a gateway", routes[i].Name))
		}
	}
	ready := status.Condition("Ready", true, "", "")
	for _, c := range []metav1.Condition{workload, router} {
		if c.Status == metav1.ConditionFalse {
			ready = status.Condition("Ready", false, c.Reason, c.Message)
		}
	}
	return []metav1.Condition{workload, router, ready}
}

func accepted(route *gwapiv1.HTTPRoute) bool {
	for _, p := range route.Status.Parents {
		if meta.IsStatusConditionTrue(p.Conditions, string(gwapiv1.RouteConditionAccepted)) {
			return true
		}
	}
	return false
}

// servicesOf are the services that a route is of, by its labels or their own
// references.
func (r *reconciler) servicesOf(ctx context.Context, route client.Object) []reconcile.Request {
	return r.services(ctx, func(service *unstructured.Unstructured) bool {
		return referencedRoutes(service)[route.GetName()] || hasRouterLabels(route, service.GetName())
	}, client.InNamespace(route.GetNamespace()))
}

func (r *reconciler) allServices(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.services(ctx, func(*unstructured.Unstructured) bool { return true })
}

func (r *reconciler) services(ctx context.Context, wanted func(*unstructured.Unstructured) bool, opts ...client.ListOption) []reconcile.Request {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(GVK().GroupVersion().WithKind(GVK().Kind + "List"))
	if err := r.client.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing LLMInferenceServices")
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if wanted(&list.Items[i]) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return out
}

func newService() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(GVK())
	return u
}
