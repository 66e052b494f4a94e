// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"cmp"
	"slices"
)

// Claim is what a model brings to a route that several models of a namespace
// use.
type Claim struct {
	// Model is the MaaSModelRef's name.
	Model string
	// Astray tells that the route is not at the gateway of the model's tenant, so
	// that the model cannot be served through it.
	Astray bool
	// Access and Limits tell whether an auth policy and a subscription of the
	// model's tenant refer to it.
	Access, Limits bool
}

// Governed tells whether the model has both.
func (c Claim) Governed() bool { return c.Access && c.Limits }

func (c Claim) rank() int {
	rank := 2
	switch {
	case c.Governed():
		rank = 0
	case c.Access || c.Limits:
		rank = 1
	}
	if c.Astray {
		rank += 3
	}
	return rank
}

// OwnerOfRoute is the model that has the policies of a shared route, of which
// there can be one of each kind: one whose tenant's gateway has the route before
// one that is astray, so that no tenant takes a route from another; a governed one
// before one that is half or not at all, so that a model nobody governs takes
// nothing away; then the first by name. The others have no policies, and their
// callers are refused. There must be at least one claim.
func OwnerOfRoute(claims []Claim) Claim {
	return slices.MinFunc(claims, func(a, b Claim) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Model, b.Model))
	})
}
