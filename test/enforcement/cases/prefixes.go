// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cases

import "github.com/opendatahub-io/maas-operator/test/enforcement/world"

// prefixes are models whose paths begin alike: a request meets the policies of the one
// that it is for, and of no other, whatever came first.
func prefixes() []Case {
	var all []Case
	for what, pair := range inOrder(map[string]func(Models) (staffs, guests world.Model){
		"whose name goes on":             func(m Models) (world.Model, world.Model) { return m.Granite, m.Longer },
		"whose path goes on":             func(m Models) (world.Model, world.Model) { return m.Granite, m.Below },
		"of a namespace whose name goes": func(m Models) (world.Model, world.Model) { return m.Granite, m.Abroad },
		"that was there before":          func(m Models) (world.Model, world.Model) { return m.Late, m.Early },
	}) {
		all = append(all, alike(what, pair)...)
	}
	return all
}

// alike are requests for two models, one of staff and one of guests.
func alike(what string, pair func(Models) (staffs, guests world.Model)) []Case {
	rows := []string{"A10", "B09"}
	staffs := func(s *Side) world.Model { m, _ := pair(s.Models); return m }
	guests := func(s *Side) world.Model { _, m := pair(s.Models); return m }
	at := func(model func(*Side) world.Model, token func(*Side) string) askFunc {
		return ask(func(s *Side) world.Request { return s.chat(model(s), world.Bearer(token(s))...) })
	}
	nobodys := refused("not_found", "no matching subscription found for user")
	return []Case{
		{
			Name: "a guest at the guests' model " + what, Rows: rows, At: ModelRoute, Ask: at(guests, func(s *Side) string { return s.Tokens.Gina }),
			Want: func(s *Side) Verdict { return s.passes(s.gina(), guests(s), guestly) },
		},
		{
			Name: "staff at the guests' model " + what, Rows: rows, At: ModelRoute, Want: nobodys, Ask: at(guests, func(s *Side) string { return s.Tokens.Olga }),
		},
		{
			Name: "a key of staff at the guests' model " + what, Rows: rows, At: ModelRoute, Ask: at(guests, func(s *Side) string { return s.Keys.Olgas.Key }),
			Want: refused("model_not_in_subscription", "subscription does not include the requested model"),
		},
		{
			Name: "nobody at the guests' model " + what, Rows: rows, At: ModelRoute, Want: unauthenticated(),
			Ask: ask(func(s *Side) world.Request { return s.chat(guests(s)) }),
		},
		{
			Name: "staff at their own model beside the one " + what, Rows: rows, At: ModelRoute, Ask: at(staffs, func(s *Side) string { return s.Tokens.Olga }),
			Want: func(s *Side) Verdict { return s.passes(s.olga(), staffs(s), gold) },
		},
		{
			Name: "a guest at staff's model beside the one " + what, Rows: rows, At: ModelRoute, Ask: at(staffs, func(s *Side) string { return s.Tokens.Gina }),
			Want: func(s *Side) Verdict {
				if staffs(s) == s.Models.Granite { // For which guests have a subscription all the same.
					return denied()(s)
				}
				return nobodys(s)
			},
		},
	}
}
