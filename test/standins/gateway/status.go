// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/test/standins/status"
)

// gatewayRef is one parent reference that names a Gateway.
type gatewayRef struct {
	ref     gwapiv1.ParentReference
	gateway types.NamespacedName
}

// parent is a parent reference whose Gateway exists and is ours.
type parent struct {
	ref     gwapiv1.ParentReference
	gateway *gwapiv1.Gateway
}

func gatewayRefs(route *gwapiv1.HTTPRoute) []gatewayRef {
	var out []gatewayRef
	for _, ref := range route.Spec.ParentRefs {
		if (ref.Kind != nil && *ref.Kind != "Gateway") || (ref.Group != nil && *ref.Group != gwapiv1.GroupName) {
			continue
		}
		out = append(out, gatewayRef{ref: ref, gateway: refName(route, ref)})
	}
	return out
}

func refName(route *gwapiv1.HTTPRoute, ref gwapiv1.ParentReference) types.NamespacedName {
	name := types.NamespacedName{Namespace: route.Namespace, Name: string(ref.Name)}
	if ref.Namespace != nil {
		name.Namespace = string(*ref.Namespace)
	}
	return name
}

func setClassStatus(class *gwapiv1.GatewayClass) {
	meta.SetStatusCondition(&class.Status.Conditions, condition(class.Generation,
		string(gwapiv1.GatewayClassConditionStatusAccepted), true, string(gwapiv1.GatewayClassReasonAccepted), "Handled by the gateway stand-in"))
}

func setGatewayStatus(gateway *gwapiv1.Gateway, attached map[gwapiv1.SectionName]int32) {
	g := gateway.Generation
	meta.SetStatusCondition(&gateway.Status.Conditions, condition(g,
		string(gwapiv1.GatewayConditionAccepted), true, string(gwapiv1.GatewayReasonAccepted), "Resource accepted"))
	meta.SetStatusCondition(&gateway.Status.Conditions, condition(g,
		string(gwapiv1.GatewayConditionProgrammed), true, string(gwapiv1.GatewayReasonProgrammed), "Resource programmed"))

	kind := gwapiv1.HostnameAddressType
	gateway.Status.Addresses = []gwapiv1.GatewayStatusAddress{{
		Type:  &kind,
		Value: fmt.Sprintf("%s-%s.%s.svc.cluster.local", gateway.Name, gateway.Spec.GatewayClassName, gateway.Namespace),
	}}

	listeners := make([]gwapiv1.ListenerStatus, 0, len(gateway.Spec.Listeners))
	for _, l := range gateway.Spec.Listeners {
		listeners = append(listeners, listenerStatus(gateway, l, attached[l.Name]))
	}
	gateway.Status.Listeners = listeners
}

func listenerStatus(gateway *gwapiv1.Gateway, l gwapiv1.Listener, attached int32) gwapiv1.ListenerStatus {
	group := gwapiv1.Group(gwapiv1.GroupName)
	out := gwapiv1.ListenerStatus{
		Name:           l.Name,
		AttachedRoutes: attached,
		SupportedKinds: []gwapiv1.RouteGroupKind{{Group: &group, Kind: "HTTPRoute"}},
	}
	for _, existing := range gateway.Status.Listeners {
		if existing.Name == l.Name {
			out.Conditions = existing.Conditions
		}
	}
	for _, c := range []struct {
		kind   gwapiv1.ListenerConditionType
		holds  bool
		reason gwapiv1.ListenerConditionReason
	}{
		{gwapiv1.ListenerConditionAccepted, true, gwapiv1.ListenerReasonAccepted},
		{gwapiv1.ListenerConditionConflicted, false, gwapiv1.ListenerReasonNoConflicts},
		{gwapiv1.ListenerConditionProgrammed, true, gwapiv1.ListenerReasonProgrammed},
		{gwapiv1.ListenerConditionResolvedRefs, true, gwapiv1.ListenerReasonResolvedRefs},
	} {
		meta.SetStatusCondition(&out.Conditions, condition(gateway.Generation, string(c.kind), c.holds, string(c.reason), ""))
	}
	return out
}

// setRouteStatus writes our entries and keeps those of other controllers.
func setRouteStatus(route *gwapiv1.HTTPRoute, namespace *corev1.Namespace, parents []parent) {
	out := []gwapiv1.RouteParentStatus{} // parents is required, so never null
	for _, s := range route.Status.Parents {
		if s.ControllerName != ControllerName {
			out = append(out, s)
		}
	}
	for _, p := range parents {
		entry := gwapiv1.RouteParentStatus{ParentRef: p.ref, ControllerName: ControllerName}
		for _, s := range route.Status.Parents {
			if s.ControllerName == ControllerName && sameRef(route, s.ParentRef, p.ref) {
				entry.Conditions = append([]metav1.Condition(nil), s.Conditions...)
			}
		}
		reason, message := admit(route, namespace, p)
		meta.SetStatusCondition(&entry.Conditions, condition(route.Generation,
			string(gwapiv1.RouteConditionAccepted), reason == gwapiv1.RouteReasonAccepted, string(reason), message))
		meta.SetStatusCondition(&entry.Conditions, condition(route.Generation,
			string(gwapiv1.RouteConditionResolvedRefs), true, string(gwapiv1.RouteReasonResolvedRefs), "All references resolved"))
		out = append(out, entry)
	}
	route.Status.Parents = out
}

// attachments lists the listeners of a gateway that an accepted route names;
// a route without a section name is attached to all of them.
func attachments(route *gwapiv1.HTTPRoute, gateway types.NamespacedName) (sections []gwapiv1.SectionName, all bool) {
	for _, s := range route.Status.Parents {
		if s.ControllerName != ControllerName || refName(route, s.ParentRef) != gateway ||
			!meta.IsStatusConditionTrue(s.Conditions, string(gwapiv1.RouteConditionAccepted)) {
			continue
		}
		if s.ParentRef.SectionName == nil {
			return nil, true
		}
		sections = append(sections, *s.ParentRef.SectionName)
	}
	return sections, false
}

func sameRef(route *gwapiv1.HTTPRoute, a, b gwapiv1.ParentReference) bool {
	return refName(route, a) == refName(route, b) && equalPtr(a.SectionName, b.SectionName) && equalPtr(a.Port, b.Port)
}

func equalPtr[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// condition is one that was judged by a generation of its object.
func condition(generation int64, conditionType string, holds bool, reason, message string) metav1.Condition {
	c := status.Condition(conditionType, holds, reason, message)
	c.ObservedGeneration = generation
	return c
}
