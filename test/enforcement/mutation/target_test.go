// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/enforcement/cases"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// headerVersion is an answer's, by which the version of a policy is told from others.
const headerVersion = "X-Policy-Version"

// challenge is the header that says how to log in.
const challenge = "www-authenticate"

// target is AuthPolicies that lose the same rule at the same time, since cases are
// about each of them.
type target struct {
	name string
	at   cases.Place
	// guards are the policies, each with a request of nobody that it refuses.
	guards []*guard
	// rules are what can be taken out of them.
	rules []string
	// versions is the number of those there were.
	versions int
}

// guard is a policy.
type guard struct {
	key   types.NamespacedName
	probe world.Request
	// model is what the policy calls its model; empty if it is of none.
	model string

	original *unstructured.Unstructured
	// mutants are by the names of rules, in which the model has no name.
	mutants map[string]Mutant
}

// read remembers the policies as they are, and what can be taken out of them.
func (t *target) read(ctx context.Context) {
	GinkgoHelper()
	for _, g := range t.guards {
		g.original = kuadrant.New(kuadrant.AuthPolicy)
		Expect(on.Admin.Get(ctx, g.key, g.original)).To(Succeed())
		g.mutants = map[string]Mutant{}
		proper := effective(g.original)
		if proper["when"] != nil {
			t.know(g, without("when"))
		}
		for _, m := range Mutants(at(proper, "rules")) {
			t.know(g, Mutant{Rule: m.Rule, Remove: func(proper map[string]any) { m.Remove(at(proper, "rules")) }})
		}
	}
}

// know remembers what can be taken out of a policy. The policies are of one form, but
// some have rules that others have not.
func (t *target) know(g *guard, m Mutant) {
	if g.model != "" {
		m.Rule = strings.ReplaceAll(m.Rule, g.model, "<model>")
	}
	g.mutants[m.Rule] = m
	if !slices.Contains(t.rules, m.Rule) {
		t.rules = append(t.rules, m.Rule)
	}
}

// effective is the part of a policy that counts.
func effective(policy *unstructured.Unstructured) map[string]any {
	spec, _ := policy.Object["spec"].(map[string]any)
	if defaults, ok := spec["defaults"].(map[string]any); ok {
		return defaults
	}
	return spec
}

// apply puts the policies in force without some rules, and returns once the engines
// decide by them.
func (t *target) apply(ctx context.Context, rules ...string) {
	GinkgoHelper()
	t.versions++
	version := fmt.Sprintf("%s-%d", t.name, t.versions)
	for _, g := range t.guards {
		g.put(ctx, func(proper map[string]any) {
			for _, rule := range rules {
				if m, has := g.mutants[rule]; has {
					m.Remove(proper)
				}
			}
			mark(at(proper, "rules", "response"), version)
		})
	}
	for _, g := range t.guards {
		g.awaitVersion(ctx, version)
	}
}

// restore puts the policies in force as the operator wrote them.
func (t *target) restore(ctx context.Context) {
	GinkgoHelper()
	for _, g := range t.guards {
		g.put(ctx, func(map[string]any) {})
	}
	for _, g := range t.guards {
		g.awaitVersion(ctx, "")
	}
}

// mark has refusals tell the version.
func mark(response map[string]any, version string) {
	for _, refusal := range []string{"unauthenticated", "unauthorized"} {
		part := at(response, refusal)
		headers, _ := part["headers"].(map[string]any)
		if headers == nil {
			headers = map[string]any{}
			part["headers"] = headers
		}
		headers[headerVersion] = map[string]any{"value": version}
		if refusal == "unauthenticated" && headers[challenge] == nil {
			headers[challenge] = map[string]any{"value": "Bearer"} // Any header of ours takes Authorino's away.
		}
	}
}

// put replaces the spec of the policy by its original one after a change.
func (g *guard) put(ctx context.Context, change func(proper map[string]any)) {
	GinkgoHelper()
	changed := g.original.DeepCopy()
	change(effective(changed))
	live := kuadrant.New(kuadrant.AuthPolicy)
	live.SetNamespace(g.key.Namespace)
	live.SetName(g.key.Name)
	Expect(world.Change(ctx, on, live, func(o *unstructured.Unstructured) { o.Object["spec"] = changed.Object["spec"] })).To(Succeed())
}

// awaitVersion waits until Kuadrant enforces the policy as it is, and a request of
// nobody is refused by that version.
func (g *guard) awaitVersion(ctx context.Context, version string) {
	GinkgoHelper()
	Expect(on.AwaitEnforced(ctx, kuadrant.AuthPolicy, g.key)).To(Succeed())
	Expect(world.Eventually(ctx, "version "+version+" of "+g.key.String(), func(ctx context.Context) error {
		answer, err := on.Do(ctx, g.probe)
		if err == nil && (answer.Status != http.StatusUnauthorized || answer.Header.Get(headerVersion) != version) {
			err = fmt.Errorf("version %q: %s", answer.Header.Get(headerVersion), answer)
		}
		return err
	})).To(Succeed())
}

// The targets, all of the default tenant: its models are of every kind.

func models() *target {
	s := fixture.Default
	t := &target{name: "model", at: cases.ModelRoute}
	for _, m := range s.Guarded() {
		t.guards = append(t.guards, &guard{
			key: m.Policies()[kuadrant.AuthPolicy], model: `"` + m.Key().String() + `"`, probe: world.Request{Tenant: s.Tenant, Path: m.Path() + "/v1/models"},
		})
	}
	return t
}

func service() *target {
	s := fixture.Default
	return &target{name: "maas-api", at: cases.ServiceRoute, guards: []*guard{{
		key: s.Tenant.MaaSAPIPolicy(), probe: world.Request{Tenant: s.Tenant, Path: "/v1/models"},
	}}}
}

func gateway() *target {
	s := fixture.Default
	return &target{name: "gateway", at: cases.Elsewhere, guards: []*guard{{
		key: s.Tenant.GatewayPolicy(), probe: world.Request{Tenant: s.Tenant, Path: s.Models.Stray.Path()},
	}}}
}
