// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired/endpoint"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenantstatus"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/internal/rollout"
)

// observe looks at what became of what was written, as it was last seen.
func (r *Reconciler) observe(ctx context.Context, s *scope) error {
	err := r.usurped(ctx, s)
	if err != nil {
		return err
	}
	if s.facts.Deployment, err = s.deployment(); err != nil {
		return err
	}
	if s.facts.Route, err = s.route(); err != nil {
		return err
	}
	s.facts.Policies = r.policies(s)
	return nil
}

func waits(format string, args ...any) tenantstatus.Observation {
	return tenantstatus.Observation{State: metav1.ConditionUnknown, Message: fmt.Sprintf(format, args...)}
}

func refuses(format string, args ...any) tenantstatus.Observation {
	return tenantstatus.Observation{State: metav1.ConditionFalse, Message: fmt.Sprintf(format, args...)}
}

func works() tenantstatus.Observation { return tenantstatus.Observation{State: metav1.ConditionTrue} }

// find returns the wanted object of a kind as it was last seen. The tenant has one of
// each kind that is asked for; the first result is nil when none was written.
func (s *scope) find(kind string) *unstructured.Unstructured {
	for _, object := range s.objects {
		if object.GetKind() == kind {
			return s.live[apply.InventoryOf(object)[0]]
		}
	}
	return nil
}

// deployment judges whether as many Pods of the newest template serve as are wished.
func (s *scope) deployment() (tenantstatus.Observation, error) {
	live := s.find("Deployment")
	if live == nil {
		return waits("The Deployment of maas-api was left alone, because another controller owns it: see condition Degraded."), nil
	}
	out, err := rollout.Complete(live)
	switch {
	case err != nil:
		return tenantstatus.Observation{}, err
	case !out:
		return waits("Not all Pods of %s run and are ready yet. If it lasts, look at the Pods: their events and logs say why.", nameOf(live)), nil
	default:
		return works(), nil
	}
}

// route judges whether the Gateway serves the route to maas-api as it stands now.
func (s *scope) route() (tenantstatus.Observation, error) {
	live := s.find("HTTPRoute")
	switch {
	case live == nil && s.unguarded:
		return waits("The HTTPRoute of maas-api was left alone, because another controller owns a policy that is to guard it: see condition Degraded."), nil
	case live == nil:
		return waits("The HTTPRoute of maas-api was left alone, because another controller owns it: see condition Degraded."), nil
	}
	var route gwapiv1.HTTPRoute
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &route); err != nil {
		return tenantstatus.Observation{}, fmt.Errorf("read %s: %w", nameOf(live), err)
	}
	name, gateway := nameOf(live), s.input.Tenant.Gateway
	if kind, reason := unserving(s.gateway); kind != "" {
		return refuses("Gateway %s reports %s=False, reason %s: its status says more.", gateway, kind, reason), nil
	}
	judged, _ := endpoint.PickRoute([]gwapiv1.HTTPRoute{route}, gateway)
	switch {
	case !judged.Attached:
		return refuses("%s does not name Gateway %s as its parent: remove the annotation that keeps it from being managed, or correct it.", name, gateway), nil
	case judged.Acceptance.State == metav1.ConditionFalse:
		return refuses("Gateway %s does not serve %s, reason %s: the status of the route says more.", gateway, name, judged.Acceptance.Reason), nil
	case judged.Acceptance.State != metav1.ConditionTrue, outdated(&route):
		return waits("Gateway %s has not accepted %s yet. If it lasts, look at the Gateway's listeners and their allowedRoutes, and at the gateway controller.", gateway, name), nil
	default:
		return works(), nil
	}
}

// unserving is the condition by which a Gateway says that it serves nobody; empty when
// it does not say so.
func unserving(gateway *gwapiv1.Gateway) (kind, reason string) {
	for _, kind := range []gwapiv1.GatewayConditionType{gwapiv1.GatewayConditionAccepted, gwapiv1.GatewayConditionProgrammed} {
		c := meta.FindStatusCondition(gateway.Status.Conditions, string(kind))
		if c != nil && c.Status == metav1.ConditionFalse && c.ObservedGeneration >= gateway.Generation {
			return c.Type, c.Reason
		}
	}
	return "", ""
}

// outdated tells whether everything that is said of a route is about an earlier
// generation of it. What names no generation counts.
func outdated(route *gwapiv1.HTTPRoute) bool {
	for i := range route.Status.Parents {
		c := meta.FindStatusCondition(route.Status.Parents[i].Conditions, string(gwapiv1.RouteConditionAccepted))
		if c != nil && (c.ObservedGeneration == 0 || c.ObservedGeneration >= route.Generation) {
			return false
		}
	}
	return true
}

// busy is said while Kuadrant only needs time, whichever policy takes it.
const busy = "Kuadrant does not enforce all policies of maas-api and of its Gateway yet. That takes seconds; if it lasts, look at the status of the policies and at Kuadrant."

// policies judges the policies of maas-api and of the Gateway, in the order in which
// they are written.
func (r *Reconciler) policies(s *scope) tenantstatus.Observation {
	result := works()
	if s.predecessor != "" {
		result = waits("%s of an earlier release guards the Gateway until Kuadrant enforces the AuthPolicies of maas-api and of all models behind it; then %s takes its place. If it lasts, look at the status of those policies and at Kuadrant.",
			s.predecessor, s.input.Tenant.GatewayDefaultAuth())
	}
	for _, object := range s.objects {
		if !guarding(object.GroupVersionKind().GroupKind()) {
			continue
		}
		live := s.live[apply.InventoryOf(object)[0]]
		if live == nil {
			if result.State != metav1.ConditionFalse {
				result = refuses("%s was left alone, because another controller owns it: see condition Degraded.", nameOf(object))
			}
			continue
		}
		readiness := kuadrant.ReadinessOf(live, r.Clock.Now())
		switch {
		case s.outdone(object, live) != "":
			result = refuses("%s", s.outdone(object, live))
		case readiness.Enforced, kuadrant.TargetGateway(live) != "" && kuadrant.Overridden(live):
		case readiness.Waiting:
			if result.State == metav1.ConditionTrue {
				result = waits(busy)
				result.Passing = true
			}
			if readiness.Until.IsZero() {
				result.Passing = false
			} else {
				s.lookAgain(max(readiness.Until.Sub(r.Clock.Now()), time.Second))
			}
		case result.State != metav1.ConditionFalse:
			result = refuses("%s", readiness.Message)
		}
	}
	return result
}

// outdone says that policies of others are in force in the place of one of the
// operator's; empty when none is known to be.
func (s *scope) outdone(object, live *unstructured.Unstructured) string {
	if kuadrant.TargetGateway(live) == "" {
		if kuadrant.Overridden(live) || !kuadrant.Displaced(live) {
			return "" // What overrides all of it is said as of any policy.
		}
		return fmt.Sprintf("Kuadrant enforces %s on a part of its route only, and policies of others on the rest. Delete or retarget them.", nameOf(live))
	}
	ref := apply.InventoryOf(object)[0]
	switch {
	case len(s.usurpers[ref]) > 0:
		return fmt.Sprintf("Kuadrant enforces %s on the Gateway in the place of %s, on every route without a policy of its own. Delete or retarget it.", namesOf(s.usurpers[ref]), nameOf(object))
	case len(s.limiters[ref]) > 0:
		return fmt.Sprintf("Kuadrant enforces %s on the HTTPRoute of maas-api in the place of %s, which refuses there whoever is not known when Authorino runs out of time. Delete or retarget it.", namesOf(s.limiters[ref]), nameOf(object))
	default:
		return ""
	}
}

// namesOf names objects for people.
func namesOf(objects []*unstructured.Unstructured) string {
	names := make([]string, 0, len(objects))
	for _, o := range objects {
		names = append(names, nameOf(o))
	}
	return strings.Join(names, ", ")
}
