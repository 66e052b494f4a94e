// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package desired holds the component table: which templates exist, what they
// render, when their objects are wanted, what the cluster must serve for them,
// in which order they are applied and which values they take. The packages
// below this one decide whether a particular object is wanted, and compute its
// values.
package desired

import (
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// Stages order the objects of one unit of work: lower ones are applied first.
const (
	// stageLimits comes before access: whoever is let in is limited already.
	stageLimits = 10
	stageAccess = 20
)

// Component is one row of the component table: an object the operator writes.
type Component struct {
	render.Entry
	// WantedWhen says for readers when there is such an object. It is removed
	// when that no longer holds.
	WantedWhen string
	// Requires is the name of the CustomResourceDefinition without which the
	// object cannot be written; empty for kinds that every cluster serves.
	Requires string
}

// Table is the component table.
func Table() []Component {
	return []Component{
		{
			Entry: render.Entry{
				ID: model.TokenRateLimitPolicyTemplate, Stage: stageLimits,
				GVK: kuadrant.TokenRateLimitPolicy, Values: values.ModelTokenRateLimitPolicy{},
			},
			WantedWhen: "At least one MaaSSubscription of the model's tenant has an entry for the model that can be enforced, and no other model comes first on the HTTPRoute.",
			Requires:   kuadrant.TokenRateLimitPolicyCRD,
		},
		{
			Entry: render.Entry{
				ID: model.AuthPolicyTemplate, Stage: stageAccess,
				GVK: kuadrant.AuthPolicy, Values: values.ModelAuthPolicy{},
			},
			WantedWhen: "At least one MaaSAuthPolicy of the model's tenant names the model, and no other model comes first on the HTTPRoute.",
			Requires:   kuadrant.AuthPolicyCRD,
		},
	}
}

// Components is the part of the table that rendering needs.
func Components() []render.Entry {
	table := Table()
	entries := make([]render.Entry, 0, len(table))
	for i := range table {
		entries = append(entries, table[i].Entry)
	}
	return entries
}
