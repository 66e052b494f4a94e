// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Field indexes of the stand-in's cache.
const (
	indexTarget  = "standin.target"
	indexGateway = "standin.gateway"
)

func (t target) String() string { return t.kind + "/" + t.name.String() }

// survey reads everything the status of one policy depends on.
func (r *reconciler) survey(ctx context.Context, p *policy) (*topology, error) {
	t := &topology{policies: map[target][]*policy{}}
	var err error
	switch p.target.kind {
	case kindHTTPRoute:
		err = r.surveyRoute(ctx, p.target.name, t)
	case kindGateway:
		err = r.surveyGateway(ctx, p.target.name, t)
	}
	if err != nil || !t.targetFound {
		return t, err
	}
	for _, way := range t.paths {
		for _, on := range []target{{kindGateway, way.gateway}, {kindHTTPRoute, way.route}} {
			if err := r.addPolicies(ctx, on, t); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

func (r *reconciler) surveyRoute(ctx context.Context, name types.NamespacedName, t *topology) error {
	route := &gwapiv1.HTTPRoute{}
	if err := r.client.Get(ctx, name, route); err != nil {
		return client.IgnoreNotFound(err)
	}
	t.targetFound = true
	for _, gateway := range acceptedBy(route) {
		ready, err := r.gatewayReady(ctx, gateway)
		if err != nil {
			return err
		}
		if ready {
			t.paths = append(t.paths, path{gateway: gateway, route: name})
		}
	}
	return nil
}

func (r *reconciler) surveyGateway(ctx context.Context, name types.NamespacedName, t *topology) error {
	gateway := &gwapiv1.Gateway{}
	if err := r.client.Get(ctx, name, gateway); err != nil {
		return client.IgnoreNotFound(err)
	}
	t.targetFound = true
	if !programmed(gateway) {
		return nil
	}
	var routes gwapiv1.HTTPRouteList
	if err := r.client.List(ctx, &routes, client.MatchingFields{indexGateway: name.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range routes.Items {
		t.paths = append(t.paths, path{gateway: name, route: client.ObjectKeyFromObject(&routes.Items[i])})
	}
	return nil
}

func (r *reconciler) gatewayReady(ctx context.Context, name types.NamespacedName) (bool, error) {
	gateway := &gwapiv1.Gateway{}
	if err := r.client.Get(ctx, name, gateway); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return programmed(gateway), nil
}

func (r *reconciler) addPolicies(ctx context.Context, on target, t *topology) error {
	if _, done := t.policies[on]; done {
		return nil
	}
	t.policies[on] = nil
	for _, kind := range kinds() {
		list, err := r.policiesOn(ctx, kind, on)
		if err != nil {
			return err
		}
		for i := range list.Items {
			if list.Items[i].GetDeletionTimestamp().IsZero() {
				t.policies[on] = append(t.policies[on], newPolicy(kind, &list.Items[i]))
			}
		}
	}
	return nil
}

func (r *reconciler) policiesOn(ctx context.Context, kind Kind, on target) (*unstructured.UnstructuredList, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GVK().GroupVersion().WithKind(string(kind) + "List"))
	err := r.client.List(ctx, list, client.MatchingFields{indexTarget: on.String()})
	return list, err
}

// programmed tells whether some listener of a gateway can take traffic.
func programmed(gateway *gwapiv1.Gateway) bool {
	for _, l := range gateway.Status.Listeners {
		if meta.IsStatusConditionTrue(l.Conditions, string(gwapiv1.ListenerConditionProgrammed)) {
			return true
		}
	}
	return false
}

// acceptedBy lists the gateways that accepted a route.
func acceptedBy(route *gwapiv1.HTTPRoute) []types.NamespacedName {
	var out []types.NamespacedName
	for _, parent := range route.Status.Parents {
		if parent.ControllerName == ControllerName && isGateway(parent.ParentRef) &&
			meta.IsStatusConditionTrue(parent.Conditions, string(gwapiv1.RouteConditionAccepted)) {
			out = append(out, gatewayName(route, parent.ParentRef))
		}
	}
	return out
}

func isGateway(ref gwapiv1.ParentReference) bool {
	return (ref.Kind == nil || *ref.Kind == kindGateway) && (ref.Group == nil || *ref.Group == gwapiv1.GroupName)
}

func gatewayName(route metav1.Object, ref gwapiv1.ParentReference) types.NamespacedName {
	name := types.NamespacedName{Namespace: route.GetNamespace(), Name: string(ref.Name)}
	if ref.Namespace != nil {
		name.Namespace = string(*ref.Namespace)
	}
	return name
}
