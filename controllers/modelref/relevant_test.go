// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
)

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
	tenant := func(gateway string, phase v1alpha1.AITenantPhase) client.Object {
		return &v1alpha1.AITenant{Status: v1alpha1.AITenantStatus{GatewayRef: &v1alpha1.TenantGatewayRef{Name: gateway}, Phase: phase}}
	}
	subscription := func(generation int64, phase v1alpha1.Phase, ready bool) client.Object {
		s := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Generation: generation}}
		s.Status.Phase = phase
		s.Status.ModelRefStatuses = []v1alpha1.ModelRefStatus{{ResourceRefStatus: v1alpha1.ResourceRefStatus{Ready: ready}}}
		return s
	}
	none := func(*gwapiv1.HTTPRoute) {}

	for name, tc := range map[string]struct {
		changed       func(before, after client.Object) bool
		before, after client.Object
		want          bool
	}{
		"the service turns ready":            {serviceChanged, service("False", "0"), service("True", "0"), true},
		"the service scales":                 {serviceChanged, service("True", "1"), service("True", "2"), false},
		"another kind than expected":         {serviceChanged, &gwapiv1.Gateway{}, &gwapiv1.Gateway{}, true},
		"the route's annotations":            {routeChanged, route(none), route(func(r *gwapiv1.HTTPRoute) { r.Annotations = map[string]string{"a": "b"} }), false},
		"the route's labels":                 {routeChanged, route(none), route(func(r *gwapiv1.HTTPRoute) { r.Labels = map[string]string{"a": "b"} }), true},
		"the route's spec":                   {routeChanged, route(none), route(func(r *gwapiv1.HTTPRoute) { r.Generation = 2 }), true},
		"what a gateway says of the route":   {routeChanged, route(none), route(func(r *gwapiv1.HTTPRoute) { r.Status.Parents = []gwapiv1.RouteParentStatus{{}} }), true},
		"the gateway gets an address":        {gatewayChanged, gateway("", 0), gateway("lb", 0), true},
		"the gateway gets a route":           {gatewayChanged, gateway("lb", 1), gateway("lb", 2), false},
		"an ExternalModel gets its route":    {inferenceModelChanged, external("", ""), external("r", ""), true},
		"an ExternalModel changes its phase": {inferenceModelChanged, external("r", "Pending"), external("r", "Ready"), false},
		"a tenant gets its gateway":          {tenantChanged, tenant("", ""), tenant("g", ""), true},
		"a tenant changes its phase":         {tenantChanged, tenant("g", "Pending"), tenant("g", "Active"), false},
		"a subscription is edited":           {contributorChanged, subscription(1, "Active", true), subscription(2, "Active", true), true},
		"a subscription turns invalid":       {contributorChanged, subscription(1, "Active", true), subscription(1, "Invalid", true), true},
		"a subscription's details":           {contributorChanged, subscription(1, "Active", true), subscription(1, "Active", false), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.changed(tc.before, tc.after); got != tc.want {
				t.Errorf("changed = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestOnlyTenantNamespacesMatter(t *testing.T) {
	t.Parallel()
	namespace := func(labels map[string]string) client.Object {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
	}
	plain, other := namespace(nil), namespace(map[string]string{"a": "b"})
	labelled, managed := namespace(map[string]string{v1alpha1.LabelTenant: "red"}), namespace(map[string]string{v1alpha1.LabelManagedByAITenant: "true"})
	for name, tc := range map[string]struct{ got, want bool }{
		"a plain namespace appears":    {tenantNamespaces.Create(event.CreateEvent{Object: plain}), false},
		"a tenant's namespace appears": {tenantNamespaces.Create(event.CreateEvent{Object: labelled}), true},
		"a tenant's namespace goes":    {tenantNamespaces.Delete(event.DeleteEvent{Object: managed}), true},
		"a plain namespace changes":    {tenantNamespaces.Update(event.UpdateEvent{ObjectOld: plain, ObjectNew: other}), false},
		"a namespace joins a tenant":   {tenantNamespaces.Update(event.UpdateEvent{ObjectOld: plain, ObjectNew: managed}), true},
		"a namespace leaves a tenant":  {tenantNamespaces.Update(event.UpdateEvent{ObjectOld: labelled, ObjectNew: other}), true},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %v, want %v", name, tc.got, tc.want)
		}
	}
}
