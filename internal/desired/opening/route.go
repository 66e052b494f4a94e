// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package opening

import (
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// policyController is what Kuadrant calls itself in the status of a route.
// Source: kuadrant-operator 1.5, internal/kuadrant/kuadrant.go.
const policyController gwapiv1.GatewayController = "kuadrant.io/policy-controller"

// affected is the condition by which it says there that AuthPolicies concern the route.
// Source: kuadrant-operator 1.5, internal/controller/common.go.
const affected = "kuadrant.io/AuthPolicyAffected"

// NotOpened is what the operator's route says that was not opened yet.
const NotOpened types.UID = "none"

// Route is what a live route says about itself. The zero value is no route.
type Route struct {
	// UID tells the route from an earlier one of its name.
	UID types.UID
	// Generation tells its specs apart.
	Generation int64
	// Created is when it came to be.
	Created time.Time
	// Opened is the UID of the route that the operator opened, or [NotOpened]; empty when
	// an earlier release wrote the route, or somebody else.
	Opened types.UID
	// Gateways are its parents.
	Gateways []types.NamespacedName
	// Rules are all of its rules, Leading those that lead somewhere, by [RuleOf].
	Rules, Leading []string
	// Noticed tells that Kuadrant has computed its policies for this very route, as it
	// stands now.
	Noticed bool
}

// RouteOf reads a live route; nil is none.
func RouteOf(live *gwapiv1.HTTPRoute) Route {
	if live == nil || live.DeletionTimestamp != nil {
		return Route{}
	}
	r := Route{
		UID: live.UID, Generation: live.Generation, Created: live.CreationTimestamp.Time, Opened: types.UID(live.Annotations[v1alpha1.AnnotationOpenedRoute]),
	}
	for i := range live.Spec.ParentRefs {
		r.Gateways = append(r.Gateways, gatewayOf(live, &live.Spec.ParentRefs[i]))
	}
	r.Noticed = noticed(live, r.Gateways)
	for i := range live.Spec.Rules {
		name := RuleOf(&live.Spec.Rules[i])
		r.Rules = append(r.Rules, name)
		if len(live.Spec.Rules[i].BackendRefs) > 0 {
			r.Leading = append(r.Leading, name)
		}
	}
	return r
}

func gatewayOf(live *gwapiv1.HTTPRoute, parent *gwapiv1.ParentReference) types.NamespacedName {
	return types.NamespacedName{Namespace: string(ptr.Deref(parent.Namespace, gwapiv1.Namespace(live.Namespace))), Name: string(parent.Name)}
}

// noticed tells whether Kuadrant says in the status of a route, for all of its Gateways
// that it says something for, that AuthPolicies concern it in this generation. It writes that at
// the end of a pass, after the configuration of the gateways, and takes one pass after
// the other. The status of an object is its own: a new one of the name begins without.
func noticed(live *gwapiv1.HTTPRoute, gateways []types.NamespacedName) bool {
	found := false
	for i := range live.Status.Parents {
		parent := &live.Status.Parents[i]
		if parent.ControllerName != policyController || !slices.Contains(gateways, gatewayOf(live, &parent.ParentRef)) {
			continue
		}
		at := slices.IndexFunc(parent.Conditions, func(c metav1.Condition) bool { return c.Type == affected && c.Status == metav1.ConditionTrue })
		if at < 0 || parent.Conditions[at].ObservedGeneration < live.Generation {
			return false
		}
		found = true
	}
	return found
}

// RuleOf names a rule by what it matches: rules of equal matches have equal names.
func RuleOf(rule *gwapiv1.HTTPRouteRule) string {
	if len(rule.Matches) == 1 {
		m := rule.Matches[0]
		if m.Path != nil && m.Path.Type != nil && m.Path.Value != nil && len(m.Headers) == 0 && len(m.QueryParams) == 0 && m.Method == nil {
			return PathRule(string(*m.Path.Type), *m.Path.Value)
		}
	}
	text, err := json.Marshal(rule.Matches)
	if err != nil {
		return "" // Matches hold nothing that has no JSON.
	}
	return string(text)
}

// PathRule names a rule that matches nothing but a path, of type Exact or PathPrefix.
func PathRule(kind, path string) string { return kind + " " + path }
