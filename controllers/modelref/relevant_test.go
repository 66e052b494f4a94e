// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
)

// Rows 9.1.11–9.1.13 and W-40. A condition that appears differs from one that is
// missing, and an object of another kind always matters.
func TestWhichUpdatesMatter(t *testing.T) {
	t.Parallel()
	service := func(status, replicas string) client.Object {
		u := kserve.New(kserve.GroupKind.WithVersion("v1alpha2"))
		u.Object["status"] = map[string]any{
			"conditions": []any{map[string]any{"type": "Ready", "status": status}},
			"workloads":  replicas,
		}
		return u
	}
	route := func(change func(*gwapiv1.HTTPRoute)) client.Object {
		r := &gwapiv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
		change(r)
		return r
	}
	gateway := func(address string, routes int32) client.Object {
		g := &gwapiv1.Gateway{}
		g.Status.Addresses = []gwapiv1.GatewayStatusAddress{{Value: address}}
		g.Status.Listeners = []gwapiv1.ListenerStatus{{AttachedRoutes: routes}}
		return g
	}
	external := func(route string, phase inferencev1alpha1.Phase) client.Object {
		m := &inferencev1alpha1.ExternalModel{}
		m.Status.HTTPRouteName, m.Status.Phase = route, phase
		return m
	}
	complaining := func() client.Object {
		m := &inferencev1alpha1.ExternalModel{}
		m.Status.Conditions = []metav1.Condition{{Type: string(v1alpha1.ConditionCredentialAvailable), Status: metav1.ConditionFalse}}
		return m
	}
	aliased := func(alias string, leaving bool) client.Object {
		m := &v1alpha1.MaaSModelRef{Status: v1alpha1.MaaSModelRefStatus{ResolvedModelAlias: alias}}
		if leaving {
			m.DeletionTimestamp = new(metav1.Now())
		}
		return m
	}
	subscription := func(generation int64, phase v1alpha1.Phase, ready bool) client.Object {
		s := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Generation: generation}}
		s.Status.Phase = phase
		s.Status.ModelRefStatuses = []v1alpha1.ModelRefStatus{{ResourceRefStatus: v1alpha1.ResourceRefStatus{Ready: ready}}}
		return s
	}
	none := func(*gwapiv1.HTTPRoute) {}
	verdict := func(phase v1alpha1.ModelPhase, kind v1alpha1.ConditionType, message string) client.Object {
		m := model("m", v1alpha1.BackendLLMInferenceService)
		m.Status.Phase = phase
		m.Status.Conditions = []metav1.Condition{{Type: string(kind), Message: message}}
		return m
	}

	for name, tc := range map[string]struct {
		changed       func(before, after client.Object) bool
		before, after client.Object
		want          bool
	}{
		"the service turns ready":                               {serviceChanged, service("False", "0"), service("True", "0"), true},
		"the service's first condition":                         {serviceChanged, kserve.New(kserve.GroupKind.WithVersion("v1alpha2")), service("True", "0"), true},
		"an ExternalModel of the inference group lacks its key": {inferenceModelChanged, &inferencev1alpha1.ExternalModel{}, complaining(), true},
		"the service scales":                                    {serviceChanged, service("True", "1"), service("True", "2"), false},
		"another kind than expected":                            {serviceChanged, &gwapiv1.Gateway{}, &gwapiv1.Gateway{}, true},
		"the route's annotations":                               {routeChanged, route(none), route(func(r *gwapiv1.HTTPRoute) { r.Annotations = map[string]string{"a": "b"} }), false},
		"the route's labels":                                    {routeChanged, route(none), route(func(r *gwapiv1.HTTPRoute) { r.Labels = map[string]string{"a": "b"} }), true},
		"the route's spec":                                      {routeChanged, route(none), route(func(r *gwapiv1.HTTPRoute) { r.Generation = 2 }), true},
		"what a gateway says of the route":                      {routeChanged, route(none), route(func(r *gwapiv1.HTTPRoute) { r.Status.Parents = []gwapiv1.RouteParentStatus{{}} }), true},
		"the gateway gets an address":                           {gatewayChanged, gateway("", 0), gateway("lb", 0), true},
		"the gateway gets a route":                              {gatewayChanged, gateway("lb", 1), gateway("lb", 2), false},
		"an ExternalModel gets its route":                       {inferenceModelChanged, external("", ""), external("r", ""), true},
		"an ExternalModel changes its phase":                    {inferenceModelChanged, external("r", "Pending"), external("r", "Ready"), false},
		"our own write: another phase":                          {judged, verdict("Ready", "Ready", ""), verdict("Unhealthy", "Ready", ""), true},
		"our own write: other words":                            {judged, verdict("Ready", "RuntimeReady", "a"), verdict("Ready", "RuntimeReady", "b"), true},
		"another controller's write":                            {judged, verdict("Ready", "PoliciesApplied", "a"), verdict("Ready", "PoliciesApplied", "b"), false},
		"a model gets its alias":                                {aliasChanged, aliased("", false), aliased("a", false), true},
		"a model that leaves frees its alias":                   {aliasChanged, aliased("a", false), aliased("a", true), true},
		"a model that is leaving already":                       {aliasChanged, aliased("a", true), aliased("a", true), false},
		"a model keeps its alias":                               {aliasChanged, aliased("a", false), aliased("a", false), false},
		"a subscription is edited":                              {contributorChanged, subscription(1, "Active", true), subscription(2, "Active", true), true},
		"a subscription turns invalid":                          {contributorChanged, subscription(1, "Active", true), subscription(1, "Invalid", true), true},
		"a subscription's details":                              {contributorChanged, subscription(1, "Active", true), subscription(1, "Active", false), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.changed(tc.before, tc.after); got != tc.want {
				t.Errorf("changed = %v, want %v", got, tc.want)
			}
		})
	}
}
