// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"fmt"
	"strings"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// forged are requests in which somebody says himself who he is.
func forged() []Case {
	var all []Case
	for _, lines := range [][]world.Header{
		world.Headers("X-MaaS-Username", "admin"),
		world.Headers("x-maas-username", "admin"),
		world.Headers("X-MAAS-USERNAME", "admin"),
		world.Headers("x-MaAs-UsErNaMe", "admin"),
		world.Headers("X-MaaS-Username", ""),
		world.Headers("X-MaaS-Username", olga),
		world.Headers("X-MaaS-Username", "admin", "X-MaaS-Username", olga),
		world.Headers("X-MaaS-Username", olga, "x-maas-username", "admin"),
		world.Headers("X-MaaS-Group", `["admins"]`),
		world.Headers("x-maas-group", `["admins"]`),
		world.Headers("X-MAAS-GROUP", `["admins"]`),
		world.Headers("X-MaaS-Group", ""),
		world.Headers("X-MaaS-Group", `["staff"]`, "x-maas-group", `["admins"]`),
		world.Headers("X-MaaS-Username", "admin", "X-MaaS-Group", `["admins"]`),
		world.Headers("X_MaaS_Username", "admin"),
		world.Headers("x_maas_username", "admin"),
		world.Headers("X-MaaS_Username", "admin"),
		world.Headers("X_MaaS-Group", `["admins"]`),
		world.Headers("x_maas_group", `["admins"]`),
	} {
		all = append(all, forgedBy(lines)...)
	}
	return append(all, forgedSubscriptions()...)
}

// forgedBy are requests with forged lines, by every kind of caller. They are refused:
// an upstream that takes a line break, a repetition or an underscore for something else
// than the gateway does must not be shown any of it.
func forgedBy(lines []world.Header) []Case {
	var written strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&written, " %s: %s;", l.Name, l.Value)
	}
	how := written.String()
	with := func(lines, more []world.Header) []world.Header {
		return append(append([]world.Header{}, more...), lines...)
	}
	rows := []string{"A23", "A71"}
	return []Case{
		{
			Name: "a valid key and" + how, Rows: rows, At: ModelRoute, Want: denied(),
			Ask: ask(func(s *Side) world.Request {
				return s.chat(s.Models.Granite, with(lines, world.Bearer(s.Keys.Olgas.Key))...)
			}),
		},
		{
			Name: "a token and" + how, Rows: rows, At: ModelRoute, Want: denied(),
			Ask: ask(func(s *Side) world.Request { return s.chat(s.Models.Open, with(lines, world.Bearer(s.Tokens.Otto))...) }),
		},
		{
			Name: "no credential and" + how, Rows: rows, At: ModelRoute, Want: unauthenticated(),
			Ask: ask(func(s *Side) world.Request { return s.chat(s.Models.Granite, lines...) }),
		},
		{
			Name: "a valid key at maas-api and" + how, Rows: rows, At: ServiceRoute, Want: denied(),
			Ask: ask(func(s *Side) world.Request {
				return s.get("/v1/subscriptions", with(lines, world.Bearer(s.Keys.Olgas.Key))...)
			}),
		},
		{
			Name: "a token that mints a key with" + how, Rows: rows, At: ServiceRoute, Want: denied(),
			Ask: ask(func(s *Side) world.Request {
				r := s.get("/v1/api-keys", with(lines, world.Bearer(s.Tokens.Otto))...)
				r.Body = `{"name":"forged"}`
				return r
			}),
		},
		{
			Name: "no credential at maas-api and" + how, Rows: rows, At: ServiceRoute, Want: unauthenticated(),
			Ask: ask(func(s *Side) world.Request { return s.get("/v1/models", lines...) }),
		},
		{
			Name: "a credential where nothing is, and" + how, Rows: rows, At: Elsewhere, Want: denied(),
			Ask: ask(func(s *Side) world.Request {
				return s.chat(s.Models.Bare, with(lines, world.Bearer(s.Keys.Olgas.Key))...)
			}),
		},
	}
}

// forgedSubscriptions are requests in which somebody says himself what he pays with.
func forgedSubscriptions() []Case {
	rows := []string{"A23", "A24"}
	key := func(lines ...world.Header) askFunc {
		return ask(func(s *Side) world.Request {
			return s.chat(s.Models.Granite, append(world.Bearer(s.Keys.Olgas.Key), lines...)...)
		})
	}
	its := func(s *Side) Verdict { return s.passes(s.olga().with(&s.Keys.Olgas), s.Models.Granite, gold) }
	return []Case{
		{
			Name: "a key at maas-api that names another subscription with underscores", Rows: rows, At: ServiceRoute, Want: denied(),
			Ask: ask(func(s *Side) world.Request {
				return s.get("/v1/models", append(world.Headers("X_MaaS_Subscription", silver), world.Bearer(s.Keys.Olgas.Key)...)...)
			}),
		},
		{Name: "a key that names another subscription", Rows: rows, At: ModelRoute, Ask: key(world.Headers(headerSubscription, silver)...), Want: its},
		{Name: "a key that names no subscription there is", Rows: rows, At: ModelRoute, Ask: key(world.Headers("x-maas-subscription", "secret")...), Want: its},
		{Name: "a key that names an empty subscription", Rows: rows, At: ModelRoute, Ask: key(world.Headers(headerSubscription, "")...), Want: its},
		{
			Name: "a key that names subscriptions twice", Rows: rows, At: ModelRoute, Want: its,
			Ask: key(world.Headers(headerSubscription, silver, "x-maas-subscription", bronze)...),
		},
		{
			Name: "a key that names another subscription with underscores", Rows: rows, At: ModelRoute, Want: denied(),
			Ask: key(world.Headers("X_MaaS_Subscription", silver)...),
		},
	}
}
