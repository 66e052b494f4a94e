// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
)

const gatewayKind = "Gateway"

// Acceptance is what a Gateway says about a route.
type Acceptance struct {
	// State is True when the Gateway serves the route, False when it refuses it or
	// cannot resolve its backends, Unknown when it has not said yet.
	State metav1.ConditionStatus
	// Reason and Message are the Gateway's own, when State is False.
	Reason, Message string
}

// Route is a route in the light of the Gateway it should be attached to.
type Route struct {
	Object *gwapiv1.HTTPRoute
	// Attached tells whether the expected Gateway is one of the route's parents.
	Attached bool
	// Gateway is the expected Gateway when attached, else the route's first Gateway
	// parent; empty when it has none.
	Gateway types.NamespacedName
	// Acceptance is that of the expected Gateway; Unknown when not attached.
	Acceptance Acceptance
}

// PickRoute chooses among the routes of one model: one that the expected Gateway
// serves, else one attached to it, else any; not one that is being deleted while
// there is another; the first by name among equals. It returns false when there
// are no routes.
func PickRoute(routes []gwapiv1.HTTPRoute, gateway types.NamespacedName) (Route, bool) {
	candidates := make([]Route, 0, len(routes))
	for i := range routes {
		candidates = append(candidates, judge(&routes[i], gateway))
	}
	if len(candidates) == 0 {
		return Route{}, false
	}
	return slices.MinFunc(candidates, func(a, b Route) int {
		return cmp.Or(
			cmp.Compare(a.rank(), b.rank()),
			cmp.Compare(a.Object.Namespace, b.Object.Namespace),
			cmp.Compare(a.Object.Name, b.Object.Name),
		)
	}), true
}

// ExternalRouteName is the name of the HTTPRoute made for an ExternalModel of this
// operator's own API group. The prefix keeps it apart from routes of the other one.
func ExternalRouteName(externalModel string) string { return "maas-" + externalModel }

// rank orders routes by how well they serve; smaller is better.
func (r Route) rank() int {
	rank := 0
	if r.Object.DeletionTimestamp != nil {
		rank += 4
	}
	switch {
	case r.Attached && r.Acceptance.State == metav1.ConditionTrue:
	case r.Attached:
		rank++
	default:
		rank += 2
	}
	return rank
}

// judge looks at one route in the light of the Gateway it should be attached to.
func judge(route *gwapiv1.HTTPRoute, gateway types.NamespacedName) Route {
	r := Route{Object: route, Acceptance: Acceptance{State: metav1.ConditionUnknown}}
	for i, parent := range gatewayParents(route) {
		if i == 0 {
			r.Gateway = parentKey(route, parent)
		}
		if parentKey(route, parent) == gateway {
			r.Attached, r.Gateway = true, gateway
			r.Acceptance = acceptance(route, gateway)
			break
		}
	}
	return r
}

// gatewaysOf are the distinct Gateways among the route's parents, sorted.
func gatewaysOf(route *gwapiv1.HTTPRoute) []types.NamespacedName {
	parents := gatewayParents(route)
	keys := make([]types.NamespacedName, 0, len(parents))
	for _, parent := range parents {
		keys = append(keys, parentKey(route, parent))
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(keys)
}

// gatewayParents leaves out parents of other kinds, such as Services in a mesh.
func gatewayParents(route *gwapiv1.HTTPRoute) []gwapiv1.ParentReference {
	var parents []gwapiv1.ParentReference
	for _, parent := range route.Spec.ParentRefs {
		if isGateway(parent) {
			parents = append(parents, parent)
		}
	}
	return parents
}

func isGateway(p gwapiv1.ParentReference) bool {
	return (p.Group == nil || string(*p.Group) == gwapiv1.GroupName) && (p.Kind == nil || string(*p.Kind) == gatewayKind)
}

// parentKey completes a parent reference: its namespace defaults to the route's.
func parentKey(route *gwapiv1.HTTPRoute, p gwapiv1.ParentReference) types.NamespacedName {
	key := types.NamespacedName{Namespace: route.Namespace, Name: string(p.Name)}
	if p.Namespace != nil && *p.Namespace != "" {
		key.Namespace = string(*p.Namespace)
	}
	return key
}

// acceptance folds the status entries of one Gateway, of which there may be
// several (one per listener or controller): one that serves is enough, else the
// first complaint counts, in an order that does not depend on the list's.
// Entries of other gateways say nothing.
//
// An entry for an earlier generation of the route still counts: what was accepted
// is served until the gateway says otherwise, and an edit must not make the model
// flicker.
func acceptance(route *gwapiv1.HTTPRoute, gateway types.NamespacedName) Acceptance {
	var entries []Acceptance
	for i := range route.Status.Parents {
		entry := &route.Status.Parents[i]
		if isGateway(entry.ParentRef) && parentKey(route, entry.ParentRef) == gateway {
			entries = append(entries, entryAcceptance(entry.Conditions))
		}
	}
	if len(entries) == 0 {
		return Acceptance{State: metav1.ConditionUnknown}
	}
	order := map[metav1.ConditionStatus]int{metav1.ConditionTrue: 0, metav1.ConditionFalse: 1, metav1.ConditionUnknown: 2}
	return slices.MinFunc(entries, func(a, b Acceptance) int {
		return cmp.Or(
			cmp.Compare(order[a.State], order[b.State]),
			cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(a.Message, b.Message),
		)
	})
}

func entryAcceptance(conditions []metav1.Condition) Acceptance {
	accepted := meta.FindStatusCondition(conditions, string(gwapiv1.RouteConditionAccepted))
	if accepted == nil || accepted.Status == metav1.ConditionUnknown {
		return Acceptance{State: metav1.ConditionUnknown}
	}
	if accepted.Status == metav1.ConditionFalse {
		return Acceptance{State: metav1.ConditionFalse, Reason: accepted.Reason, Message: accepted.Message}
	}
	resolved := meta.FindStatusCondition(conditions, string(gwapiv1.RouteConditionResolvedRefs))
	if resolved != nil && resolved.Status == metav1.ConditionFalse {
		return Acceptance{State: metav1.ConditionFalse, Reason: resolved.Reason, Message: resolved.Message}
	}
	return Acceptance{State: metav1.ConditionTrue}
}
