// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// gatewayComponents are the objects of one tenant: the policies of a tenant's Gateway and of maas-api behind it.
func gatewayComponents() []Component {
	return []Component{
		{
			Entry: render.Entry{
				ID: access.GatewayDenyTemplate, Stage: stageLimits,
				GVK: kuadrant.TokenRateLimitPolicy, Values: values.GatewayTokenRateLimitPolicy{},
			},
			WantedWhen: "The tenant's Gateway exists.",
			Requires:   kuadrant.TokenRateLimitPolicyCRD,
		},
		{
			Entry: render.Entry{
				ID: access.GatewayAuthTemplate, Stage: stageAccess,
				GVK: kuadrant.AuthPolicy, Values: values.GatewayAuthPolicy{},
			},
			WantedWhen: "The tenant's Gateway exists.",
			Requires:   kuadrant.AuthPolicyCRD,
		},
		{
			Entry: render.Entry{
				ID: access.MaaSAPIPolicyTemplate, Stage: stageAccess,
				GVK: kuadrant.AuthPolicy, Values: values.MaaSAPIAuthPolicy{},
			},
			WantedWhen: "The tenant has a maas-api, and its OpenID Connect provider, if it has one, is usable.",
			Requires:   kuadrant.AuthPolicyCRD,
		},
	}
}
