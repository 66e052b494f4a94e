// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package values

// ModelAuthPolicy feeds model/authpolicy-maas-auth: who a caller of a model
// is, which subscription applies, and whether the call may pass.
type ModelAuthPolicy struct {
	// Meta is the policy's metadata.
	Meta Meta
	// Target is the model's HTTPRoute.
	Target RouteTarget
	// Audiences are the token audiences accepted by TokenReview.
	Audiences []string
	// KeyHeader holds one element when API keys are accepted in the x-api-key
	// header too.
	KeyHeader []KeyHeader
	// OIDC holds one element when the tenant has an OpenID Connect provider.
	OIDC []OIDCProvider
	// Validate is the maas-api callback that checks an API key.
	Validate Callback
	// Select is the maas-api callback that picks the subscription.
	Select Callback
	// Rules are the authorization predicates. All of them must hold. They are
	// total: none raises an error when an optional field is missing, because
	// Authorino skips a rule whose condition fails.
	Rules []AuthorizationRule
	// Identity are the properties exposed as auth.identity to rate limits and
	// telemetry, sorted by name.
	Identity []NamedExpression
	// Headers are the request headers set for the model server.
	Headers []NamedExpression
	// Credentials classify the request.
	Credentials CredentialExpressions
	// Denied describes the reply to an authenticated caller who may not pass.
	Denied DeniedReply
}

// KeyHeader describes API keys in the x-api-key header.
type KeyHeader struct {
	// When is the CEL predicate that tells whether the header holds the key
	// of the request.
	When string
}

// OIDCProvider is the OpenID Connect provider of a tenant.
type OIDCProvider struct {
	// IssuerURL must equal the iss claim of the tokens, to the letter.
	IssuerURL string
	// TTLSeconds is how long the provider's signing keys are cached.
	TTLSeconds int64
	// When is the CEL predicate that tells whether the bearer token looks like
	// a JWT.
	When string
}

// Callback is a request the gateway makes to maas-api.
type Callback struct {
	// URL is the absolute https address.
	URL string
	// When is the CEL predicate that tells whether the callback is needed.
	When string
	// Body is the CEL expression of the JSON body.
	Body string
	// CacheKey is the CEL expression that names the cached reply. Two requests
	// with different bodies never have the same key.
	CacheKey string
	// CacheTTLSeconds is how long a reply is reused. Zero turns caching off.
	CacheTTLSeconds int64
}

// AuthorizationRule is a named set of CEL predicates that must all hold.
type AuthorizationRule struct {
	// Name is the rule's key in the policy.
	Name string
	// Predicates are CEL expressions of type bool.
	Predicates []string
}

// NamedExpression is a CEL expression with the name of its result.
type NamedExpression struct {
	// Name is the property or header name.
	Name string
	// Expression is the CEL expression. It never yields null.
	Expression string
}

// CredentialExpressions are CEL predicates on the kind of credential.
type CredentialExpressions struct {
	// Token holds when the request carries no API key.
	Token string
}

// DeniedReply are the CEL expressions of the 403 reply.
type DeniedReply struct {
	// Message is the text shown to the caller.
	Message string
	// Reason is the machine-readable code in x-ext-auth-reason.
	Reason string
}
