// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/internal/program"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// stopGrace is more than any child takes to end in good order.
const stopGrace = 35 * time.Second

// child is one process of a stack.
type child struct {
	*process.Process
	// Probe is the URL that answers 200 when the process is ready, if it has one.
	Probe string `json:"probe,omitempty"`
	// Address is where it listens, Metrics the URL of its metrics, if it has any.
	Address string `json:"address,omitempty"`
	Metrics string `json:"metrics,omitempty"`
}

// launch starts a child and records it at once. The process of what is known of it
// is filled in.
func (s *stack) launch(ctx context.Context, c process.Command, known child) (*child, error) {
	c.Log, c.Keep = s.logFile(c.Name), s.keep
	c.Env = append([]string{"HOME=" + os.Getenv("HOME")}, c.Env...)
	started, err := process.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	known.Process = started
	return &known, s.record(c.Name, &known)
}

// record writes down a child that was just started, so that it can be ended.
func (s *stack) record(name string, p *child) error {
	s.started = append(s.started, func() error { return s.end(name) })
	s.state.Processes[name] = p
	return s.layout.writeState(s.state)
}

// address is where a child listens whom others ask. They may have been told of it
// before the child runs, so it stays the same while anything of the stack runs.
func (s *stack) address(ctx context.Context, name string) (string, error) {
	if known := s.state.Addresses[name]; known != "" {
		return known, nil
	}
	address, err := testenv.FreeAddress(ctx)
	if err != nil {
		return "", err
	}
	s.state.Addresses[name] = address
	return address, s.layout.writeState(s.state)
}

// ready asks the process itself.
func (p *child) ready(ctx context.Context) bool {
	return program.Ready(ctx, p.Probe)
}

// awaitFile waits until a child says in a file that it is ready.
func (s *stack) awaitFile(ctx context.Context, p *child) error {
	return s.awaitReady(ctx, p, func(context.Context) bool {
		_, err := os.Stat(s.layout.ready(p.Name))
		return err == nil
	})
}

// awaitReady waits for a child, and tells what its log says if it fails.
func (s *stack) awaitReady(ctx context.Context, p *child, ready func(context.Context) bool) error {
	err := poll(ctx, childTimeout, readyPoll, func(ctx context.Context) (bool, error) {
		if ready(ctx) {
			return true, nil
		}
		if !p.Alive() {
			return false, p.failure("ended before it was ready")
		}
		return false, nil
	})
	if err != nil && p.Alive() && ctx.Err() == nil {
		return p.failure("is not ready after " + childTimeout.String())
	}
	return err
}

// end stops one child and forgets it.
func (s *stack) end(name string) error {
	p := s.state.Processes[name]
	if p == nil {
		return nil
	}
	if err := p.Stop(stopGrace); err != nil {
		return err
	}
	delete(s.state.Processes, name)
	return s.layout.writeState(s.state)
}

// failure explains why a child is not as it should be, with parts of its log.
func (p *child) failure(problem string) error {
	return fmt.Errorf("%s %s; from %s:\n%s", p.Name, problem, p.Log, indent(p.Excerpt()))
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
