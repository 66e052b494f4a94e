// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// Request is a request with its body, which is JSON but for [GRPC].
type Request struct {
	Path string
	Body []byte
	// Status and Text are what the answer must have: its status, and a part of its
	// body.
	Status int
	Text   []byte
}

// Plan is one measurement.
type Plan struct {
	// Address is host:port of the server, whose certificate is not checked.
	Address  string
	Protocol Protocol
	// Clients ask at the same time, each of them again as soon as it has its answer.
	Clients int
	// Rate is how many turns are taken in a second by all clients together; 0 means
	// as many as possible.
	Rate float64
	// Warm is for how long answers do not count yet, Measure for how long they do.
	Warm, Measure time.Duration
	// Tolerate is a status that is not wanted but does not end the run: see
	// [Result].Failures. 0 tolerates none.
	Tolerate int
	// Begin and End, unless nil, are called when what counts begins and ends.
	Begin, End func() error
	// Turn returns the requests of one turn, which are sent one after another. It is
	// called by several clients at the same time, with a number of its own each time.
	Turn func(number int) []Request
}

// Result is what came of a measurement.
type Result struct {
	// Turns and Requests were answered as they should in Elapsed.
	Turns, Requests int
	Elapsed         time.Duration
	// Sent are times from the sending of a turn's first request to the last answer.
	// Due are those from when the turn was due, if there is a rate.
	Sent, Due Latencies
	// Failures are when turns began that ended in the tolerated status, since what
	// counts began.
	Failures Latencies
}

// TurnsPerSecond is the throughput.
func (r *Result) TurnsPerSecond() float64 { return float64(r.Turns) / r.Elapsed.Seconds() }

// Run carries out a plan. An answer that is not what it should be ends it.
func Run(ctx context.Context, p *Plan) (*Result, error) {
	if p.Clients < 1 || p.Measure <= 0 || p.Turn == nil {
		return nil, errors.New("check the plan: clients, a time and turns must be set")
	}
	dialer, err := newDialer(p)
	if err != nil {
		return nil, err
	}
	defer dialer.close()
	clients, err := connect(ctx, dialer, p.Clients)
	defer func() {
		for _, c := range clients {
			c.conn.close()
		}
	}()
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", p.Address, err)
	}
	start := time.Now()
	r := &run{plan: p, start: start, from: start.Add(p.Warm), to: start.Add(p.Warm + p.Measure)}
	var group errgroup.Group
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, c := range clients {
		c.run = r
		group.Go(func() error {
			err := c.ask(ctx)
			if err != nil {
				cancel(err)
			}
			return err
		})
	}
	group.Go(func() error { return at(ctx, r.from, p.Begin) })
	group.Go(func() error { return at(ctx, r.to, p.End) })
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("load %s: %w", p.Address, err)
	}
	result := &Result{Elapsed: p.Measure}
	for _, c := range clients {
		result.Turns += len(c.sent)
		result.Requests += c.requests
		result.Sent = append(result.Sent, c.sent...)
		result.Due = append(result.Due, c.due...)
		result.Failures = append(result.Failures, c.failures...)
	}
	return result, nil
}

// connect makes clients with their connections; those that it returns with an error
// are to be closed too.
func connect(ctx context.Context, dialer dialer, count int) ([]*client, error) {
	var clients []*client
	for i := range count {
		conn, err := dialer.dial(ctx)
		if err != nil {
			return clients, err
		}
		clients = append(clients, &client{conn: conn, number: i})
	}
	return clients, nil
}

// at calls f at a moment.
func at(ctx context.Context, moment time.Time, f func() error) error {
	if f == nil {
		return nil
	}
	if err := until(ctx, moment); err != nil {
		return err
	}
	return f()
}

// until returns at a moment.
func until(ctx context.Context, moment time.Time) error {
	wait := time.NewTimer(time.Until(moment))
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

type run struct {
	plan            *Plan
	start, from, to time.Time
}

// client asks again and again.
type client struct {
	*run
	conn             conn
	number, requests int
	sent, due        Latencies
	failures         Latencies
}

func (c *client) ask(ctx context.Context) error {
	for turn := c.number; ctx.Err() == nil; turn += c.plan.Clients {
		due := time.Now()
		if c.plan.Rate > 0 {
			due = c.start.Add(time.Duration(float64(turn) / c.plan.Rate * float64(time.Second)))
			if err := until(ctx, due); err != nil {
				return err
			}
		}
		began := time.Now()
		if began.After(c.to) {
			return nil
		}
		requests := c.plan.Turn(turn)
		if failed, err := c.take(ctx, requests); err != nil {
			return err
		} else if failed {
			c.failures = append(c.failures, began.Sub(c.from))
			continue
		}
		ended := time.Now()
		// What counts is what was answered within the time.
		if ended.Before(c.from) || ended.After(c.to) {
			continue
		}
		c.requests += len(requests)
		c.sent = append(c.sent, ended.Sub(began))
		if c.plan.Rate > 0 {
			c.due = append(c.due, ended.Sub(due))
		}
	}
	return context.Cause(ctx)
}

// take sends the requests of a turn, up to the first that fails in a way that is
// tolerated.
func (c *client) take(ctx context.Context, requests []Request) (failed bool, err error) {
	for i := range requests {
		err := c.conn.exchange(ctx, &requests[i])
		if wrong, ok := errors.AsType[*wrongAnswer](err); ok && wrong.status == c.plan.Tolerate {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}
