// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package opening

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// settling is how long a route has to be seen guarded before it is opened: its
	// backends and the configuration of the gateway reach the proxies by different ways.
	settling = 500 * time.Millisecond
	// looking is how often the configuration of the gateway is looked at meanwhile.
	looking = 500 * time.Millisecond
	// unnoticed is how long a policy that is called enforced does not count while
	// Kuadrant says nothing of the route itself. It may speak of an earlier route of that
	// name: with 500 models behind a gateway it takes Kuadrant six minutes to notice
	// something. A Kuadrant that never says so keeps a route closed for no longer.
	unnoticed = 10 * time.Minute
)

// Leads says which rules of a route may lead somewhere. The zero value is none.
type Leads struct {
	// Route is the UID of the route of which that holds, and of no other; Generation is
	// the one of its generations that was judged.
	Route      types.UID
	Generation int64
	// All of its rules may; otherwise those of Rules, by [RuleOf].
	All   bool
	Rules []string
}

// To tells whether a rule may lead somewhere.
func (l Leads) To(rule string) bool {
	return l.Route != "" && (l.All || slices.Contains(l.Rules, rule))
}

// Kept is what of a route leads somewhere and stays so at a gateway, whatever its
// policies are called for a moment. One that an earlier release wrote does not say who
// opened it, and stays as it is; one that says it was opened as another object was
// copied from that, and begins closed. So does one that comes to another gateway, which
// has not been told of its policies.
func Kept(r Route, gateway types.NamespacedName) Leads {
	if r.UID == "" || len(r.Leading) == 0 || r.Opened != "" && r.Opened != r.UID || !slices.Contains(r.Gateways, gateway) {
		return Leads{}
	}
	return Leads{Route: r.UID, Generation: r.Generation, Rules: r.Leading}
}

// Configuration is what the configuration of a gateway tells of a route.
type Configuration int

const (
	// Silent is a configuration that does not exist, and never did since this program
	// began, or does not name the policies it was made of: Kuadrant keeps it elsewhere, for
	// gateways of another kind of proxy. A Kuadrant that could not write the first one
	// looks the same.
	Silent Configuration = iota
	// Lacking is one without an action of the policy for each rule of the route.
	Lacking
	// Holding is one that has them.
	Holding
)

// Guard is what is known of the policy that is to guard a route.
type Guard struct {
	// Route was read before everything else.
	Route Route
	// Enforced tells that Kuadrant calls the policy enforced as it stands now, on all of
	// the route. It may not have noticed yet that the route is another.
	Enforced bool
	// Configuration was read past any cache, after the Route.
	Configuration Configuration
	// Since is when the route was first seen guarded; the zero time when it was not.
	Since time.Time
	// Now is the time.
	Now time.Time
}

// Verdict is what becomes of a route that does not lead everywhere yet.
type Verdict struct {
	// Guarded tells that no request passes its policy by.
	Guarded bool
	// Open tells that all its rules may lead somewhere.
	Open bool
	// Again is when to look again although nothing that is watched changed; 0 for never.
	Again time.Duration
}

// Asks tells whether the configuration of the gateway makes a difference.
func (g Guard) Asks() bool {
	return g.Route.UID != "" && g.Enforced && (g.Route.Noticed || g.Now.Sub(g.Route.Created) >= unnoticed)
}

// Decide judges whether a route is guarded.
//
// Kuadrant names no route by its UID, so that what it says of a route that was deleted
// and made anew may be about the former one: first it takes the actions of that out of
// the configuration, and later puts those of the new one in. What it writes into the
// status of the new one is about no other, and comes after: from then on it only keeps
// actions or adds some.
func Decide(g Guard) Verdict {
	switch {
	case g.Route.UID == "" || !g.Enforced:
		return Verdict{}
	case !g.Asks():
		return Verdict{Again: unnoticed - g.Now.Sub(g.Route.Created)}
	case g.Configuration == Lacking:
		return Verdict{Again: looking}
	case g.Since.IsZero():
		return Verdict{Guarded: true, Again: settling}
	case g.Now.Sub(g.Since) < settling:
		return Verdict{Guarded: true, Again: settling - g.Now.Sub(g.Since)}
	default:
		return Verdict{Guarded: true, Open: true}
	}
}
