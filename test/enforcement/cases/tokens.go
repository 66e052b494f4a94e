// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"fmt"
	"slices"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/engines"
)

// askFunc makes the request of a case.
type askFunc = func(context.Context, *Side) (world.Request, error)

// clusterTokens are tokens of ServiceAccounts at models.
func clusterTokens() []Case {
	at := func(model func(Models) world.Model, token func(*Side) string) askFunc {
		return ask(func(s *Side) world.Request { return s.chat(model(s.Models), world.Bearer(token(s))...) })
	}
	granite := func(m Models) world.Model { return m.Granite }
	return []Case{
		{
			Name: "a token of the cluster", At: ModelRoute, Ask: at(granite, func(s *Side) string { return s.Tokens.Agent }),
			Want: func(s *Side) Verdict { return s.passes(s.agent(), s.Models.Granite, gold) },
		},
		{
			Name: "a token of the cluster for another audience", At: ModelRoute,
			Ask: at(granite, func(s *Side) string { return s.Tokens.AgentElsewhere }), Want: unauthenticated(),
		},
		{
			Name: "a token of the cluster for the audience of maas-api alone", At: ModelRoute,
			Ask: at(granite, func(s *Side) string { return s.Tokens.AgentAtGateway }), Want: unauthenticated(),
		},
		{
			Name: "a token of the cluster without a group that may", At: ModelRoute,
			Ask: at(granite, func(s *Side) string { return s.Tokens.Stranger }), Want: refused("not_found", "no matching subscription found for user"),
		},
		{
			Name: "a token of the cluster without a group, at a model for everybody", At: ModelRoute,
			Ask: at(func(m Models) world.Model { return m.Open }, func(s *Side) string { return s.Tokens.Stranger }),
			Want: func(s *Side) Verdict {
				who := caller{name: stranger, groups: []string{"system:serviceaccounts", "system:serviceaccounts:strangers"}}
				return s.passes(who, s.Models.Open, everyone)
			},
		},
		{
			Name: "a token of a ServiceAccount that is gone", At: ModelRoute, Ask: at(granite, func(s *Side) string { return s.Tokens.Gone }), Want: unauthenticated(),
		},
		{
			Name: "a token of the cluster in which somebody wrote another name", At: ModelRoute,
			Ask: at(granite, func(s *Side) string { return s.Tokens.Tampered }), Want: unauthenticated(),
		},
	}
}

// lonelySpaces are credentials that a server takes for none where it cuts a header into
// words. To the cluster a request without a credential is one of system:anonymous.
func lonelySpaces() []string { return []string{" x", " a.b.c", " sk-oai-x", "x y", "a.b.c d", " "} }

// whiteSpace is one word, and nothing at all to a server that takes all white space
// off its ends.
const whiteSpace = "\u00a0"

// noTokens are credentials that are none.
func noTokens() []Case {
	at := func(credential string) askFunc {
		return ask(func(s *Side) world.Request { return s.chat(s.Models.Granite, world.Bearer(credential)...) })
	}
	var all []Case
	for _, credential := range lonelySpaces() {
		all = append(all, Case{
			Name: fmt.Sprintf("%q for a token, at a model for everybody", credential), At: ModelRoute, Want: unauthenticated(),
			Ask: ask(func(s *Side) world.Request { return s.chat(s.Models.Open, world.Bearer(credential)...) }),
		})
	}
	return append(all, []Case{
		{
			Name: "white space for a token, at a model for everybody", At: ModelRoute, Want: denied(),
			Ask: ask(func(s *Side) world.Request { return s.chat(s.Models.Open, world.Bearer(whiteSpace)...) }),
		},
		{Name: "a word for a token", At: ModelRoute, Ask: at("word"), Want: unauthenticated()},
		{Name: "three words for a token", At: ModelRoute, Ask: at("a.b.c"), Want: unauthenticated()},
		{Name: "no credential", At: ModelRoute, Ask: ask(func(s *Side) world.Request { return s.chat(s.Models.Granite) }), Want: unauthenticated()},
		{
			Name: "an empty credential", At: ModelRoute,
			Ask:  ask(func(s *Side) world.Request { return s.chat(s.Models.Granite, world.Headers("Authorization", "")...) }),
			Want: unauthenticated(),
		},
		{
			Name: "a password", At: ModelRoute,
			Ask: ask(func(s *Side) world.Request {
				return s.chat(s.Models.Granite, world.Headers("Authorization", "Basic b2xnYTpvbGdh")...)
			}),
			Want: unauthenticated(),
		},
		{
			Name: "a valid key without the word Bearer", At: ModelRoute,
			Ask: ask(func(s *Side) world.Request {
				return s.chat(s.Models.Granite, world.Headers("Authorization", s.Keys.Olgas.Key)...)
			}),
			Want: unauthenticated(),
		},
		{
			Name: "two credentials in two lines", At: ModelRoute,
			Ask: ask(func(s *Side) world.Request {
				return s.chat(s.Models.Granite, append(world.Bearer(Unknown), world.Bearer(s.Keys.Olgas.Key)...)...)
			}),
			Want: denied(),
		},
	}...)
}

// providerTokens are tokens of the tenant's provider, and of others, at models.
func providerTokens() []Case {
	return append(honestTokens(), lyingTokens()...)
}

func honestTokens() []Case {
	token := func(model func(Models) world.Model, f func(*Side) string) askFunc {
		return ask(func(s *Side) world.Request { return s.chat(model(s.Models), world.Bearer(f(s))...) })
	}
	granite, open := func(m Models) world.Model { return m.Granite }, func(m Models) world.Model { return m.Open }
	return []Case{
		{
			Name: "a token of the provider with groups", At: ModelRoute, Ask: token(granite, func(s *Side) string { return s.Tokens.Olga }),
			Want: func(s *Side) Verdict { return s.passes(s.olga(), s.Models.Granite, gold) },
		},
		{
			Name: "a token of the provider without groups", At: ModelRoute, Ask: token(granite, func(s *Side) string { return s.Tokens.Otto }),
			Want: refused("not_found", "no matching subscription found for user"),
		},
		{
			Name: "a token of the provider without groups, at a model for everybody", At: ModelRoute,
			Ask:  token(open, func(s *Side) string { return s.Tokens.Otto }),
			Want: func(s *Side) Verdict { return s.passes(s.otto(), s.Models.Open, everyone) },
		},
		{
			Name: "a token of another tenant's provider", At: ModelRoute, Ask: token(granite, func(s *Side) string { return s.Other.Tokens.Olga }), Want: unauthenticated(),
		},
		{
			Name: "a token of another tenant's provider, at a model for everybody", At: ModelRoute,
			Ask: token(open, func(s *Side) string { return s.Other.Tokens.Olga }), Want: unauthenticated(),
		},
	}
}

// changed makes a request to granite with a token of olga that says something else.
func changed(change func(*Side, engines.Claims) engines.Claims) askFunc {
	return func(ctx context.Context, s *Side) (world.Request, error) {
		token, err := s.lie(ctx, func(c engines.Claims) engines.Claims { return change(s, c) })
		return s.chat(s.Models.Granite, world.Bearer(token)...), err
	}
}

// lyingTokens differ from an honest token in one point each.
func lyingTokens() []Case {
	return slices.Concat(audiences(), issuers(), times(), namesInTokens(), signatures(), membershipLies())
}

// claim makes a request to granite with a token of olga that has another claim.
func claim(name string, value any) askFunc {
	return changed(func(_ *Side, c engines.Claims) engines.Claims { return c.With(name, value) })
}

// audiences are tokens that were not, or may not have been, issued to our client.
func audiences() []Case {
	asOlga := func(s *Side) Verdict { return s.passes(s.olga(), s.Models.Granite, gold) }
	return []Case{
		{Name: "a token for another client", At: ModelRoute, Ask: claim("azp", "somebody-else"), Want: denied()},
		{
			Name: "a token for another client that names ours as an audience", At: ModelRoute, Want: denied(),
			Ask: changed(func(s *Side, c engines.Claims) engines.Claims {
				return c.With("azp", "somebody-else").With("aud", []string{"somebody-else", s.Tenant.ClientID})
			}),
		},
		{
			Name: "a token without a client, for another audience", At: ModelRoute, Want: denied(),
			Ask: changed(func(_ *Side, c engines.Claims) engines.Claims {
				return c.Without("azp").With("aud", []string{"somebody-else"})
			}),
		},
		{
			Name: "a token without a client, for our audience among others", At: ModelRoute, Want: asOlga,
			Ask: changed(func(s *Side, c engines.Claims) engines.Claims {
				return c.Without("azp").With("aud", []string{"somebody-else", s.Tenant.ClientID})
			}),
		},
		{
			Name: "a token without a client, for our audience alone, as a text", At: ModelRoute, Want: asOlga,
			Ask: changed(func(s *Side, c engines.Claims) engines.Claims { return c.Without("azp").With("aud", s.Tenant.ClientID) }),
		},
		{
			Name: "a token without a client and without an audience", At: ModelRoute, Want: denied(),
			Ask: changed(func(_ *Side, c engines.Claims) engines.Claims { return c.Without("azp", "aud") }),
		},
		{
			Name: "a token for the client of another tenant", At: ModelRoute, Want: denied(),
			Ask: changed(func(s *Side, c engines.Claims) engines.Claims {
				return c.With("azp", s.Other.Tenant.ClientID).With("aud", []string{s.Other.Tenant.ClientID})
			}),
		},
		{
			Name: "a token for an audience that only begins like ours", At: ModelRoute, Want: denied(),
			Ask: changed(func(s *Side, c engines.Claims) engines.Claims {
				return c.Without("azp").With("aud", s.Tenant.ClientID+"-2")
			}),
		},
	}
}

// issuers are tokens of others that the provider's key has signed: providers may share
// their keys.
func issuers() []Case {
	return []Case{
		{
			Name: "a token of another issuer that the provider's key has signed", At: ModelRoute, Want: keptOut(),
			Ask: claim("iss", "https://elsewhere.example.com/realms/maas"),
		},
		{
			Name: "a token of an issuer that begins like the provider", At: ModelRoute, Want: keptOut(),
			Ask: changed(func(s *Side, c engines.Claims) engines.Claims { return c.With("iss", s.Tenant.OIDC.Issuer()+"/") }),
		},
		{
			Name: "a token without an issuer", At: ModelRoute, Want: keptOut(),
			Ask: changed(func(_ *Side, c engines.Claims) engines.Claims { return c.Without("iss") }),
		},
		{
			Name: "a token without an issuer that says what the cluster says of its own", At: ModelRoute, Want: keptOut(),
			Ask: changed(func(_ *Side, c engines.Claims) engines.Claims {
				return c.Without("iss").With("user", map[string]any{"username": agent, "groups": []string{team}, "uid": "1"})
			}),
		},
		{
			Name: "a token that says what the cluster says of its own", At: ModelRoute,
			Ask:  claim("user", map[string]any{"username": agent, "groups": []string{team}, "uid": "1"}),
			Want: func(s *Side) Verdict { return s.passes(s.olga(), s.Models.Granite, gold) },
		},
	}
}

// times are tokens that are not valid now.
func times() []Case {
	return []Case{
		{Name: "a token that is over", At: ModelRoute, Ask: claim("exp", past()), Want: unauthenticated()},
		{Name: "a token that is not valid yet", At: ModelRoute, Ask: claim("nbf", future()), Want: unauthenticated()},
	}
}

// namesInTokens are tokens of users who cannot be the provider's.
func namesInTokens() []Case {
	return []Case{
		{Name: "a token of a user of the cluster", At: ModelRoute, Ask: claim("preferred_username", agent), Want: denied()},
		{
			Name: "a token of a subject of the cluster", At: ModelRoute, Want: denied(),
			Ask: changed(func(_ *Side, c engines.Claims) engines.Claims {
				return c.Without("preferred_username").With("sub", agent)
			}),
		},
		{Name: "a token of nobody", At: ModelRoute, Ask: changed(func(_ *Side, c engines.Claims) engines.Claims { return c.Without("preferred_username", "sub") }), Want: denied()},
	}
}

// signatures are tokens that somebody else has signed.
func signatures() []Case {
	by := func(sign func(context.Context, *Side, engines.Claims) (string, error)) askFunc {
		return func(ctx context.Context, s *Side) (world.Request, error) {
			token, err := sign(ctx, s, s.Tenant.Claims(olga, staff))
			return s.chat(s.Models.Granite, world.Bearer(token)...), err
		}
	}
	return []Case{
		{
			Name: "a token that is signed with a key the provider does not publish", At: ModelRoute, Want: unauthenticated(),
			Ask: by(func(ctx context.Context, s *Side, c engines.Claims) (string, error) {
				return s.Tenant.OIDC.MintForeign(ctx, c)
			}),
		},
		{
			Name: "a token in the provider's name that another tenant's provider signed", At: ModelRoute, Want: unauthenticated(),
			Ask: by(func(ctx context.Context, s *Side, c engines.Claims) (string, error) {
				return s.Other.Tenant.Token(ctx, c)
			}),
		},
		{
			Name: "a token in which somebody wrote another name", At: ModelRoute, Want: unauthenticated(),
			Ask: ask(func(s *Side) world.Request {
				return s.chat(s.Models.Granite, world.Bearer(tampered(s.Tokens.Otto, map[string]any{"groups": []string{staff}}))...)
			}),
		},
		{
			Name: "a token that nobody has signed", At: ModelRoute, Want: unauthenticated(),
			Ask: ask(func(s *Side) world.Request {
				return s.chat(s.Models.Granite, world.Bearer(unsigned(s.Tenant.Claims(olga, staff)))...)
			}),
		},
	}
}

// membershipLies are tokens with groups as they should not be.
func membershipLies() []Case {
	groups := func(value any) askFunc {
		return changed(func(_ *Side, c engines.Claims) engines.Claims { return c.With("groups", value) })
	}
	nobody := refused("not_found", "no matching subscription found for user")
	return []Case{
		{
			Name: "a token that claims groups of the cluster beside its own", At: ModelRoute,
			Ask:  groups([]string{"system:masters", staff, team}),
			Want: func(s *Side) Verdict { return s.passes(s.olga(), s.Models.Granite, gold) },
		},
		{Name: "a token that claims groups of the cluster only", At: ModelRoute, Ask: groups([]string{team, "system:masters"}), Want: nobody},
		{
			Name: "a token with groups that a list cannot carry, beside a good one", At: ModelRoute,
			Ask:  groups([]string{"a,b", `x"y`, "new\nline", staff, "", "ümlaut"}),
			Want: func(s *Side) Verdict { return s.passes(s.olga(), s.Models.Granite, gold) },
		},
		{Name: "a token with a group that joins others to ours", At: ModelRoute, Ask: groups([]string{"other," + staff}), Want: nobody},
		{Name: "a token with groups that are a text", At: ModelRoute, Ask: groups(staff), Want: nobody},
		{Name: "a token with groups that are no texts", At: ModelRoute, Ask: groups([]any{1, true, nil, map[string]any{"name": staff}}), Want: nobody},
	}
}
