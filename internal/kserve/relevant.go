// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kserve

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Differs tells whether two states of one service differ in anything this package
// reads. Workload templates, replica counts and heartbeats do not count, so that a
// busy service does not keep its readers busy.
func Differs(before, after Service) bool {
	return before.Readiness() != after.Readiness() ||
		before.URL() != after.URL() ||
		!equality.Semantic.DeepEqual(before.Addresses(), after.Addresses()) ||
		!slices.Equal(before.RouteRefs(), after.RouteRefs())
}

// Trim removes from an object what this package never reads, to keep a cache
// small. It changes the object it is given.
func Trim(object *unstructured.Unstructured) {
	object.SetManagedFields(nil)
	spec, ok := object.Object["spec"].(map[string]any)
	if !ok {
		return
	}
	maps.DeleteFunc(spec, func(field string, _ any) bool { return field != "router" })
	if router, ok := spec["router"].(map[string]any); ok {
		maps.DeleteFunc(router, func(field string, _ any) bool { return field != "route" })
	}
}
