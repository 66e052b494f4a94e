// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/opendatahub-io/maas-operator/test/stage"
)

// step is one change. It does nothing where it has nothing to change, so that any
// part of a sequence is a sequence.
type step struct {
	name string
	run  func(context.Context, *course) error
	// wait is how long nothing else is done afterwards.
	wait time.Duration
	// kill says how the operator ends after this step, if it does.
	kill *kill
}

// plan is a sequence. Equal seeds give equal plans.
type plan struct {
	// tenants are the names of those besides the default tenant.
	tenants []string
	// gateways are the names that tenants may ask for; the last one never exists.
	gateways []string
	steps    []step
	// failing has the first Pod of a Job fail.
	failing bool
	// restarts starts the operator again at the end. Without that it must notice by
	// itself what is left to do.
	restarts bool
}

type planner struct {
	*rand.Rand
	*plan
}

const (
	fewestTenants, mostTenants = 2, 4
	fewestSteps, mostSteps     = 10, 20
	fewestKills, mostKills     = 2, 5
	// failingJobs is one of so many sequences: Kubernetes waits for ten seconds
	// before it tries the Pod of a Job again.
	failingJobs = 16
	// watched is one of so many sequences at whose end the operator is left running.
	watched = 5
)

// names are those that tenants may have: some are the beginnings of others, some look
// like parts of names of the operator's own objects, and some are as long as it gets.
func names() []string {
	return []string{
		"red", "red-a", "red-a-b", "redder", "gateway", "api", "route", "maas-api", "database", "default", "key-cleanup",
		"a", "a-a", "r23456789012345678901234567890123456789-1", "r23456789012345678901234567890123456789-2",
	}
}

func planOf(seed uint64) *plan {
	p := &planner{Rand: rand.New(rand.NewPCG(seed, 5)), plan: &plan{}} // The same every time.
	all := names()
	p.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	p.tenants = slices.Sorted(slices.Values(all[:fewestTenants+p.IntN(mostTenants-fewestTenants+1)]))
	p.gateways = append(slices.Clone(p.tenants), "spare", stage.GatewayName, "missing")
	p.failing, p.restarts = p.IntN(failingJobs) == 0, p.IntN(watched) > 0
	p.begin()
	changes := fewestSteps + p.IntN(mostSteps-fewestSteps+1)
	for range changes {
		p.add(p.change())
	}
	for range fewestKills + p.IntN(mostKills-fewestKills+1) {
		p.steps[p.IntN(len(p.steps))].kill = p.drawKill()
	}
	return p.plan
}

func pick[T any](p *planner, of ...T) T { return of[p.IntN(len(of))] }

// chance holds in that many of a hundred cases.
func (p *planner) chance(percent int) bool { return p.IntN(100) < percent }

// begin makes most of what there may be.
func (p *planner) begin() {
	for _, gateway := range p.gateways[:len(p.gateways)-2] {
		if p.chance(80) {
			p.add(p.createGateway(gateway))
		}
	}
	for _, tenant := range p.tenants {
		if p.chance(20) {
			p.add(p.prepareNamespace(tenant))
		}
		if p.chance(85) {
			p.add(p.createTenant(tenant))
		}
	}
	if p.chance(40) {
		p.add(p.createTenant(theDefault))
	}
	// Enough is set up for the changes to meet something.
	last := &p.steps[len(p.steps)-1]
	last.wait = time.Duration(p.IntN(2500)) * time.Millisecond
}

func (p *planner) add(s step) { p.steps = append(p.steps, p.paced(s)) }

// paced lets the operator catch up after some steps, and not after others.
func (p *planner) paced(s step) step {
	switch roll := p.IntN(100); {
	case roll < 50:
	case roll < 80:
		s.wait = time.Duration(p.IntN(60)) * time.Millisecond
	case roll < 96:
		s.wait = time.Duration(100+p.IntN(400)) * time.Millisecond
	default:
		s.wait = 1500 * time.Millisecond
	}
	return s
}

// tenant draws one of the tenants, seldom the default one.
func (p *planner) tenant() string {
	if p.chance(15) {
		return theDefault
	}
	return pick(p, p.tenants...)
}

// change draws one change, with more of what concerns whole tenants.
func (p *planner) change() step {
	type choice struct {
		weight int
		draw   func() step
	}
	choices := []choice{
		{3, func() step { return p.createTenant(p.tenant()) }},
		{3, func() step { return p.deleteTenant(p.tenant()) }},
		{2, func() step { return p.recreateTenant(p.tenant()) }},
		{3, p.retarget},
		{2, func() step { return p.createGateway(pick(p, p.gateways[:len(p.gateways)-1]...)) }},
		{2, func() step { return p.deleteGateway(pick(p, p.gateways[:len(p.gateways)-1]...)) }},
		{2, p.changeOIDC},
		{3, p.changeConfig},
		{3, p.changeState},
		{1, p.deleteConfig},
		{3, p.deletePart},
		{3, p.alterPart},
		{2, p.optOut},
		{2, p.optIn},
		{2, p.addUserObject},
		{1, p.foreignPolicy},
		{2, p.changeEgress},
		{1, p.changeSecret},
		{1, p.deleteInstallation},
	}
	total := 0
	for _, c := range choices {
		total += c.weight
	}
	roll := p.IntN(total)
	for _, c := range choices {
		if roll -= c.weight; roll < 0 {
			return c.draw()
		}
	}
	panic("unreachable")
}

func (s step) String() string {
	text := s.name
	if s.wait > 0 {
		text += fmt.Sprintf("; then pause for %s", s.wait)
	}
	if s.kill != nil {
		text += "; " + s.kill.String()
	}
	return text
}
