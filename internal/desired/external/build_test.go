// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/opendatahub-io/maas-operator/internal/desired/external"
	"github.com/opendatahub-io/maas-operator/internal/desired/opening"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

func inputOf(c external.Claim, claims ...external.Claim) external.Input {
	return external.Input{
		Model: c.Model, Target: c.Target, Provider: c.Provider, Claims: append(claims, c),
		Gateway: types.NamespacedName{Namespace: "gateways", Name: "default"},
	}
}

// A47: two namespaces with a model of one name do not collide. 9.7.116: the path is of the
// name, the header of the target.
func TestThePathHasTheNamespaceAndTheHeaderTheTarget(t *testing.T) {
	t.Parallel()
	out := external.Build(inputOf(claim("a", 1)))
	want := []values.ExternalRouteRule{{Path: "/llm-a/a"}, {Path: "/", Header: []values.ExternalHeader{{Name: "X-Gateway-Model-Name", Value: "gpt-4o"}}}}
	if diff := cmp.Diff(want, out.Route.Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

func TestOnlyTheOldestIsReachedByATarget(t *testing.T) {
	t.Parallel()
	out := external.Build(inputOf(claim("b", 2), claim("a", 1)))
	if len(out.Route.Rules) != 1 || out.Addressee != key("a") {
		t.Errorf("the younger model has %d rules, and requests that name the target reach %s", len(out.Route.Rules), out.Addressee)
	}
	if out.ServiceEntry != nil || out.DestinationRule != nil || out.Holder != key("a") || out.Service == nil {
		t.Errorf("the younger model has %+v", out)
	}
}

func TestAPrefixTakesThePlaceOfThePath(t *testing.T) {
	t.Parallel()
	header := []values.ExternalHeader{{Name: "X-Gateway-Model-Name", Value: "gpt-4o"}}
	for prefix, want := range map[string][]values.ExternalRouteRule{
		"":        {{Path: "/llm-a/a"}, {Path: "/", Header: header}},
		"/":       {{Path: "/llm-a/a", Rewrite: []string{"/"}}, {Path: "/", Header: header}},
		"/openai": {{Path: "/llm-a/a", Rewrite: []string{"/openai"}}, {Path: "/v1", Header: header, Rewrite: []string{"/openai/v1"}}},
	} {
		out := external.Build(inputOf(claim("a", 1, func(c *external.Claim) { c.Provider.PathPrefix = prefix })))
		if diff := cmp.Diff(want, out.Route.Rules); diff != "" {
			t.Errorf("prefix %q (-want +got):\n%s", prefix, diff)
		}
	}
}

func TestThereIsADestinationRuleForTLSOnly(t *testing.T) {
	t.Parallel()
	plain := external.Build(inputOf(claim("a", 1, at(80, false))))
	if plain.DestinationRule != nil || plain.ServiceEntry.Ports[0] != (values.ExternalPort{Name: "http-80", Number: 80, Protocol: "HTTP"}) {
		t.Errorf("without TLS: %+v, %+v", plain.ServiceEntry, plain.DestinationRule)
	}
	mixed := external.Build(inputOf(claim("a", 1, at(80, false)), claim("b", 2, at(8443, true))))
	if diff := cmp.Diff([]int64{8443}, mixed.DestinationRule.Ports); diff != "" {
		t.Errorf("TLS of two models (-want +got):\n%s", diff)
	}
	if len(mixed.ServiceEntry.Ports) != 2 {
		t.Errorf("ports of two models: %+v", mixed.ServiceEntry.Ports)
	}
}

// No request passes before a policy guards the route: neither rule leads somewhere until
// it was opened, and one that is new stays closed beside one that was.
func TestARouteBeginsClosed(t *testing.T) {
	t.Parallel()
	in := inputOf(claim("a", 1))
	leading := func() (n int) {
		for _, rule := range external.Build(in).Route.Rules {
			if rule.Leads {
				n++
			}
		}
		return n
	}
	if n := leading(); n != 0 {
		t.Errorf("%d rules of a new route lead somewhere", n)
	}
	in.Leads = opening.Leads{Route: "uid", Rules: []string{"PathPrefix /llm-a/a"}}
	if n := leading(); n != 1 {
		t.Errorf("%d rules of a route lead somewhere of which one was opened", n)
	}
	in.Leads = opening.Leads{Route: "uid", All: true}
	if n := leading(); n != 2 {
		t.Errorf("%d rules of an opened route lead somewhere", n)
	}
}

// W-28, 9.7.117: names of all objects, and values of labels, stay within their limits,
// whatever an earlier release admitted.
func TestNamesAndLabelsStayWithinTheirLimits(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, name := range []string{
		"gpt", "gpt-4.1", "gpt-4-1", "4o", strings.Repeat("m", 58), strings.Repeat("m", 59), strings.Repeat("m", 60),
		strings.Repeat("m", 253), strings.Repeat("m.", 126) + "m", strings.Repeat("m-", 126) + "m",
	} {
		got := external.Name(name)
		if problems := validation.IsDNS1035Label(got); len(problems) > 0 || !strings.HasPrefix(got, "maas-") {
			t.Errorf("Name(%q) = %q: %v", name, got, problems)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("Name(%q) is that of %q", name, other)
		}
		seen[got] = name
		out := external.Build(external.Input{Model: types.NamespacedName{Namespace: "llm", Name: name}})
		for label, value := range out.Service.Meta.Labels {
			if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
				t.Errorf("label %s of %q is %q: %v", label, name, value, problems)
			}
		}
	}
	if a, b := external.SharedName("gpt", "a.example.com"), external.SharedName("gpt", "b.example.com"); a == b || len(a) != len("maas-gpt-12345678") {
		t.Errorf("SharedName(gpt) = %s at one host and %s at another", a, b)
	}
	if external.Name("gpt") != "maas-gpt" {
		t.Errorf("Name(gpt) = %s", external.Name("gpt"))
	}
}
