// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"net/http"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// defaults are requests that no policy of a model or of maas-api is for.
func defaults() []Case {
	var all []Case
	for what, model := range inOrder(map[string]func(Models) world.Model{
		"a model that nothing governs":    func(m Models) world.Model { return m.Bare },
		"a model that only has limits":    func(m Models) world.Model { return m.Closed },
		"a route that belongs to nothing": func(m Models) world.Model { return m.Stray },
	}) {
		at := func(headers func(*Side) []world.Header) askFunc {
			return ask(func(s *Side) world.Request { return s.chat(model(s.Models), headers(s)...) })
		}
		all = append(all,
			Case{Name: "no credential at " + what, At: Elsewhere, Want: unauthenticated(), Ask: at(func(*Side) []world.Header { return nil })},
			Case{
				Name: "an empty credential at " + what, At: Elsewhere, Want: unauthenticated(),
				Ask: at(func(*Side) []world.Header { return world.Headers("Authorization", "", headerKey, "") }),
			},
			Case{
				Name: "a valid key at " + what, At: Elsewhere, Want: denied(),
				Ask: at(func(s *Side) []world.Header { return world.Bearer(s.Keys.Olgas.Key) }),
			},
			Case{
				Name: "a token of the cluster at " + what, At: Elsewhere, Want: denied(),
				Ask: at(func(s *Side) []world.Header { return world.Bearer(s.Tokens.Agent) }),
			},
			Case{
				Name: "a token of the provider at " + what, At: Elsewhere, Want: denied(),
				Ask: at(func(s *Side) []world.Header { return world.Bearer(s.Tokens.Olga) }),
			},
			Case{
				Name: "a password at " + what, At: Elsewhere, Want: denied(),
				Ask: at(func(*Side) []world.Header { return world.Headers("Authorization", "Basic b2xnYTpvbGdh") }),
			},
			Case{
				Name: "a key in x-api-key at " + what, At: Elsewhere, Want: denied(),
				Ask: at(func(s *Side) []world.Header { return world.Headers(headerKey, s.Keys.Olgas.Key) }),
			},
		)
	}
	return append(all, nowhere()...)
}

// nowhere are requests that no route is for.
func nowhere() []Case {
	key := func(path string) askFunc {
		return ask(func(s *Side) world.Request { return s.get(path, world.Bearer(s.Keys.Olgas.Key)...) })
	}
	var all []Case
	for _, path := range []string{
		"/", "/llm", "/llm/", "/v1", "/v2/models", "/internal/v1/api-keys/validate", "/internal/v1/subscriptions/select",
		"/maas-api", "/maas-api/", "/maas-api/internal/v1/api-keys/validate", "/maas-api/healthx", "/metrics", "/healthz", "/readyz",
	} {
		all = append(all, Case{Name: "a valid key at " + path, At: Elsewhere, Ask: key(path), Want: noRoute()})
	}
	return append(all,
		Case{Name: "a valid key at a path that only begins like one of maas-api", At: Elsewhere, Want: notThrough(), Ask: key("/v1/modelsx")},
		Case{
			Name: "a valid key at the host of another tenant", At: Elsewhere, Want: noRoute(),
			Ask: ask(func(s *Side) world.Request {
				r := s.chat(s.Models.Granite, world.Bearer(s.Keys.Olgas.Key)...)
				r.Host = s.Other.Tenant.Host
				return r
			}),
		},
		Case{
			Name: "a valid key at the model of another tenant", At: Elsewhere, Want: noRoute(),
			Ask: ask(func(s *Side) world.Request {
				return world.Request{Tenant: s.Tenant, Path: s.Other.Models.Granite.Path() + "/v1/models", Headers: world.Bearer(s.Keys.Olgas.Key)}
			}),
		},
		Case{
			Name: "a callback by POST from outside", At: Elsewhere, Want: noRoute(),
			Ask: ask(func(s *Side) world.Request {
				r := s.get("/internal/v1/api-keys/validate", world.Bearer(s.Keys.Olgas.Key)...)
				r.Method, r.Body = http.MethodPost, `{"key":"x"}`
				return r
			}),
		},
	)
}
