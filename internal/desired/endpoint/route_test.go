// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/internal/desired/endpoint"
)

const (
	yes   = metav1.ConditionTrue
	no    = metav1.ConditionFalse
	maybe = metav1.ConditionUnknown
)

// W-26.
func TestPickRoute(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		routes []gwapiv1.HTTPRoute
		want   string
	}{
		"the only route":                     {[]gwapiv1.HTTPRoute{route("a")}, "a"},
		"the first by name among equals":     {[]gwapiv1.HTTPRoute{route("b", parents(ours)), route("a", parents(ours))}, "a"},
		"one at the gateway before others":   {[]gwapiv1.HTTPRoute{route("a", parents(other)), route("b", parents(ours))}, "b"},
		"one that is served before attached": {[]gwapiv1.HTTPRoute{route("a", parents(ours)), route("b", parents(ours), says(ours, accepted(yes)))}, "b"},
		"one served by another gateway is not ours": {
			[]gwapiv1.HTTPRoute{route("a", parents(other), says(other, accepted(yes))), route("b", parents(ours), says(ours, accepted(no)))}, "b",
		},
		"one that stays before one that leaves": {
			[]gwapiv1.HTTPRoute{route("a", parents(ours), says(ours, accepted(yes)), deleting), route("b", parents(other))}, "b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := endpoint.PickRoute(tc.routes, ours)
			if !ok || got.Object.Name != tc.want {
				t.Errorf("picked %v, want %s", got.Object, tc.want)
			}
		})
	}
}

func TestPickRouteOfNone(t *testing.T) {
	t.Parallel()
	if _, ok := endpoint.PickRoute(nil, ours); ok {
		t.Error("found a route where there is none")
	}
}

func TestPickRouteIgnoresTheOrderOfTheList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}`), 1, 6, rapid.ID).Draw(rt, "names")
		var routes []gwapiv1.HTTPRoute
		for _, name := range names {
			opts := []routeOption{
				parents(rapid.SampledFrom([]types.NamespacedName{ours, other}).Draw(rt, "parent")),
				says(rapid.SampledFrom([]types.NamespacedName{ours, other}).Draw(rt, "speaker"),
					accepted(rapid.SampledFrom([]metav1.ConditionStatus{yes, no, maybe}).Draw(rt, "accepted"))),
			}
			if rapid.Bool().Draw(rt, "deleting") {
				opts = append(opts, deleting)
			}
			routes = append(routes, route(name, opts...))
		}
		want, _ := endpoint.PickRoute(routes, ours)
		got, _ := endpoint.PickRoute(rapid.Permutation(routes).Draw(rt, "order"), ours)
		if want.Object.Name != got.Object.Name {
			rt.Fatalf("picked %s, in another order %s", want.Object.Name, got.Object.Name)
		}
	})
}

// Rows 9.3.49 and 9.5.103, and W-26.
func TestParents(t *testing.T) {
	t.Parallel()
	sameNamespace := types.NamespacedName{Namespace: "llm", Name: ours.Name}
	for name, tc := range map[string]struct {
		gateway      types.NamespacedName
		opts         []routeOption
		wantAttached bool
		wantGateway  types.NamespacedName
	}{
		"a parent of the name and namespace": {ours, []routeOption{parents(ours)}, true, ours},
		"among several parents":              {ours, []routeOption{parents(other, ours)}, true, ours},
		"no parent at all":                   {ours, nil, false, types.NamespacedName{}},
		"only another gateway":               {ours, []routeOption{parents(other)}, false, other},
		"a parent without a namespace is of the route's": {
			ours, []routeOption{parent(gwapiv1.ParentReference{Name: gwapiv1.ObjectName(ours.Name)})}, false, sameNamespace,
		},
		"a gateway in the route's namespace": {
			sameNamespace, []routeOption{parent(gwapiv1.ParentReference{Name: gwapiv1.ObjectName(ours.Name)})}, true, sameNamespace,
		},
		"the full group and kind are understood": {
			ours, []routeOption{parent(gwapiv1.ParentReference{
				Group: new(gwapiv1.Group(gwapiv1.GroupName)), Kind: new(gwapiv1.Kind("Gateway")),
				Namespace: new(gwapiv1.Namespace(ours.Namespace)), Name: gwapiv1.ObjectName(ours.Name),
			})}, true, ours,
		},
		"a Service of the gateway's name is no gateway": {
			ours, []routeOption{parent(gwapiv1.ParentReference{
				Group: new(gwapiv1.Group("")), Kind: new(gwapiv1.Kind("Service")),
				Namespace: new(gwapiv1.Namespace(ours.Namespace)), Name: gwapiv1.ObjectName(ours.Name),
			})}, false, types.NamespacedName{},
		},
		"a Gateway of another API group is no gateway": {
			ours, []routeOption{parent(gwapiv1.ParentReference{
				Group:     new(gwapiv1.Group("example.com")),
				Namespace: new(gwapiv1.Namespace(ours.Namespace)), Name: gwapiv1.ObjectName(ours.Name),
			})}, false, types.NamespacedName{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := endpoint.PickRoute([]gwapiv1.HTTPRoute{route("r", tc.opts...)}, tc.gateway)
			if got.Attached != tc.wantAttached || got.Gateway != tc.wantGateway {
				t.Errorf("attached = %v to %v, want %v to %v", got.Attached, got.Gateway, tc.wantAttached, tc.wantGateway)
			}
		})
	}
}

// B29, B32 and W-26.
func TestAcceptance(t *testing.T) {
	t.Parallel()
	refused := endpoint.Acceptance{State: no, Reason: "NoMatchingParent", Message: "no listener"}
	for name, tc := range map[string]struct {
		opts []routeOption
		want endpoint.Acceptance
	}{
		"accepted":                                 {[]routeOption{says(ours, accepted(yes))}, endpoint.Acceptance{State: yes}},
		"accepted with resolved backends":          {[]routeOption{says(ours, accepted(yes), resolved(yes))}, endpoint.Acceptance{State: yes}},
		"refused with the gateway's reason":        {[]routeOption{says(ours, accepted(no))}, refused},
		"accepted without a backend is not served": {[]routeOption{says(ours, accepted(yes), resolved(no))}, endpoint.Acceptance{State: no, Reason: "BackendNotFound", Message: "no backend"}},
		"nobody has said anything":                 {nil, endpoint.Acceptance{State: maybe}},
		"an entry without the condition":           {[]routeOption{says(ours)}, endpoint.Acceptance{State: maybe}},
		"another gateway's word does not count":    {[]routeOption{says(other, accepted(yes))}, endpoint.Acceptance{State: maybe}},
		"another gateway accepts, ours refuses":    {[]routeOption{says(other, accepted(yes)), says(ours, accepted(no))}, refused},
		"one serving listener is enough":           {[]routeOption{says(ours, accepted(no)), says(ours, accepted(yes))}, endpoint.Acceptance{State: yes}},
		"an open question is no refusal":           {[]routeOption{says(ours, accepted(maybe))}, endpoint.Acceptance{State: maybe}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := endpoint.PickRoute([]gwapiv1.HTTPRoute{route("r", append(tc.opts, parents(ours, other))...)}, ours)
			if diff := cmp.Diff(tc.want, got.Acceptance); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAStaleEntryOfAFormerParentDoesNotCount(t *testing.T) {
	t.Parallel()
	got, _ := endpoint.PickRoute([]gwapiv1.HTTPRoute{route("r", parents(other), says(ours, accepted(yes)))}, ours)
	if got.Attached || got.Acceptance.State != maybe {
		t.Errorf("got %+v", got)
	}
}
