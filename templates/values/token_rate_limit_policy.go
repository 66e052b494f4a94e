// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package values

// ModelTokenRateLimitPolicy feeds model/tokenratelimitpolicy-maas-trlp: the
// one policy that holds the token limits of every subscription of a model.
type ModelTokenRateLimitPolicy struct {
	// Meta is the policy's metadata.
	Meta Meta
	// Target is the model's HTTPRoute.
	Target RouteTarget
	// Limits are sorted by name. There is at least one.
	Limits []TokenLimit
	// Nobody is the CEL predicate that tells requests that were let through although
	// nobody is known for them. They get nothing.
	Nobody string
}

// TokenLimit is one named limit, shared by all subscriptions of a model that
// have the same rates.
type TokenLimit struct {
	// Name identifies the limit's counters in Limitador. Renaming it resets
	// them.
	Name string
	// Rates are sorted and distinct. Empty means unlimited: usage is reported
	// and nothing is refused.
	Rates []TokenRate
	// Predicate is the CEL expression that tells whether the limit applies to
	// a request.
	Predicate string
	// Counters are the CEL expressions that keep the counters of different
	// subscriptions and users apart.
	Counters []string
}

// TokenRate is a number of tokens per fixed window.
type TokenRate struct {
	// Limit is the number of tokens, 1 to 1000000000.
	Limit int64
	// Window is the length of the window, such as 1m or 24h.
	Window string
}
