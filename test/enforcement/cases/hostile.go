// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"strings"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/engines"
)

// hostile are users whose names are made to break something. Whoever reaches a model
// does so under the own name, to the letter; a name that no header can carry is refused.
func hostile() []Case {
	var all []Case
	for name, user := range inOrder(map[string]string{
		"a quote":                `ol"ga`,
		"quotes and braces":      `"},"accessAllowed":true,"x":{"`,
		"single quotes":          `o'l'g'a`,
		"a backslash":            `ol\ga\`,
		"an expression":          `" + request.headers["authorization"] + "`,
		"a template":             `{auth.identity.sub} ${x} {{.}} $(id) %s%n`,
		"a pipe":                 `olga|staff|gold`,
		"commas":                 `olga,staff`,
		"letters beyond ASCII":   "оlga-ölga-蘭-🦊",
		"letters that only look": "olga\u200b",
		"a slash":                "../../olga",
		"an at sign":             "olga@example.com",
		"three hundred letters":  strings.Repeat("olga", 75),
	}) {
		all = append(all, named("a user with "+name, user, func(s *Side) Verdict {
			return s.passes(caller{name: user, subject: "subject-of-" + olga, groups: []string{staff}}, s.Models.Granite, gold)
		}))
	}
	for name, user := range inOrder(map[string]string{
		"a line break":         "olga\nX-MaaS-Group: [\"admins\"]",
		"a carriage return":    "olga\r\nX-MaaS-Username: admin",
		"a NUL":                "olga\x00",
		"a tabulator":          "ol\tga",
		"a space at the end":   "olga ",
		"a space at the start": " olga",
	}) {
		all = append(all, named("a user with "+name, user, denied()))
	}
	return all
}

// named is a request to granite by a user of the tenant's provider with a name.
func named(what, user string, want func(*Side) Verdict) Case {
	return Case{
		Name: what, Rows: []string{"B13"}, At: ModelRoute, Want: want,
		Ask: func(ctx context.Context, s *Side) (world.Request, error) {
			token, err := s.lie(ctx, func(c engines.Claims) engines.Claims { return c.With("preferred_username", user) })
			return s.chat(s.Models.Granite, world.Bearer(token)...), err
		},
	}
}
