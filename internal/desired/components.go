// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package desired holds the component table: which templates exist, what they
// render, in which order objects are applied and which values they take.
// Whether an object is wanted is decided by the packages below this one.
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

// Components is the component table.
func Components() []render.Entry {
	return []render.Entry{
		{ID: model.TokenRateLimitPolicyTemplate, Stage: stageLimits, GVK: kuadrant.TokenRateLimitPolicy, Values: values.ModelTokenRateLimitPolicy{}},
		{ID: model.AuthPolicyTemplate, Stage: stageAccess, GVK: kuadrant.AuthPolicy, Values: values.ModelAuthPolicy{}},
	}
}
