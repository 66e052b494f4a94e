// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/engines"
)

// serviceCases are callers of maas-api.
func serviceCases() []Case {
	return slices.Concat(serviceCallers(), serviceKnows(), serviceRefusals(), serviceTokens(), serviceHealth(), serviceNames())
}

// serviceCallers are who gets to maas-api, on every path that leads there.
func serviceCallers() []Case {
	var all []Case
	for _, path := range []string{"/v1/models", "/v1/subscriptions", "/maas-api/v1/models", "/maas-api/v1/subscriptions"} {
		at := func(f func(*Side) []world.Header) askFunc {
			return ask(func(s *Side) world.Request { return s.get(path, f(s)...) })
		}
		bearer := func(f func(*Side) string) askFunc {
			return at(func(s *Side) []world.Header { return world.Bearer(f(s)) })
		}
		to := func(c Case) { c.At, c.Name = ServiceRoute, c.Name+" at "+path; all = append(all, c) }
		to(Case{Name: "a valid key", Ask: bearer(func(s *Side) string { return s.Keys.Olgas.Key }), Want: func(s *Side) Verdict {
			return s.knows(s.olga().with(&s.Keys.Olgas), gold)
		}})
		to(Case{Name: "a valid key that names another subscription", Rows: []string{"A23"}, Ask: at(func(s *Side) []world.Header {
			return append(world.Headers(headerSubscription, silver), world.Bearer(s.Keys.Olgas.Key)...)
		}), Want: func(s *Side) Verdict { return s.knows(s.olga().with(&s.Keys.Olgas), gold) }})
		to(Case{Name: "a token of the cluster", Ask: bearer(func(s *Side) string { return s.Tokens.Agent }), Want: func(s *Side) Verdict { return s.knows(s.agent(), "") }})
		to(Case{
			Name: "a token of the cluster for the audience of maas-api", Ask: bearer(func(s *Side) string { return s.Tokens.AgentAtGateway }),
			Want: func(s *Side) Verdict { return s.knows(s.agent(), "") },
		})
		to(Case{Name: "a token of the provider", Ask: bearer(func(s *Side) string { return s.Tokens.Olga }), Want: func(s *Side) Verdict { return s.knows(s.olga(), "") }})
		to(Case{Name: "a token of the provider without groups", Ask: bearer(func(s *Side) string { return s.Tokens.Otto }), Want: func(s *Side) Verdict {
			return s.knows(s.otto(), "")
		}})
		for _, credential := range lonelySpaces() {
			to(Case{Name: fmt.Sprintf("%q for a token", credential), Ask: bearer(func(*Side) string { return credential }), Want: unauthenticated()})
		}
		for what, key := range inOrder(map[string]func(*Side) string{
			"white space for a token": func(*Side) string { return whiteSpace },
			"an unknown key":          func(*Side) string { return Unknown }, "a revoked key": func(s *Side) string { return s.Keys.Revoked.Key },
			"an expired key": func(s *Side) string { return s.Keys.Expired.Key }, "a key of another tenant": func(s *Side) string { return s.Other.Keys.Olgas.Key },
			"a key without a subscription": func(s *Side) string { return s.Keys.Unbound.Key },
		}) {
			to(Case{Name: what, Ask: bearer(key), Want: denied()})
		}
		for what, token := range inOrder(map[string]func(*Side) string{
			"a token of the cluster for another audience": func(s *Side) string { return s.Tokens.AgentElsewhere },
			"a token of a ServiceAccount that is gone":    func(s *Side) string { return s.Tokens.Gone },
			"a token of another tenant's provider":        func(s *Side) string { return s.Other.Tokens.Olga },
		}) {
			to(Case{Name: what, Ask: bearer(token), Want: unauthenticated()})
		}
		to(Case{Name: "no credential", Ask: at(func(*Side) []world.Header { return nil }), Want: unauthenticated()})
		to(Case{Name: "a valid key in x-api-key", Only: DefaultTenant, Rows: []string{"A37"}, Ask: at(func(s *Side) []world.Header {
			return world.Headers(headerKey, s.Keys.Olgas.Key)
		}), Want: func(s *Side) Verdict { return s.knows(s.olga().with(&s.Keys.Olgas), gold) }})
		to(Case{
			Name: "a token in x-api-key, where only keys are taken", Only: DefaultTenant, Rows: []string{"A37"}, Want: unauthenticated(),
			Ask: at(func(s *Side) []world.Header { return world.Headers(headerKey, s.Tokens.Olga) }),
		})
		to(Case{
			Name: "a valid key in x-api-key, where no model takes it there", Only: RedTenant, Rows: []string{"A37"},
			Ask: at(func(s *Side) []world.Header { return world.Headers(headerKey, s.Keys.Olgas.Key) }), Want: unauthenticated(),
		})
	}
	return all
}

// knows is the verdict on a caller whom maas-api lets in. What a token pays with is
// nobody's business here.
func (s *Side) knows(c caller, subscription string) Verdict {
	known := c.properties()
	known["selected_subscription"] = subscription
	return Verdict{Status: http.StatusOK, Identity: known, Type: "application/json"}
}

// serviceRefusals are requests that the gateway or maas-api itself refuses.
func serviceRefusals() []Case {
	const tooMuch = 2 << 20
	mint := func(body string, token func(*Side) string) askFunc {
		return ask(func(s *Side) world.Request {
			r := s.get("/v1/api-keys", world.Bearer(token(s))...)
			r.Body = body
			return r
		})
	}
	return []Case{
		{
			Name: "a key minted with a space for a credential", At: ServiceRoute, Want: unauthenticated(), Ask: mint(`{"name":"x"}`, func(*Side) string { return " x" }),
		},
		{
			Name: "a key minted without a credential", At: ServiceRoute, Want: unauthenticated(),
			Ask: ask(func(s *Side) world.Request {
				r := s.get("/v1/api-keys")
				r.Body = `{"name":"x"}`
				return r
			}),
		},
		{
			Name: "a key for a subscription of somebody else", At: ServiceRoute, Want: always(Verdict{Status: http.StatusBadRequest}),
			Ask: mint(`{"name":"x","subscription":"`+gold+`"}`, func(s *Side) string { return s.Tokens.Otto }),
		},
		{
			Name: "two mebibytes of a request", At: ServiceRoute, Want: always(Verdict{Status: http.StatusRequestEntityTooLarge}),
			Ask: mint(`{"name":"`+strings.Repeat("x", tooMuch)+`"}`, func(s *Side) string { return s.Tokens.Otto }),
		},
	}
}

// serviceTokens are tokens of the tenant's provider at maas-api that are not as usual.
func serviceTokens() []Case {
	return []Case{
		{
			Name: "a token for another client at maas-api", At: ServiceRoute, Want: denied(),
			Ask: claims(func(_ *Side, c engines.Claims) engines.Claims { return c.With("azp", "somebody-else") }),
		},
		{
			Name: "a token of another issuer at maas-api that the provider's key has signed", At: ServiceRoute, Want: keptOut(),
			Ask: claims(func(_ *Side, c engines.Claims) engines.Claims {
				return c.With("iss", "https://elsewhere.example.com/realms/maas")
			}),
		},
		{
			Name: "a token without a client at maas-api, for our audience", At: ServiceRoute,
			Ask:  claims(func(_ *Side, c engines.Claims) engines.Claims { return c.Without("azp") }),
			Want: func(s *Side) Verdict { return s.knows(s.olga(), "") },
		},
		{
			Name: "a token of a user of the cluster at maas-api", At: ServiceRoute, Want: denied(),
			Ask: claims(func(_ *Side, c engines.Claims) engines.Claims { return c.With("preferred_username", agent) }),
		},
		{
			Name: "a token of nobody at maas-api", At: ServiceRoute, Want: denied(),
			Ask: claims(func(_ *Side, c engines.Claims) engines.Claims { return c.Without("preferred_username", "sub") }),
		},
		{
			Name: "a token that is over at maas-api", At: ServiceRoute, Want: unauthenticated(),
			Ask: claims(func(_ *Side, c engines.Claims) engines.Claims { return c.With("exp", past()) }),
		},
		{
			Name: "a token that claims groups of the cluster at maas-api", At: ServiceRoute,
			Ask: claims(func(_ *Side, c engines.Claims) engines.Claims {
				return c.With("groups", []string{"system:masters", staff})
			}),
			Want: func(s *Side) Verdict { return s.knows(s.olga(), "") },
		},
	}
}

// claims makes a request to maas-api with a token of olga that says something else.
func claims(change func(*Side, engines.Claims) engines.Claims) askFunc {
	return func(ctx context.Context, s *Side) (world.Request, error) {
		token, err := s.lie(ctx, func(c engines.Claims) engines.Claims { return change(s, c) })
		return s.get("/v1/subscriptions", world.Bearer(token)...), err
	}
}

// serviceHealth are requests for whether maas-api is there, which everybody may ask.
func serviceHealth() []Case {
	health := func(method, path string) askFunc {
		return ask(func(s *Side) world.Request {
			r := s.get(path)
			r.Method = method
			return r
		})
	}
	well := always(Verdict{Status: http.StatusOK})
	return []Case{
		{Name: "nobody asks how maas-api is", At: ServiceRoute, Ask: health(http.MethodGet, "/maas-api/health"), Want: well},
		{Name: "nobody asks how maas-api is, with a query", Rows: []string{"B11"}, At: ServiceRoute, Ask: health(http.MethodGet, "/maas-api/health?x=/v1/models"), Want: well},
		{Name: "nobody posts to where the health is", At: ServiceRoute, Ask: health(http.MethodPost, "/maas-api/health"), Want: unauthenticated()},
		{
			Name: "nobody asks for models with the path of health in the query", Rows: []string{"B11"}, At: ServiceRoute,
			Ask: health(http.MethodGet, "/v1/models?x=/maas-api/health"), Want: unauthenticated(),
		},
	}
}

// serviceNames are users whose names do not survive the way to maas-api in a header.
func serviceNames() []Case {
	var all []Case
	for what, user := range inOrder(map[string]string{
		"a space at the end": "olga ", "a space at the start": " olga", "a line break": "olga\nX-MaaS-Group: [\"admins\"]", "a NUL": "olga\x00",
		"a wide space at the end": "olga\u2003",
	}) {
		all = append(all, Case{
			Name: "a user with " + what + " at maas-api", Rows: []string{"B13"}, At: ServiceRoute, Want: denied(),
			Ask: claims(func(_ *Side, c engines.Claims) engines.Claims { return c.With("preferred_username", user) }),
		})
	}
	for what, user := range inOrder(map[string]string{"a quote": `ol"ga`, "an expression": `" + auth.identity.sub + "`, "letters beyond ASCII": "ölga-蘭"}) {
		all = append(all, Case{
			Name: "a user with " + what + " at maas-api", Rows: []string{"B13"}, At: ServiceRoute,
			Ask: claims(func(_ *Side, c engines.Claims) engines.Claims { return c.With("preferred_username", user) }),
			Want: func(s *Side) Verdict {
				return s.knows(caller{name: user, subject: "subject-of-" + olga, groups: []string{staff}}, "")
			},
		})
	}
	return all
}
