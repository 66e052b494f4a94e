// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package values

// MaaSAPIAuthPolicy feeds tenant/authpolicy-maas-api-auth-policy: who a caller of
// maas-api itself is.
type MaaSAPIAuthPolicy struct {
	// Meta is the policy's metadata.
	Meta Meta
	// Target is the HTTPRoute that leads to the tenant's maas-api.
	Target RouteTarget
	// Guarded is the CEL predicate that tells requests to which the policy applies;
	// others pass without it, and without an identity.
	Guarded string
	// Audiences are the token audiences accepted by TokenReview.
	Audiences []string
	// KeyHeader holds one element when API keys are accepted in the x-api-key
	// header too.
	KeyHeader []KeyHeader
	// OIDC holds one element when the tenant has an OpenID Connect provider.
	OIDC []OIDCProvider
	// Validate is the maas-api callback that checks an API key.
	Validate Callback
	// Rules are the authorization predicates. All of them must hold. They are
	// total: none raises an error when an optional field is missing, because
	// Authorino skips a rule whose condition fails.
	Rules []AuthorizationRule
	// Identity are the properties exposed as auth.identity to telemetry, sorted by
	// name.
	Identity []NamedExpression
	// Headers are the request headers set for maas-api, which believes them.
	Headers []NamedExpression
	// Credentials classify the request.
	Credentials CredentialExpressions
}
