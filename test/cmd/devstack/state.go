// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Names of the children of a stack, which are also those of their programs, except
// for the stand-ins, which are this one.
const (
	processDatabase   = "postgres"
	processStandins   = "standins"
	processController = "maas-controller"
	processModel      = "llm-d-inference-sim"
	processService    = "maas-api"
	processGateway    = "gateway-standin"
)

// children lists the children in the order in which they are started.
func children() []string {
	return []string{processDatabase, processStandins, processController, processModel, processService, processGateway}
}

// state is what later commands need to find the children of a stack. It is
// written after every start and stop, so that none is ever missed.
type state struct {
	Processes map[string]*child `json:"processes"`
	// Programs are those that the stack runs as maas-controller and maas-api.
	Programs map[string]string `json:"programs,omitempty"`
	// Arguments are those of maas-controller and maas-api: who they are, where they
	// listen, and whom they ask.
	Arguments map[string][]string `json:"programArguments,omitempty"`
	// Addresses are where children listen whom others ask. They outlive a restart of
	// the child.
	Addresses map[string]string `json:"addresses,omitempty"`
	// Backend is where the model answers.
	Backend string `json:"backend,omitempty"`
	// Token is what the gateway takes for the caller of the samples.
	Token string `json:"token,omitempty"`
}

func newState() *state {
	return &state{
		Processes: map[string]*child{}, Programs: map[string]string{}, Arguments: map[string][]string{}, Addresses: map[string]string{},
	}
}

func (l layout) readState() (*state, error) {
	s := newState()
	content, err := os.ReadFile(l.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	if err := json.Unmarshal(content, s); err != nil {
		return nil, fmt.Errorf("read state in %s: %w", l.stateFile(), err)
	}
	return s, nil
}

func (l layout) writeState(s *state) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	temporary := l.stateFile() + ".new"
	if err := os.WriteFile(temporary, append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	if err := os.Rename(temporary, l.stateFile()); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return nil
}

// alive returns the named process if it runs.
func (s *state) alive(name string) *child {
	if p := s.Processes[name]; p != nil && p.Alive() {
		return p
	}
	return nil
}

// anyAlive tells whether a child runs.
func (s *state) anyAlive() bool {
	for name := range s.Processes {
		if s.alive(name) != nil {
			return true
		}
	}
	return false
}
