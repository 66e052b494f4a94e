// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// step is one change. It does nothing where it has nothing to change, so that
// any part of a sequence is a sequence.
type step struct {
	name string
	run  func(context.Context, *corner) error
	// alone has everything settle before, so that no other change hides what this
	// one does not bring about.
	alone bool
}

// planner draws a sequence. Equal seeds give equal sequences.
type planner struct {
	*rand.Rand
	moving bool
	// third is where the third model and its route live.
	third place
	// subscriptions and authPolicies are where each of them lives.
	subscriptions, authPolicies []place
}

const fewestChanges, mostChanges, changesAlone = 8, 20, 4

// plan draws the sequence of a seed: most objects are created, then changed.
func plan(seed uint64, moving bool) []step {
	p := &planner{Rand: rand.New(rand.NewPCG(seed, 0)), moving: moving} // The same every time.
	anywhere := []place{inDefault, inTenant, inPlain}
	p.third = pick(p, inPlain, inTenant)
	p.subscriptions = []place{inDefault, inDefault, inTenant, pick(p, anywhere...)}
	p.authPolicies = []place{inDefault, inTenant, pick(p, anywhere...)}
	steps := p.creations()
	for range fewestChanges + p.IntN(mostChanges-fewestChanges) {
		steps = append(steps, p.change())
	}
	for i := range steps {
		steps[i] = p.paced(steps[i])
	}
	for range changesAlone {
		s := p.change()
		s.name, s.alone = "once all has settled: "+s.name, true
		steps = append(steps, s)
	}
	return steps
}

func pick[T any](p *planner, of ...T) T { return of[p.IntN(len(of))] }

// chance holds in that many of a hundred cases.
func (p *planner) chance(percent int) bool { return p.IntN(100) < percent }

func (p *planner) creations() []step {
	const most = 85
	var all, steps []step
	for i := range 3 {
		all = append(all, p.createRoute(i), p.createService(i), p.createModel(i), p.createAuthPolicy(i))
	}
	for i := range p.subscriptions {
		all = append(all, p.createSubscription(i))
	}
	p.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, s := range all {
		if p.chance(most) {
			steps = append(steps, s)
		}
	}
	return steps
}

// change draws one change, with more of what users do more often.
func (p *planner) change() step {
	choices := []func() step{
		p.changeSubscription, p.changeSubscription, p.changeSubscription, p.changeAuthPolicy, p.changeAuthPolicy,
		p.changeModel, p.changeRoute, p.changeService, p.changeGenerated, p.changeGenerated, p.changeForeign,
	}
	if p.moving {
		choices = append(choices, p.changeTenant, p.changeTenant, p.changeTenant)
	}
	return pick(p, choices...)()
}

// paced lets the operator catch up after some steps, and not after others.
func (p *planner) paced(s step) step {
	var wait time.Duration
	switch roll := p.IntN(100); {
	case roll < 50:
		return s
	case roll < 85:
		wait = time.Duration(p.IntN(30)) * time.Millisecond
	case roll < 97:
		wait = time.Duration(100+p.IntN(200)) * time.Millisecond
	default:
		wait = time.Second
	}
	return step{name: fmt.Sprintf("%s; then pause for %s", s.name, wait), run: func(ctx context.Context, c *corner) error {
		if err := s.run(ctx, c); err != nil {
			return err
		}
		return pause(ctx, wait)
	}}
}

// named is an object of a sequence: where it lives and its name there.
type named struct {
	in    place
	short string
}

func (n named) String() string { return string(n.in) + "/" + n.short }

func (p *planner) model(i int) named {
	in := inPlain
	if i == 2 {
		in = p.third
	}
	return named{in, fmt.Sprintf("m%d", i)}
}

func (p *planner) route(i int) named {
	return named{p.model(i).in, []string{"ra", "rb", "rc"}[i]}
}

func (p *planner) subscription(i int) named {
	return named{p.subscriptions[i], fmt.Sprintf("s%d", i)}
}

func (p *planner) authPolicy(i int) named { return named{p.authPolicies[i], fmt.Sprintf("a%d", i)} }

// ghost is a model that never exists.
var ghost = named{inPlain, "ghost"}

// models draws some models, rarely one that does not exist.
func (p *planner) models() []named {
	all := []named{p.model(0), p.model(1), p.model(2)}
	p.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	out := all[:1+p.IntN(len(all))]
	if p.chance(5) {
		out = append(slices.Clone(out), ghost)
	}
	return out
}

// terms are what an entry of a subscription may grant.
type terms struct {
	unlimited bool
	rates     []v1alpha1.TokenRateLimit
}

func (p *planner) terms() terms {
	rate := func(limit int64, window string) v1alpha1.TokenRateLimit {
		return v1alpha1.TokenRateLimit{Limit: limit, Window: window}
	}
	if p.chance(6) { // As only an earlier release stored them.
		return pick(p,
			terms{}, terms{rates: []v1alpha1.TokenRateLimit{rate(0, "1m")}}, terms{rates: []v1alpha1.TokenRateLimit{rate(5, "7d")}},
			terms{rates: []v1alpha1.TokenRateLimit{rate(5, "9999h")}}, terms{unlimited: true, rates: []v1alpha1.TokenRateLimit{rate(5, "1m")}})
	}
	return pick(p,
		terms{rates: []v1alpha1.TokenRateLimit{rate(100, "1m")}},
		terms{rates: []v1alpha1.TokenRateLimit{rate(100, "1m")}},
		terms{rates: []v1alpha1.TokenRateLimit{rate(100, "1m"), rate(100, "1m")}},
		terms{rates: []v1alpha1.TokenRateLimit{rate(100, "1m"), rate(9000, "1h")}},
		terms{rates: []v1alpha1.TokenRateLimit{rate(9000, "1h"), rate(100, "1m")}},
		terms{rates: []v1alpha1.TokenRateLimit{rate(100, "60s")}},
		terms{unlimited: true})
}

func (t terms) String() string {
	if t.unlimited {
		return fmt.Sprintf("unlimited%v", t.rates)
	}
	return fmt.Sprintf("%v", t.rates)
}

// generated draws a generated policy by kind and model.
func (p *planner) generated() (kind string, model named) {
	return pick(p, kuadrant.AuthPolicy.Kind, kuadrant.TokenRateLimitPolicy.Kind), p.model(p.IntN(3))
}
