// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

const (
	guardedGateway = "The tenant's Gateway exists."
	guardedService = "The tenant has a maas-api, and its OpenID Connect provider, if it has one, is usable."
)

// gatewayComponents are the objects of one tenant: the policies of a tenant's Gateway and of maas-api behind it.
func gatewayComponents() []Component {
	limits, auth := kuadrant.TokenRateLimitPolicy, kuadrant.AuthPolicy
	return []Component{
		row(stageDefault, access.GatewayAuthTemplate, auth, values.GatewayAuthPolicy{}, guardedGateway).requires(kuadrant.AuthPolicyCRD),
		row(stageLimits, access.GatewayDenyTemplate, limits, values.GatewayTokenRateLimitPolicy{}, guardedGateway).requires(kuadrant.TokenRateLimitPolicyCRD),
		row(stageAccess, access.MaaSAPIPolicyTemplate, auth, values.MaaSAPIAuthPolicy{}, guardedService).requires(kuadrant.AuthPolicyCRD),
	}
}
