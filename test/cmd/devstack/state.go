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

// Names of the children of a stack.
const (
	processStandins   = "standins"
	processController = "maas-controller"
)

// state is what later commands need to find the children of a stack. It is
// written after every start and stop, so that none is ever missed.
type state struct {
	Processes map[string]*child `json:"processes"`
	// Controller is the program that the stack runs as maas-controller.
	Controller string `json:"controller,omitempty"`
	// Arguments are those of maas-controller: who it is, where it listens, and how
	// it serves the webhooks that the API server asks.
	Arguments []string `json:"arguments,omitempty"`
}

func (l layout) readState() (*state, error) {
	s := &state{Processes: map[string]*child{}}
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
