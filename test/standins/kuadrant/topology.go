// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Kind is one of the policy kinds the stand-in answers for.
type Kind string

// The policy kinds of this stand-in.
const (
	AuthPolicy           Kind = "AuthPolicy"
	TokenRateLimitPolicy Kind = "TokenRateLimitPolicy"
)

func kinds() []Kind { return []Kind{AuthPolicy, TokenRateLimitPolicy} }

// GVK returns the group, version and kind of a policy kind.
func (k Kind) GVK() schema.GroupVersionKind {
	version := "v1"
	if k == TokenRateLimitPolicy {
		version = "v1alpha1"
	}
	return schema.GroupVersionKind{Group: "kuadrant.io", Version: version, Kind: string(k)}
}

// target is what a policy attaches to; it always lies in the policy's namespace.
type target struct {
	kind string
	name types.NamespacedName
}

const (
	kindGateway   = "Gateway"
	kindHTTPRoute = "HTTPRoute"
)

// policy is what decides between policies.
type policy struct {
	kind        Kind
	name        types.NamespacedName
	target      target
	created     time.Time
	overrides   bool
	expressions []expression
	ruleNames   []string
}

func newPolicy(kind Kind, u *unstructured.Unstructured) *policy {
	spec, _, _ := unstructured.NestedMap(u.Object, "spec")
	_, overrides := spec["overrides"].(map[string]any)
	return &policy{
		kind:        kind,
		name:        types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()},
		target:      targetOf(u),
		created:     u.GetCreationTimestamp().Time,
		overrides:   overrides,
		expressions: expressionsOf(kind, spec),
		ruleNames:   ruleNames(spec),
	}
}

func targetOf(u *unstructured.Unstructured) target {
	kind, _, _ := unstructured.NestedString(u.Object, "spec", "targetRef", "kind")
	name, _, _ := unstructured.NestedString(u.Object, "spec", "targetRef", "name")
	return target{kind: kind, name: types.NamespacedName{Namespace: u.GetNamespace(), Name: name}}
}

// ruleNames lists the limits of a TokenRateLimitPolicy; they appear in messages.
func ruleNames(spec map[string]any) []string {
	proper, _ := properSpec(spec)
	limits, _ := proper["limits"].(map[string]any)
	names := make([]string, 0, len(limits))
	for name := range limits {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// path is one way traffic can take: a ready gateway and a route it accepted.
type path struct {
	gateway, route types.NamespacedName
}

// topology is everything around one policy that its status depends on.
type topology struct {
	// targetFound tells whether the policy's target exists.
	targetFound bool
	// paths lists the ways on which the policy could have an effect.
	paths []path
	// policies holds the live policies on the gateways and routes of paths.
	policies map[target][]*policy
}

// winner returns the policy of a kind that is effective on a path, or nil: the last
// one, as long as none overrides what follows it.
//
// Source: kuadrant-operator 1.5, api/v1/merge_strategies.go, and policy-machinery 0.8,
// controller/object.go.
func (t *topology) winner(kind Kind, p path) *policy {
	all := append(t.candidates(kind, target{kind: kindGateway, name: p.gateway}),
		t.candidates(kind, target{kind: kindHTTPRoute, name: p.route})...)
	if i := slices.IndexFunc(all, func(c *policy) bool { return c.overrides }); i >= 0 {
		return all[i]
	}
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// candidates returns the policies of a kind on a target, the newest last.
func (t *topology) candidates(kind Kind, on target) []*policy {
	var out []*policy
	for _, p := range t.policies[on] {
		if p.kind == kind {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *policy) int {
		return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.name.String(), b.name.String()))
	})
	return out
}

// effect is where a policy wins and who wins elsewhere.
type effect struct {
	wins         int
	overriddenBy []types.NamespacedName
	// authBound tells whether an AuthPolicy reaches every path.
	authBound bool
}

func (t *topology) effectOf(p *policy) effect {
	e := effect{authBound: true}
	for _, way := range t.paths {
		if t.winner(AuthPolicy, way) == nil {
			e.authBound = false
		}
		switch w := t.winner(p.kind, way); {
		case w == nil:
		case w.name == p.name:
			e.wins++
		case !slices.Contains(e.overriddenBy, w.name):
			e.overriddenBy = append(e.overriddenBy, w.name)
		}
	}
	slices.SortFunc(e.overriddenBy, func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) })
	return e
}
