// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/opendatahub-io/maas-operator/test/bench/load"
	"github.com/opendatahub-io/maas-operator/test/service"
)

const (
	// usualSubscriptions and usualClients are those that are varied the other of.
	usualSubscriptions = 100
	usualClients       = 32

	warmUp = 500 * time.Millisecond

	// mostObjects is how many heap objects a request may need beside those of the
	// floor, however many subscriptions and keys there are.
	mostObjects = 8

	half, most = 0.5, 0.99
)

// What is asked. The floor stands beside the others: it goes through the same
// connection, server, middleware and route, and is refused as soon as it was read.
const (
	askFloor    = "floor"
	askValidate = "validate"
	askSelect   = "select"
	askByGroups = "select by groups"
	askBoth     = "validate and select"
)

// requests measures what the gateway asks for every request of a model.
func requests(ctx context.Context, s *serving, out *Scenario) error {
	if _, err := s.store(ctx, s.options.Service.Keys); err != nil {
		return err
	}
	r, err := s.stage.Replica(ctx, service.ReplicaOptions{Name: "requests", TLS: true})
	if err != nil {
		return err
	}
	if err := s.publish(ctx, 0, s.options.Service.Subscriptions[0]); err != nil {
		return err
	}
	if err := r.Start(ctx); err != nil {
		return err
	}
	made := s.options.Service.Subscriptions[0]
	for _, count := range s.options.Service.Subscriptions {
		if err := s.publish(ctx, made, count); err != nil {
			return err
		}
		made = count
		if err := s.stage.Settle(ctx, r); err != nil {
			return err
		}
		c := &course{serving: s, replica: r, out: out, subscriptions: count}
		for range s.options.Repeat {
			if err := c.run(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// course measures with one number of subscriptions.
type course struct {
	*serving
	replica       *service.Replica
	out           *Scenario
	subscriptions int

	wished, byGroups []load.Request
	// floors are what the floor came to, by protocol and clients.
	floors map[string]figures
}

// figures are those of one measurement, per turn.
type figures struct {
	median, worst, perSecond, seconds, objects, statements float64
}

func (c *course) run(ctx context.Context) (err error) {
	c.floors = map[string]figures{}
	if c.wished, err = selections(c.subscriptions, true); err != nil {
		return err
	}
	if c.byGroups, err = selections(c.subscriptions, false); err != nil {
		return err
	}
	if c.subscriptions != usualSubscriptions {
		return c.all(ctx, load.HTTP1, usualClients, askFloor, askSelect, askByGroups)
	}
	for _, protocol := range []load.Protocol{load.HTTP1, load.HTTP2} {
		for _, clients := range c.options.Service.Clients {
			if err := c.all(ctx, protocol, clients, askFloor, askValidate, askSelect, askByGroups, askBoth); err != nil {
				return err
			}
		}
	}
	return nil
}

// all measures several kinds of requests.
func (c *course) all(ctx context.Context, protocol load.Protocol, clients int, asks ...string) error {
	for _, ask := range asks {
		c.say("subscriptions: %d, %s, clients: %d, %s", c.subscriptions, protocol, clients, ask)
		f, err := c.measure(ctx, &load.Plan{
			Address: c.replica.Address(), Protocol: protocol, Clients: clients, Warm: warmUp, Measure: c.options.Service.Measure, Turn: c.turn(ask),
		})
		if err != nil {
			return err
		}
		c.record(protocol, clients, ask, f)
	}
	return nil
}

// turn is how a kind of request is made.
func (s *serving) turnOf(ask string, wished, byGroups []load.Request) func(int) []load.Request {
	// Neighbours use different keys.
	const stride = 7919
	key := func(number int) int { return number * stride % s.options.Service.InUse }
	switch ask {
	case askFloor:
		return func(n int) []load.Request { return []load.Request{s.malformed(key(n))} }
	case askValidate:
		return func(n int) []load.Request { return []load.Request{s.validation(key(n))} }
	case askSelect:
		return func(n int) []load.Request { return wished[n%len(wished):][:1] }
	case askByGroups:
		return func(n int) []load.Request { return byGroups[n%len(byGroups):][:1] }
	default:
		return func(n int) []load.Request { return []load.Request{s.validation(key(n)), wished[n%len(wished)]} }
	}
}

func (c *course) turn(ask string) func(int) []load.Request {
	return c.turnOf(ask, c.wished, c.byGroups)
}

// measure carries out a plan and reads what the program spent meanwhile.
func (c *course) measure(ctx context.Context, p *load.Plan) (figures, error) {
	result, used, err := c.under(ctx, c.replica, p)
	if err != nil {
		return figures{}, err
	}
	turns := float64(result.Turns)
	return figures{
		median: millis(result.Sent.Quantile(half)), worst: millis(result.Sent.Quantile(most)), perSecond: result.TurnsPerSecond(),
		seconds: used.seconds / turns, objects: used.objects / turns, statements: used.statements / turns,
	}, nil
}

// under carries out a plan.
func (s *serving) under(ctx context.Context, r *service.Replica, p *load.Plan) (*load.Result, spent, error) {
	var before, after spent
	p.Begin = func() (err error) {
		before, err = s.spent(ctx, r)
		return err
	}
	p.End = func() (err error) {
		after, err = s.spent(ctx, r)
		return err
	}
	result, err := load.Run(ctx, p)
	if err != nil {
		return nil, spent{}, err
	}
	if result.Turns == 0 {
		return nil, spent{}, fmt.Errorf("nothing was answered within %s", p.Measure)
	}
	return result, after.minus(before), nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// record adds figures to the report, and their ratios to those of the floor.
func (c *course) record(protocol load.Protocol, clients int, ask string, f figures) {
	where := fmt.Sprintf("%s, clients: %d", protocol, clients)
	row := fmt.Sprintf("subscriptions: %d, %s, %s", c.subscriptions, where, ask)
	if ask == askFloor {
		c.floors[where] = f
	}
	const micros, thousand = 1e6, 1e3
	c.out.cell(row, "p50 ms", Millis, f.median)
	c.out.cell(row, "p99 ms", Millis, f.worst)
	c.out.cell(row, "turns/s", PerSecond, f.perSecond)
	c.out.cell(row, "cpu µs", Micros, f.seconds*micros)
	c.out.cell(row, "objects", Objects, f.objects)
	c.out.cell(row, "SQL/1000", Statements, f.statements*thousand)
	if ask == askFloor {
		return
	}
	// A turn of two requests stands beside two of the floor.
	steps := 1.0
	if ask == askBoth {
		steps = 2
	}
	floor := c.floors[where]
	c.out.cell(row, "p99 / floor", Ratio, f.worst/(steps*floor.worst))
	c.out.cell(row, "cpu / floor", Ratio, f.seconds/(steps*floor.seconds))
	c.out.cell(row, "turns / floor", Ratio, steps*f.perSecond/floor.perSecond)
	c.out.cell(row, "objects - floor", Objects, f.objects-steps*floor.objects, atMost(mostObjects))
}
