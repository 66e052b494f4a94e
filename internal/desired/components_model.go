// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// modelComponents are the objects of one MaaSModelRef.
func modelComponents() []Component {
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
