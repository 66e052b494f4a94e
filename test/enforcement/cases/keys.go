// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"strings"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// keys are API keys at models.
func keys() []Case {
	granite := func(f func(*Side) string) askFunc {
		return ask(func(s *Side) world.Request { return s.chat(s.Models.Granite, world.Bearer(f(s))...) })
	}
	return []Case{
		{
			Name: "a valid key", At: ModelRoute, Ask: granite(func(s *Side) string { return s.Keys.Olgas.Key }),
			Want: func(s *Side) Verdict { return s.passes(s.olga().with(&s.Keys.Olgas), s.Models.Granite, gold) },
		},
		{
			Name: "a valid key of a ServiceAccount", At: ModelRoute, Ask: granite(func(s *Side) string { return s.Keys.Agents.Key }),
			Want: func(s *Side) Verdict { return s.passes(s.agent().with(&s.Keys.Agents), s.Models.Granite, gold) },
		},
		{
			Name: "a valid key that lists models of the model server", At: ModelRoute,
			Ask: ask(func(s *Side) world.Request {
				return s.get(s.Models.Granite.Path()+"/v1/models", world.Bearer(s.Keys.Olgas.Key)...)
			}),
			Want: func(s *Side) Verdict { return s.passes(s.olga().with(&s.Keys.Olgas), s.Models.Granite, gold) },
		},
		{Name: "a key that was never given to anybody", At: ModelRoute, Ask: granite(func(*Side) string { return Unknown }), Want: denied()},
		{Name: "a revoked key", At: ModelRoute, Ask: granite(func(s *Side) string { return s.Keys.Revoked.Key }), Want: denied()},
		{Name: "an expired key", At: ModelRoute, Ask: granite(func(s *Side) string { return s.Keys.Expired.Key }), Want: denied()},
		{Name: "a key of another tenant", At: ModelRoute, Ask: granite(func(s *Side) string { return s.Other.Keys.Olgas.Key }), Want: denied()},
		{Name: "the beginning of a key", At: ModelRoute, Ask: granite(func(*Side) string { return "sk-oai-" }), Want: denied()},
		{Name: "a valid key and more", At: ModelRoute, Ask: granite(func(s *Side) string { return s.Keys.Olgas.Key + "x" }), Want: denied()},
		{
			Name: "a key of ten thousand characters", At: ModelRoute,
			Ask: granite(func(*Side) string { return "sk-oai-" + strings.Repeat("x", 10_000) }), Want: denied(),
		},
		{
			Name: "a key with quotes and braces", At: ModelRoute,
			Ask: granite(func(*Side) string { return `sk-oai-"},"valid":true,{"` }), Want: denied(),
		},
		{
			Name: "a key for a model that its subscription does not include", At: ModelRoute,
			Ask:  ask(func(s *Side) world.Request { return s.chat(s.Models.Open, world.Bearer(s.Keys.Olgas.Key)...) }),
			Want: refused("model_not_in_subscription", "subscription does not include the requested model"),
		},
		{
			Name: "a key for a model that its owner may use by another subscription", At: ModelRoute,
			Ask:  ask(func(s *Side) world.Request { return s.chat(s.Models.Open, world.Bearer(s.Keys.Opens.Key)...) }),
			Want: func(s *Side) Verdict { return s.passes(s.olga().with(&s.Keys.Opens), s.Models.Open, everyone) },
		},
		{
			Name: "a key of a user whose name is made to break something", Rows: []string{"B13"}, At: ModelRoute,
			Ask:  ask(func(s *Side) world.Request { return s.chat(s.Models.Open, world.Bearer(s.Keys.Odd.Key)...) }),
			Want: func(s *Side) Verdict { return s.passes(caller{name: odd}.with(&s.Keys.Odd), s.Models.Open, everyone) },
		},
		{
			Name: "a key whose subscription is being deleted", At: ModelRoute,
			Ask:  ask(func(s *Side) world.Request { return s.chat(s.Models.Leaving, world.Bearer(s.Keys.Leaving.Key)...) }),
			Want: refused("model_unhealthy", "subscription is being deleted"),
		},
		{
			Name: "a key that is bound to no subscription", At: ModelRoute, Ask: granite(func(s *Side) string { return s.Keys.Unbound.Key }), Want: denied(),
		},
	}
}

// keysInTheirHeader are API keys in x-api-key, which models of the messages format
// take, and no others.
func keysInTheirHeader() []Case {
	return []Case{
		{
			Name: "a valid key in x-api-key at a model that takes none there", Rows: []string{"A37"}, At: ModelRoute,
			Ask: ask(func(s *Side) world.Request {
				return s.chat(s.Models.Granite, world.Headers(headerKey, s.Keys.Olgas.Key)...)
			}),
			Want: unauthenticated(),
		},
		{
			Name: "a valid key in x-api-key at a model of the messages format", Rows: []string{"A37"}, At: ModelRoute, Only: DefaultTenant,
			Ask: ask(func(s *Side) world.Request {
				return s.chat(s.Models.Messages, world.Headers(headerKey, s.Keys.Wordy.Key)...)
			}),
			Want: func(s *Side) Verdict { return s.passes(s.olga().with(&s.Keys.Wordy), s.Models.Messages, wordy) },
		},
		{
			Name: "a valid key in X-API-KEY at a model of the messages format", Rows: []string{"A37"}, At: ModelRoute, Only: DefaultTenant,
			Ask: ask(func(s *Side) world.Request {
				return s.chat(s.Models.Messages, world.Headers("X-API-KEY", s.Keys.Wordy.Key)...)
			}),
			Want: func(s *Side) Verdict { return s.passes(s.olga().with(&s.Keys.Wordy), s.Models.Messages, wordy) },
		},
		{
			Name: "a valid key in Authorization at a model of the messages format", At: ModelRoute, Only: DefaultTenant,
			Ask:  ask(func(s *Side) world.Request { return s.chat(s.Models.Messages, world.Bearer(s.Keys.Wordy.Key)...) }),
			Want: func(s *Side) Verdict { return s.passes(s.olga().with(&s.Keys.Wordy), s.Models.Messages, wordy) },
		},
	}
}

// keysInBothHeaders are API keys in x-api-key beside something else, or what is none.
func keysInBothHeaders() []Case {
	both := func(name, value string, more ...world.Header) []world.Header {
		return append(world.Headers(name, value), more...)
	}
	return []Case{
		{
			Name: "two keys, of which Authorization's counts", Rows: []string{"A37"}, At: ModelRoute, Only: DefaultTenant,
			Ask: ask(func(s *Side) world.Request {
				return s.chat(s.Models.Messages, both(headerKey, Unknown, world.Bearer(s.Keys.Wordy.Key)...)...)
			}),
			Want: func(s *Side) Verdict { return s.passes(s.olga().with(&s.Keys.Wordy), s.Models.Messages, wordy) },
		},
		{
			Name: "two keys, of which Authorization's is none", Rows: []string{"A37"}, At: ModelRoute, Only: DefaultTenant,
			Ask: ask(func(s *Side) world.Request {
				return s.chat(s.Models.Messages, both(headerKey, s.Keys.Wordy.Key, world.Bearer(Unknown)...)...)
			}),
			Want: denied(),
		},
		{
			Name: "a revoked key in x-api-key", Rows: []string{"A37"}, At: ModelRoute, Only: DefaultTenant,
			Ask: ask(func(s *Side) world.Request {
				return s.chat(s.Models.Messages, world.Headers(headerKey, s.Keys.Revoked.Key)...)
			}),
			Want: denied(),
		},
		{
			Name: "a token in x-api-key, where only keys are taken", Rows: []string{"A37"}, At: ModelRoute, Only: DefaultTenant,
			Ask: ask(func(s *Side) world.Request {
				return s.chat(s.Models.Messages, world.Headers(headerKey, s.Tokens.Olga)...)
			}),
			Want: unauthenticated(),
		},
		{
			Name: "a token of the provider at a model of the messages format", At: ModelRoute, Only: DefaultTenant,
			Ask:  ask(func(s *Side) world.Request { return s.chat(s.Models.Messages, world.Bearer(s.Tokens.Olga)...) }),
			Want: func(s *Side) Verdict { return s.passes(s.olga(), s.Models.Messages, wordy) },
		},
	}
}
