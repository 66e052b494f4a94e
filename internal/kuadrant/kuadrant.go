// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kuadrant reads the Kuadrant policies the operator generates: their
// kinds, their limits and whether the gateway enforces them. It writes
// nothing.
package kuadrant

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kinds of generated policies.
var (
	AuthPolicy           = schema.GroupVersionKind{Group: "kuadrant.io", Version: "v1", Kind: "AuthPolicy"}
	TokenRateLimitPolicy = schema.GroupVersionKind{Group: "kuadrant.io", Version: "v1alpha1", Kind: "TokenRateLimitPolicy"}
)

// Names of the kinds' CustomResourceDefinitions.
const (
	AuthPolicyCRD           = "authpolicies.kuadrant.io"
	TokenRateLimitPolicyCRD = "tokenratelimitpolicies.kuadrant.io"
)

// New returns an empty object of a kind, to read or watch it.
func New(kind schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}

// Limit is the part of a limit in a TokenRateLimitPolicy that tells whom it
// covers.
type Limit struct {
	// Name is the limit's key.
	Name string
	// Predicate joins its conditions.
	Predicate string
}

// NobodysLimit is the limit of nothing for those of whom nothing is known.
const NobodysLimit = "nobody"

// Limits reads the limits of a TokenRateLimitPolicy that somebody can be covered by,
// in no particular order: all but [NobodysLimit]. Entries of an unexpected shape are
// left out.
func Limits(policy *unstructured.Unstructured) []Limit {
	if policy == nil {
		return nil
	}
	limits, _, err := unstructured.NestedMap(policy.Object, "spec", "limits")
	if err != nil {
		return nil
	}
	out := make([]Limit, 0, len(limits))
	for name, value := range limits {
		limit, ok := value.(map[string]any)
		if !ok || name == NobodysLimit {
			continue
		}
		out = append(out, Limit{Name: name, Predicate: predicates(limit)})
	}
	return out
}

func predicates(limit map[string]any) string {
	when, _, err := unstructured.NestedSlice(limit, "when")
	if err != nil {
		return ""
	}
	var joined strings.Builder
	for _, item := range when {
		if entry, ok := item.(map[string]any); ok {
			if text, ok := entry["predicate"].(string); ok {
				joined.WriteString(text)
			}
		}
	}
	return joined.String()
}

// TargetRoute is the HTTPRoute a policy is attached to, in its own namespace;
// empty when it targets something else. It is asked of every policy of a
// namespace at a time, so it allocates nothing.
func TargetRoute(policy *unstructured.Unstructured) string { return targetOf(policy, "HTTPRoute") }

// TargetGateway is the same for a Gateway.
func TargetGateway(policy *unstructured.Unstructured) string { return targetOf(policy, "Gateway") }

func targetOf(policy *unstructured.Unstructured, kind string) string {
	spec, _ := policy.Object["spec"].(map[string]any)
	target, _ := spec["targetRef"].(map[string]any)
	if target["group"] != "gateway.networking.k8s.io" || target["kind"] != kind {
		return ""
	}
	name, _ := target["name"].(string)
	return name
}
