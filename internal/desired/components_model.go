// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

const (
	limitedModel = "At least one MaaSSubscription of the model's tenant has an entry for the model that can be enforced, and no other model comes first on the HTTPRoute."
	guardedModel = "At least one MaaSAuthPolicy of the model's tenant names the model, and no other model comes first on the HTTPRoute."
)

// modelComponents are the objects of one MaaSModelRef.
func modelComponents() []Component {
	limits, auth := kuadrant.TokenRateLimitPolicy, kuadrant.AuthPolicy
	return []Component{
		row(stageLimits, model.TokenRateLimitPolicyTemplate, limits, values.ModelTokenRateLimitPolicy{}, limitedModel).requires(kuadrant.TokenRateLimitPolicyCRD),
		row(stageAccess, model.AuthPolicyTemplate, auth, values.ModelAuthPolicy{}, guardedModel).requires(kuadrant.AuthPolicyCRD),
	}
}
