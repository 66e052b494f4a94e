// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package values

// GatewayTarget names the Gateway a policy attaches to. It lies in the policy's
// own namespace, as Gateway API policies require.
type GatewayTarget struct {
	// Name is the Gateway's name.
	Name string
}

// GatewayAuthPolicy feeds gateway/authpolicy-gateway-default-auth: nobody passes
// where no route has a policy of its own.
type GatewayAuthPolicy struct {
	// Meta is the policy's metadata.
	Meta Meta
	// Target is the tenant's Gateway.
	Target GatewayTarget
}

// GatewayTokenRateLimitPolicy feeds
// gateway/tokenratelimitpolicy-gateway-default-deny: no tokens for anybody where no
// route has limits of its own.
type GatewayTokenRateLimitPolicy struct {
	// Meta is the policy's metadata.
	Meta Meta
	// Target is the tenant's Gateway.
	Target GatewayTarget
	// Inference is the CEL predicate that tells requests that may use tokens from
	// those for maas-api itself. It must hold before and after the path of a request
	// was replaced on its way to maas-api, and whatever its query is.
	Inference string
	// Nobody is the CEL predicate that tells requests that were let through although
	// nobody is known for them, but for those that need not be anybody's.
	Nobody string
}
