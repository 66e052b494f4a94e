// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/engines"
)

// tokenAt makes requests of olga to a model, with further headers.
func tokenAt(model func(Models) world.Model, lines ...world.Header) askFunc {
	return ask(func(s *Side) world.Request {
		return s.chat(model(s.Models), append(world.Bearer(s.Tokens.Olga), lines...)...)
	})
}

// choose is the header that names a subscription.
func choose(name string) []world.Header { return world.Headers(headerSubscription, name) }

func several(m Models) world.Model { return m.Several }

// choices are callers who choose what they pay with.
func choices() []Case {
	return []Case{
		{
			Name: "a token with several subscriptions to choose from, and none chosen", At: ModelRoute, Ask: tokenAt(several),
			Want: refused("multiple_subscriptions", "user has access to multiple subscriptions, must specify subscription using X-MaaS-Subscription header"),
		},
		{
			Name: "a token that chooses one subscription", At: ModelRoute, Ask: tokenAt(several, choose(silver)...),
			Want: func(s *Side) Verdict { return s.passes(s.olga(), s.Models.Several, silver) },
		},
		{
			Name: "a token that chooses the other subscription", At: ModelRoute, Ask: tokenAt(several, choose(bronze)...),
			Want: func(s *Side) Verdict { return s.passes(s.olga(), s.Models.Several, bronze) },
		},
		{
			Name: "a token that chooses a subscription by its whole name", At: ModelRoute,
			Ask: ask(func(s *Side) world.Request {
				return s.chat(s.Models.Several, append(world.Bearer(s.Tokens.Olga), choose(s.key(silver))...)...)
			}),
			Want: func(s *Side) Verdict { return s.passes(s.olga(), s.Models.Several, silver) },
		},
		{
			Name: "a token that chooses a subscription in small letters", At: ModelRoute,
			Ask:  tokenAt(several, world.Headers("x-maas-subscription", bronze)...),
			Want: func(s *Side) Verdict { return s.passes(s.olga(), s.Models.Several, bronze) },
		},
	}
}

// uselessChoices are callers who choose what they cannot pay with.
func uselessChoices() []Case {
	notYours := refused("access_denied", "access denied to requested subscription")
	rows := []string{"A24"}
	return []Case{
		{Name: "a token that chooses what there is not", Rows: rows, At: ModelRoute, Ask: tokenAt(several, choose("secret")...), Want: notYours},
		{Name: "a token that chooses what is somebody else's", Rows: rows, At: ModelRoute, Ask: tokenAt(several, choose(strange)...), Want: notYours},
		{
			Name: "a token that chooses what is another tenant's", Rows: rows, At: ModelRoute, Want: notYours,
			Ask: ask(func(s *Side) world.Request {
				return s.chat(s.Models.Several, append(world.Bearer(s.Tokens.Olga), choose(s.Other.key(silver))...)...)
			}),
		},
		{
			Name: "a token that chooses two subscriptions", At: ModelRoute,
			Ask: tokenAt(several, world.Headers(headerSubscription, silver, headerSubscription, bronze)...), Want: refused("bad_request", notAName),
		},
		{
			Name: "a token that chooses with words that are no name", At: ModelRoute, Ask: tokenAt(several, choose(`silver" or true or "`)...),
			Want: refused("bad_request", notAName),
		},
		{
			Name: "a token that chooses a subscription without the model", At: ModelRoute, Ask: tokenAt(func(m Models) world.Model { return m.Granite }, choose(silver)...),
			Want: refused("model_not_in_subscription", "subscription does not include the requested model"),
		},
	}
}

// withoutSubscription are callers who have nothing to pay with.
func withoutSubscription() []Case {
	return []Case{
		{
			Name: "a token with a subscription for a model that no auth policy opens to it", At: ModelRoute, Want: denied(),
			Ask: changed(func(_ *Side, c engines.Claims) engines.Claims { return c.With("groups", []string{guests}) }),
		},
		{
			Name: "a token at a model that no subscription pays for", At: ModelRoute, Ask: tokenAt(func(m Models) world.Model { return m.Unpaid }),
			Want: refused("not_found", "no matching subscription found for user"),
		},
		{
			Name: "a token at a model whose limits are not enforced", Rows: []string{"B09", "B10"}, At: ModelRoute,
			Ask:  tokenAt(func(m Models) world.Model { return m.Contested }),
			Want: refused("model_unhealthy", "subscription rate limiting policies are not ready"),
		},
		{
			Name: "a token at a model whose only subscription is being deleted", At: ModelRoute,
			Ask:  tokenAt(func(m Models) world.Model { return m.Leaving }),
			Want: refused("not_found", "no matching subscription found for user"),
		},
		{
			Name: "a token that chooses a subscription that is being deleted", At: ModelRoute,
			Ask:  tokenAt(func(m Models) world.Model { return m.Leaving }, choose(leaving)...),
			Want: refused("model_unhealthy", "subscription is being deleted"),
		},
	}
}

// notAName is what maas-api says of a text that cannot name a subscription.
const notAName = "the requested subscription is no name: write <name> or <namespace>/<name>"
