// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// serviceKnows are callers whom maas-api must take for who they are: it tells them what
// is theirs.
func serviceKnows() []Case { return slices.Concat(ownSubscriptions(), ownModels(), ownKeys()) }

// list makes requests to maas-api.
func list(path string, headers func(*Side) []world.Header) askFunc {
	return ask(func(s *Side) world.Request { return s.get(path, headers(s)...) })
}

func ownSubscriptions() []Case {
	subscriptions := func(names ...string) func(*Side) Verdict { return listed("subscription_id_header", names...) }
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
	}
}

func ownModels() []Case {
	models := func(pick func(Models) []world.Model) func(*Side) Verdict {
		return func(s *Side) Verdict {
			var names []string
			for _, m := range pick(s.Models) {
				names = append(names, m.Name)
			}
			return listed("id", names...)(s)
		}
	}
	return []Case{
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
	}
}

func ownKeys() []Case {
	return []Case{
		{
			Name: "a key that was minted belongs to who the token is of", Rows: []string{"A23"}, At: ServiceRoute,
			Ask: ask(func(s *Side) world.Request {
				return s.get("/v1/api-keys/"+s.Keys.Agents.ID, world.Bearer(s.Tokens.Agent)...)
			}),
			Want: func(s *Side) Verdict {
				v := s.knows(s.agent(), "")
				v.Further = agentsKey(s)
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

// agentsKey looks whether a key is told to be the agent's.
func agentsKey(s *Side) func(world.Answer) error {
	return func(a world.Answer) error {
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
