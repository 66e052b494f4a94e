// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Programs of this repository that a stack runs, and that a person may replace by a
// build of their own: maas-controller and maas-api.

// program is what shall run as the named child.
func (s *stack) program(name string) string {
	return cmp.Or(s.binaries[name], s.state.Programs[name], s.layout.binary(name))
}

// existing is program, if there is one.
func (s *stack) existing(name string) (string, error) {
	program := s.program(name)
	if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s does not exist: build it with `make build`", program)
	}
	return program, nil
}

// remember lets later commands run the same programs.
func (s *stack) remember() error {
	for _, name := range []string{processController, processService} {
		s.state.Programs[name] = s.program(name)
	}
	return s.layout.writeState(s.state)
}

// runsAlready waits for a child that an earlier command left running, and reports
// whether there is one. What runs stays the program of the stack.
func (s *stack) runsAlready(ctx context.Context, name string) (bool, error) {
	p := s.state.alive(name)
	if p == nil {
		return false, nil
	}
	s.progress.say("already running")
	delete(s.binaries, name)
	if p.Probe == "" {
		return true, nil
	}
	return true, s.awaitReady(ctx, p, p.ready)
}
