// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package opening_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/opening"
)

func TestWhatLeadsSomewhereKeepsTo(t *testing.T) {
	t.Parallel()
	both := []string{"Exact /a", "PathPrefix /b"}
	gateway, others := types.NamespacedName{Namespace: "gateways", Name: "red"}, []types.NamespacedName{{Namespace: "gateways", Name: "blue"}}
	for name, test := range map[string]struct {
		route opening.Route
		want  opening.Leads
	}{
		"no route":                                      {opening.Route{}, opening.Leads{}},
		"a closed one":                                  {opening.Route{UID: "1", Rules: both}, opening.Leads{}},
		"one that was opened":                           {opening.Route{UID: "1", Generation: 7, Opened: "1", Rules: both, Leading: both}, opening.Leads{Route: "1", Generation: 7, Rules: both}},
		"one of an earlier release":                     {opening.Route{UID: "1", Rules: both, Leading: both}, opening.Leads{Route: "1", Rules: both}},
		"one with another rule since":                   {opening.Route{UID: "1", Opened: "1", Rules: both, Leading: both[:1]}, opening.Leads{Route: "1", Rules: both[:1]}},
		"a copy of one that was opened":                 {opening.Route{UID: "2", Opened: "1", Rules: both, Leading: both}, opening.Leads{}},
		"one that says so and leads nowhere":            {opening.Route{UID: "1", Opened: "1", Rules: both}, opening.Leads{}},
		"a closed one that somebody opened":             {opening.Route{UID: "1", Opened: opening.NotOpened, Rules: both, Leading: both}, opening.Leads{}},
		"one of another Gateway":                        {opening.Route{UID: "1", Opened: "1", Gateways: others, Rules: both, Leading: both}, opening.Leads{}},
		"one of another Gateway, of an earlier release": {opening.Route{UID: "1", Gateways: others, Rules: both, Leading: both}, opening.Leads{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.route.Gateways == nil {
				test.route.Gateways = []types.NamespacedName{gateway}
			}
			if diff := cmp.Diff(test.want, opening.Kept(test.route, gateway)); diff != "" {
				t.Errorf("Kept() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLeads(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		leads opening.Leads
		want  bool
	}{
		"none":             {opening.Leads{}, false},
		"all":              {opening.Leads{Route: "1", All: true}, true},
		"this one":         {opening.Leads{Route: "1", Rules: []string{"Exact /a"}}, true},
		"another one":      {opening.Leads{Route: "1", Rules: []string{"PathPrefix /a"}}, false},
		"all of no object": {opening.Leads{All: true, Rules: []string{"Exact /a"}}, false},
	} {
		if got := test.leads.To(opening.PathRule("Exact", "/a")); got != test.want {
			t.Errorf("%s: To() = %t, want %t", name, got, test.want)
		}
	}
}

func TestARouteIsOpenedOnceItIsGuarded(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	route := func(noticed bool, age time.Duration) opening.Route {
		return opening.Route{UID: "1", Created: ago(age), Noticed: noticed}
	}
	for name, test := range map[string]struct {
		guard opening.Guard
		asks  bool
		want  opening.Verdict
	}{
		"no route":                     {opening.Guard{Enforced: true, Configuration: opening.Holding, Since: ago(time.Hour)}, false, opening.Verdict{}},
		"not enforced":                 {opening.Guard{Route: route(true, time.Hour), Configuration: opening.Holding, Since: ago(time.Hour)}, false, opening.Verdict{}},
		"enforced, but on which route": {opening.Guard{Route: route(false, time.Minute), Enforced: true, Configuration: opening.Holding, Since: ago(time.Second)}, false, opening.Verdict{Again: 9 * time.Minute}},
		"not in the configuration":     {opening.Guard{Route: route(true, 0), Enforced: true, Configuration: opening.Lacking, Since: ago(time.Second)}, true, opening.Verdict{Again: 500 * time.Millisecond}},
		"guarded just now":             {opening.Guard{Route: route(true, 0), Enforced: true, Configuration: opening.Holding}, true, opening.Verdict{Guarded: true, Again: 500 * time.Millisecond}},
		"guarded for a moment":         {opening.Guard{Route: route(true, 0), Enforced: true, Configuration: opening.Holding, Since: ago(200 * time.Millisecond)}, true, opening.Verdict{Guarded: true, Again: 300 * time.Millisecond}},
		"guarded":                      {opening.Guard{Route: route(true, 0), Enforced: true, Configuration: opening.Holding, Since: ago(500 * time.Millisecond)}, true, opening.Verdict{Guarded: true, Open: true}},
		"of a gateway of another kind": {opening.Guard{Route: route(true, 0), Enforced: true, Since: ago(time.Second)}, true, opening.Verdict{Guarded: true, Open: true}},
		"of a Kuadrant that says nothing of routes": {
			opening.Guard{Route: route(false, 10*time.Minute), Enforced: true, Configuration: opening.Holding, Since: ago(time.Second)}, true, opening.Verdict{Guarded: true, Open: true},
		},
		"of one whose configuration lacks it": {opening.Guard{Route: route(false, time.Hour), Enforced: true, Configuration: opening.Lacking, Since: ago(time.Second)}, true, opening.Verdict{Again: 500 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.guard.Now = now
			if got := test.guard.Asks(); got != test.asks {
				t.Errorf("Asks() = %t, want %t", got, test.asks)
			}
			if diff := cmp.Diff(test.want, opening.Decide(test.guard)); diff != "" {
				t.Errorf("Decide() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestALiveRouteIsRead(t *testing.T) {
	t.Parallel()
	created := metav1.NewTime(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	red := gwapiv1.ParentReference{Namespace: new(gwapiv1.Namespace("gateways")), Name: "red"}
	of := func(parent gwapiv1.ParentReference, kind string, status metav1.ConditionStatus, generation int64) gwapiv1.RouteParentStatus {
		return gwapiv1.RouteParentStatus{ParentRef: parent, ControllerName: "kuadrant.io/policy-controller", Conditions: []metav1.Condition{{Type: kind, Status: status, ObservedGeneration: generation}}}
	}
	kuadrants := func(kind string, status metav1.ConditionStatus, generation int64) gwapiv1.RouteParentStatus {
		return of(red, kind, status, generation)
	}
	gateways := gwapiv1.RouteParentStatus{ParentRef: red, ControllerName: "istio.io/gateway-controller", Conditions: []metav1.Condition{{Type: "kuadrant.io/AuthPolicyAffected", Status: "True", ObservedGeneration: 3}}}
	for name, test := range map[string]struct {
		parents []gwapiv1.RouteParentStatus
		want    bool
	}{
		"noticed":                      {[]gwapiv1.RouteParentStatus{gateways, kuadrants("kuadrant.io/AuthPolicyAffected", "True", 3)}, true},
		"noticed in an earlier state":  {[]gwapiv1.RouteParentStatus{kuadrants("kuadrant.io/AuthPolicyAffected", "True", 2)}, false},
		"noticed for one Gateway only": {[]gwapiv1.RouteParentStatus{kuadrants("kuadrant.io/AuthPolicyAffected", "True", 3), kuadrants("kuadrant.io/AuthPolicyAffected", "True", 2)}, false},
		"a former Gateway aside":       {[]gwapiv1.RouteParentStatus{kuadrants("kuadrant.io/AuthPolicyAffected", "True", 3), of(gwapiv1.ParentReference{Name: "blue"}, "kuadrant.io/AuthPolicyAffected", "True", 2)}, true},
		"of a former Gateway only":     {[]gwapiv1.RouteParentStatus{of(gwapiv1.ParentReference{Name: "blue"}, "kuadrant.io/AuthPolicyAffected", "True", 3)}, false},
		"affected by limits only":      {[]gwapiv1.RouteParentStatus{kuadrants("kuadrant.io/TokenRateLimitPolicyAffected", "True", 3)}, false},
		"not affected":                 {[]gwapiv1.RouteParentStatus{kuadrants("kuadrant.io/AuthPolicyAffected", "False", 3)}, false},
		"said by somebody else":        {[]gwapiv1.RouteParentStatus{gateways}, false},
		"nothing said":                 {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := &gwapiv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{
				UID: "1", Generation: 3, CreationTimestamp: created, Annotations: map[string]string{v1alpha1.AnnotationOpenedRoute: "0"},
			}}
			match := func(kind gwapiv1.PathMatchType, path string) gwapiv1.HTTPRouteMatch {
				return gwapiv1.HTTPRouteMatch{Path: &gwapiv1.HTTPPathMatch{Type: &kind, Value: &path}}
			}
			live.Spec.ParentRefs = []gwapiv1.ParentReference{red}
			live.Spec.Rules = []gwapiv1.HTTPRouteRule{
				{Matches: []gwapiv1.HTTPRouteMatch{match("Exact", "/a")}, BackendRefs: []gwapiv1.HTTPBackendRef{{}}},
				{Matches: []gwapiv1.HTTPRouteMatch{match("PathPrefix", "/b")}},
			}
			live.Status.Parents = test.parents
			want := opening.Route{
				UID: "1", Generation: 3, Created: created.Time, Opened: types.UID("0"), Gateways: []types.NamespacedName{{Namespace: "gateways", Name: "red"}},
				Rules: []string{"Exact /a", "PathPrefix /b"}, Leading: []string{"Exact /a"}, Noticed: test.want,
			}
			if diff := cmp.Diff(want, opening.RouteOf(live)); diff != "" {
				t.Errorf("RouteOf() (-want +got):\n%s", diff)
			}
			live.DeletionTimestamp = &created
			if diff := cmp.Diff(opening.Route{}, opening.RouteOf(live)); diff != "" {
				t.Errorf("RouteOf() of one that is being deleted (-want +got):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(opening.Route{}, opening.RouteOf(nil)); diff != "" {
		t.Errorf("RouteOf(nil) (-want +got):\n%s", diff)
	}
}

// Rules that match the same have the same name, others do not.
func TestRulesAreNamedByWhatTheyMatch(t *testing.T) {
	t.Parallel()
	exact, path := gwapiv1.PathMatchExact, "/a"
	plain := gwapiv1.HTTPRouteMatch{Path: &gwapiv1.HTTPPathMatch{Type: &exact, Value: &path}}
	posted := plain
	posted.Method = new(gwapiv1.HTTPMethodPost)
	names := map[string]bool{}
	for _, matches := range [][]gwapiv1.HTTPRouteMatch{nil, {plain}, {posted}, {plain, posted}} {
		names[opening.RuleOf(&gwapiv1.HTTPRouteRule{Matches: matches})] = true
	}
	if len(names) != 4 || !names["Exact /a"] {
		t.Errorf("names = %v, want four, with Exact /a", names)
	}
}
