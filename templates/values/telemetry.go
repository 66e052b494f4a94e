// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package values

// GatewayTelemetryPolicy feeds gateway/telemetrypolicy-maas-telemetry: the labels of
// the usage metrics of a tenant's Gateway.
type GatewayTelemetryPolicy struct {
	// Meta is the policy's metadata.
	Meta Meta
	// Target is the tenant's Gateway.
	Target GatewayTarget
	// MetricLabels are the labels, sorted by name. There is at least one, and each
	// expression yields a text for every request: one that fails would cost the count
	// of the request.
	MetricLabels []NamedExpression
}

// GatewayTelemetry feeds gateway/telemetry-latency-per-subscription: how the proxies of
// a tenant's Gateway measure latencies.
type GatewayTelemetry struct {
	// Meta is the Telemetry's metadata.
	Meta Meta
	// Gateway is the name of the tenant's Gateway, in the same namespace.
	Gateway string
	// Subscription is the CEL expression of the tag subscription. It is evaluated for
	// every request, also for those that were refused, and must take nothing at its
	// word that a client can set.
	Subscription string
}
