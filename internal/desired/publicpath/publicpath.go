// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package publicpath is the one list of what a tenant's gateway leads to maas-api:
// the HTTPRoute is made of it, and every rule that tells the service's own paths
// from those of models.
package publicpath

import (
	"cmp"
	"slices"
	"strings"
)

// Path is a path on the gateway.
type Path struct {
	// Path is what a request asks for: itself and what is below it.
	Path string
	// Exact leaves out what is below.
	Exact bool
	// Target is the path at maas-api that takes its place; empty: the same.
	Target string
}

// Health answers without credentials.
const Health = "/maas-api/health"

// base is the first part of the paths that only maas-api has.
const base = "/maas-api"

// Paths are all of them. The order of the first three is fixed: payload processing
// refers to them by their place. There is none for /maas-api as a whole, so that
// nothing else of the service, above all /internal, is reachable from outside.
func Paths() []Path {
	return []Path{
		{Path: "/v1/models"},
		{Path: "/v1/subscriptions"},
		{Path: "/v1/api-keys"},
		{Path: base + "/v1/models", Target: "/v1/models"},
		{Path: base + "/v1/model", Target: "/v1/model"},
		{Path: base + "/v1/subscriptions", Target: "/v1/subscriptions"},
		{Path: base + "/v1/api-keys", Target: "/v1/api-keys"},
		{Path: Health, Exact: true, Target: "/health"},
	}
}

// HealthPaths are those that answer without credentials, before and after they were
// replaced, sorted.
func HealthPaths() []string {
	var paths []string
	for _, p := range Paths() {
		if p.Path == Health {
			paths = append(paths, p.Path, p.Target)
		}
	}
	slices.Sort(paths)
	return paths
}

// Management are the paths of the service itself, sorted: those that clients ask
// for, and those at maas-api that take their place, because a gateway may look at a
// request again after its path was replaced. Nothing of them is inference, and no
// limit of tokens applies. They are not simply all that begins with /maas-api: a
// model of a namespace maas-api, or maas-api-2, is inference.
func Management() []Path {
	paths := Paths()
	all := make([]Path, 0, 2*len(paths))
	for _, p := range paths {
		all = append(all, Path{Path: p.Path, Exact: p.Exact}, Path{Path: cmp.Or(p.Target, p.Path), Exact: p.Exact})
	}
	slices.SortFunc(all, func(a, b Path) int { return strings.Compare(a.Path, b.Path) })
	return slices.Compact(all)
}
