// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
)

// Names of the children of a stack, which are also those of their programs, except
// for the stand-ins and what runs the Pods, which are this one. maas-api is no child:
// it runs in Pods.
const (
	processDatabase   = "postgres"
	processStandins   = "standins"
	processController = "maas-controller"
	processModel      = "llm-d-inference-sim"
	processWorkload   = "workload"
	processService    = "maas-api"
	processGateway    = "gateway-standin"

	// The engines, and what leads them to the services of the cluster: this program.
	processNames     = "names"
	processKuadrant  = "kuadrant-operator"
	processAuthorino = "authorino"
	processProvider  = "oidc-provider"
)

// children lists the children in the order in which they are started.
func children() []string {
	return append(append([]string{processDatabase, processStandins}, engineProcesses()...),
		processController, processModel, processWorkload, processGateway)
}

// engineProcesses are the children of a stack with the engines only.
func engineProcesses() []string {
	return []string{processNames, processKuadrant, processAuthorino, processProvider}
}

// state is what later commands need to find the children of a stack. It is
// written after every start and stop, so that none is ever missed.
type state struct {
	Processes map[string]*child `json:"processes"`
	// Programs are those that the stack runs as maas-controller and maas-api.
	Programs map[string]string `json:"programs,omitempty"`
	// Arguments are those of maas-controller: who it is and where it listens.
	Arguments map[string][]string `json:"programArguments,omitempty"`
	// Addresses are where children listen whom others ask. They outlive a restart of
	// the child.
	Addresses map[string]string `json:"addresses,omitempty"`
	// Backend is where the model answers.
	Backend string `json:"backend,omitempty"`
	// Database is the address of maas-api's database.
	Database string `json:"database,omitempty"`
	// Token is what the gateway takes for the caller of the samples.
	Token string `json:"token,omitempty"`
	// Engines tells whether the engines carry policies out. It is true of the data, and
	// outlives the processes.
	Engines bool `json:"engines,omitempty"`
	// Authorino is where gateways ask it.
	Authorino string `json:"authorino,omitempty"`
}

// gatewayProcesses are the processes that play the Gateways of tenants.
func (s *state) gatewayProcesses() []string {
	var names []string
	for name := range s.Processes {
		if strings.HasPrefix(name, processGateway) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func newState() *state {
	return &state{
		Processes: map[string]*child{}, Programs: map[string]string{}, Arguments: map[string][]string{}, Addresses: map[string]string{},
	}
}

func (l layout) readState() (*state, error) {
	s := newState()
	err := readJSON(l.stateFile(), s)
	return s, err
}

func (l layout) writeState(s *state) error {
	return writeJSON(l.stateFile(), s)
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
