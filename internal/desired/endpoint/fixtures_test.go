// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// ours is the tenant's gateway, other belongs to somebody else.
var (
	ours  = types.NamespacedName{Namespace: "openshift-ingress", Name: "maas-default-gateway"}
	other = types.NamespacedName{Namespace: "openshift-ingress", Name: "other-gateway"}
)

type routeOption func(*gwapiv1.HTTPRoute)

func route(name string, opts ...routeOption) gwapiv1.HTTPRoute {
	r := gwapiv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: name}}
	for _, opt := range opts {
		opt(&r)
	}
	return r
}

func parentOf(gateway types.NamespacedName) gwapiv1.ParentReference {
	return gwapiv1.ParentReference{Namespace: new(gwapiv1.Namespace(gateway.Namespace)), Name: gwapiv1.ObjectName(gateway.Name)}
}

func parents(gateways ...types.NamespacedName) routeOption {
	return func(r *gwapiv1.HTTPRoute) {
		for _, g := range gateways {
			r.Spec.ParentRefs = append(r.Spec.ParentRefs, parentOf(g))
		}
	}
}

func parent(p gwapiv1.ParentReference) routeOption {
	return func(r *gwapiv1.HTTPRoute) { r.Spec.ParentRefs = append(r.Spec.ParentRefs, p) }
}

func hosts(names ...gwapiv1.Hostname) routeOption {
	return func(r *gwapiv1.HTTPRoute) { r.Spec.Hostnames = names }
}

func deleting(r *gwapiv1.HTTPRoute) { r.DeletionTimestamp = &metav1.Time{} }

// says adds a status entry of a gateway with conditions.
func says(gateway types.NamespacedName, conditions ...metav1.Condition) routeOption {
	return func(r *gwapiv1.HTTPRoute) {
		r.Status.Parents = append(r.Status.Parents, gwapiv1.RouteParentStatus{
			ParentRef: parentOf(gateway), ControllerName: "example.com/controller", Conditions: conditions,
		})
	}
}

func accepted(status metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: "Accepted", Status: status, Reason: "NoMatchingParent", Message: "no listener"}
}

func resolved(status metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: "ResolvedRefs", Status: status, Reason: "BackendNotFound", Message: "no backend"}
}

func paths(values ...string) routeOption {
	return func(r *gwapiv1.HTTPRoute) {
		for _, v := range values {
			r.Spec.Rules = append(r.Spec.Rules, gwapiv1.HTTPRouteRule{Matches: []gwapiv1.HTTPRouteMatch{{
				Path: &gwapiv1.HTTPPathMatch{Type: new(gwapiv1.PathMatchPathPrefix), Value: &v},
			}}})
		}
	}
}

func listener(name string, protocol gwapiv1.ProtocolType, port int32, host gwapiv1.Hostname) gwapiv1.Listener {
	l := gwapiv1.Listener{Name: gwapiv1.SectionName(name), Protocol: protocol, Port: port}
	if host != "" {
		l.Hostname = &host
	}
	return l
}

func gateway(listeners ...gwapiv1.Listener) *gwapiv1.Gateway {
	return &gwapiv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: ours.Namespace, Name: ours.Name},
		Spec:       gwapiv1.GatewaySpec{Listeners: listeners},
	}
}

func at(g *gwapiv1.Gateway, addresses ...string) *gwapiv1.Gateway {
	for _, a := range addresses {
		kind := gwapiv1.HostnameAddressType
		if a[0] >= '0' && a[0] <= '9' || a[0] == ':' {
			kind = gwapiv1.IPAddressType
		}
		g.Status.Addresses = append(g.Status.Addresses, gwapiv1.GatewayStatusAddress{Type: &kind, Value: a})
	}
	return g
}
