// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/engines"
)

// serviceCases are callers of maas-api.
func serviceCases() []Case {
	return slices.Concat(serviceCallers(), serviceKnows(), serviceRefusals(), serviceHealth(), serviceNames())
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
		for what, key := range inOrder(map[string]func(*Side) string{
			"an unknown key": func(*Side) string { return Unknown }, "a revoked key": func(s *Side) string { return s.Keys.Revoked.Key },
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

// serviceKnows are callers whom maas-api must take for who they are: it tells them what
// is theirs.
func serviceKnows() []Case {
	list := func(path string, headers func(*Side) []world.Header) askFunc {
		return ask(func(s *Side) world.Request { return s.get(path, headers(s)...) })
	}
	subscriptions := func(names ...string) func(*Side) Verdict { return listed("subscription_id_header", names...) }
	models := func(pick func(Models) []world.Model) func(*Side) Verdict {
		return func(s *Side) Verdict {
			var names []string
			for _, m := range pick(s.Models) {
				names = append(names, m.Name)
			}
			return listed("id", names...)(s)
		}
	}
	olgas := []string{gold, silver, bronze, everyone, tarnished}
	return []Case{
		{
			Name: "subscriptions of a member of staff", At: ServiceRoute, Only: RedTenant,
			Ask:  list("/v1/subscriptions", func(s *Side) []world.Header { return world.Bearer(s.Tokens.Olga) }),
			Want: subscriptions(olgas...),
		},
		{
			Name: "subscriptions of a ServiceAccount", At: ServiceRoute, Only: DefaultTenant,
			Ask:  list("/v1/subscriptions", func(s *Side) []world.Header { return world.Bearer(s.Tokens.Agent) }),
			Want: subscriptions(append(slices.Clone(olgas), wordy)...),
		},
		{
			Name: "subscriptions of somebody without groups", At: ServiceRoute,
			Ask:  list("/v1/subscriptions", func(s *Side) []world.Header { return world.Bearer(s.Tokens.Otto) }),
			Want: subscriptions(everyone),
		},
		{
			Name: "models of a key: those of its subscription", At: ServiceRoute,
			Ask:  list("/v1/models", func(s *Side) []world.Header { return world.Bearer(s.Keys.Opens.Key) }),
			Want: models(func(m Models) []world.Model { return []world.Model{m.Open} }),
		},
		{
			Name: "models of another key: those that it may also use", At: ServiceRoute,
			Ask:  list("/v1/models", func(s *Side) []world.Header { return world.Bearer(s.Keys.Olgas.Key) }),
			Want: models(func(m Models) []world.Model { return []world.Model{m.Granite, m.Late} }),
		},
		{
			Name: "models of a key that names another subscription: those of its own", Rows: []string{"A23", "A24"}, At: ServiceRoute,
			Ask: list("/v1/models", func(s *Side) []world.Header {
				return append(world.Headers(headerSubscription, gold), world.Bearer(s.Keys.Opens.Key)...)
			}),
			Want: models(func(m Models) []world.Model { return []world.Model{m.Open} }),
		},
		{
			Name: "models of somebody without groups", At: ServiceRoute,
			Ask:  list("/v1/models", func(s *Side) []world.Header { return world.Bearer(s.Tokens.Otto) }),
			Want: models(func(m Models) []world.Model { return []world.Model{m.Open} }),
		},
		{
			Name: "models of a token that names a subscription there is not", Rows: []string{"A24"}, At: ServiceRoute,
			Ask: list("/v1/models", func(s *Side) []world.Header {
				return append(world.Headers(headerSubscription, "secret"), world.Bearer(s.Tokens.Otto)...)
			}),
			Want: sameAsForeign(),
		},
		{
			Name: "models of a token that names somebody else's subscription", Rows: []string{"A24"}, At: ServiceRoute,
			Ask: list("/v1/models", func(s *Side) []world.Header {
				return append(world.Headers(headerSubscription, gold), world.Bearer(s.Tokens.Otto)...)
			}),
			Want: sameAsForeign(),
		},
		{
			Name: "a key that was minted belongs to who the token is of", Rows: []string{"A23"}, At: ServiceRoute,
			Ask: ask(func(s *Side) world.Request {
				return s.get("/v1/api-keys/"+s.Keys.Agents.ID, world.Bearer(s.Tokens.Agent)...)
			}),
			Want: func(s *Side) Verdict {
				v := s.knows(s.agent(), "")
				v.Further = func(a world.Answer) error {
					var key struct {
						Username, Subscription string
						Groups                 []string
					}
					if err := json.Unmarshal([]byte(a.Body), &key); err != nil {
						return err
					}
					if key.Username != agent || key.Subscription != s.key(gold) && key.Subscription != gold || !slices.Contains(key.Groups, team) {
						return fmt.Errorf("%+v", key)
					}
					return nil
				}
				return v
			},
		},
		{
			Name: "a key of somebody else", At: ServiceRoute, Want: always(Verdict{Status: http.StatusNotFound}),
			Ask: ask(func(s *Side) world.Request {
				return s.get("/v1/api-keys/"+s.Keys.Agents.ID, world.Bearer(s.Tokens.Olga)...)
			}),
		},
		{
			Name: "a key of another tenant", At: ServiceRoute, Want: always(Verdict{Status: http.StatusNotFound}),
			Ask: ask(func(s *Side) world.Request {
				return s.get("/v1/api-keys/"+s.Other.Keys.Olgas.ID, world.Bearer(s.Tokens.Olga)...)
			}),
		},
	}
}

// sameAsForeign is the answer to a name that is not the caller's, whether there is one
// of that name or not.
func sameAsForeign() func(*Side) Verdict {
	return always(Verdict{Status: http.StatusForbidden, Further: func(a world.Answer) error {
		for _, name := range []string{"secret", gold} {
			if strings.Contains(a.Body, name) {
				return fmt.Errorf("it says %s", a.Body)
			}
		}
		return nil
	}})
}

// listed is the verdict on a list of objects with these names in a field, where more
// may stand before a name.
func listed(field string, names ...string) func(*Side) Verdict {
	return always(Verdict{Status: http.StatusOK, Further: func(a world.Answer) error {
		var list []map[string]any
		if err := json.Unmarshal([]byte(a.Body), &list); err != nil {
			var page struct{ Data []map[string]any }
			if err := json.Unmarshal([]byte(a.Body), &page); err != nil {
				return err
			}
			list = page.Data
		}
		var got []string
		for _, item := range list {
			name, _ := item[field].(string)
			got = append(got, name[strings.LastIndex(name, "/")+1:])
		}
		want := slices.Clone(names)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			return fmt.Errorf("it lists %q, want %q", got, want)
		}
		return nil
	}})
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
		{
			Name: "a token for another client at maas-api", At: ServiceRoute, Want: denied(),
			Ask: claims(func(_ *Side, c engines.Claims) engines.Claims { return c.With("azp", "somebody-else") }),
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
