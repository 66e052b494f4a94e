// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/desired/telemetry"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

const (
	guardedGateway = "The tenant's Gateway exists."
	measured       = "The same as for the Gateway's policies, its telemetry is not switched off, and the cluster serves the kind."
	guardedService = "The tenant has a maas-api, and its OpenID Connect provider, if it has one, is usable."
)

// gatewayComponents are the objects of one tenant: the policies of a tenant's Gateway and of maas-api behind it.
func gatewayComponents() []Component {
	limits, auth := kuadrant.TokenRateLimitPolicy, kuadrant.AuthPolicy
	labels := schema.GroupVersionKind{Group: "extensions.kuadrant.io", Version: "v1alpha1", Kind: "TelemetryPolicy"}
	latencies := schema.GroupVersionKind{Group: "telemetry.istio.io", Version: "v1", Kind: "Telemetry"}
	return []Component{
		row(stageDefault, access.GatewayAuthTemplate, auth, values.GatewayAuthPolicy{}, guardedGateway).requires(kuadrant.AuthPolicyCRD),
		row(stageLimits, access.GatewayDenyTemplate, limits, values.GatewayTokenRateLimitPolicy{}, guardedGateway).requires(kuadrant.TokenRateLimitPolicyCRD),
		row(stageAccess, access.MaaSAPIPolicyTemplate, auth, values.MaaSAPIAuthPolicy{}, guardedService).requires(kuadrant.AuthPolicyCRD),
		row(stageTelemetry, telemetry.PolicyTemplate, labels, values.GatewayTelemetryPolicy{}, measured).optionally(telemetry.PolicyCRD),
		row(stageTelemetry, telemetry.LatencyTemplate, latencies, values.GatewayTelemetry{}, measured).optionally(telemetry.LatencyCRD),
	}
}
