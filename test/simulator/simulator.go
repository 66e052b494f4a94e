// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulator runs model servers that answer the OpenAI API without a
// model: a message is answered by itself, with a usage that depends on nothing
// but its text. It owns the processes it starts. It must know nothing of the
// cluster: whoever stands in for a gateway routes to the address it returns.
//
// It runs on Linux, and builds the program when it is missing.
package simulator

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/internal/program"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	name        = "llm-d-inference-sim"
	stopTimeout = 5 * time.Second
	mode        = 0o700
)

// Options describe a model server.
type Options struct {
	// Model is what the server simulates. Required; any name will do.
	Model string
	// ServedName is what requests call the model; empty means Model.
	ServedName string
	// Args are further arguments; of two the last counts.
	Args []string
	// Dir receives the server's log; empty means a temporary directory that goes
	// with the server.
	Dir string
	// Keep lets the server outlive this process.
	Keep bool
	// Started, unless nil, is told of the server's process as soon as there is one,
	// so that a server that is kept can be ended whatever happens to its starter.
	Started func(*process.Process) error
	// Out receives the progress of a build; nil discards it.
	Out io.Writer
}

// Server is a running model server.
type Server struct {
	// URL is where it answers, without a trailing slash.
	URL string
	// Process is for whoever keeps the server running beyond this process.
	Process *process.Process

	temporary string
}

// Start builds the program if it has to be built, and returns a server that
// answers. The context bounds the start only: what ends the server is Stop.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.ServedName == "" {
		o.ServedName = o.Model
	}
	if err := testenv.Build(ctx, "sim", o.Out); err != nil {
		return nil, err
	}
	s := &Server{}
	if err := s.start(ctx, o); err != nil {
		_ = s.Stop() // the reason for the failure counts
		return nil, fmt.Errorf("start model simulator: %w", err)
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, o Options) error {
	dir := o.Dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", name+"-"); err != nil {
			return err
		}
		s.temporary = dir
	} else if err := os.MkdirAll(dir, mode); err != nil {
		return err
	}
	address, err := testenv.FreeAddress(ctx)
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	s.URL = "http://" + address
	s.Process, err = process.Start(ctx, process.Command{
		Name: name,
		Path: filepath.Join(testenv.RepoRoot(), "bin", name),
		Args: append([]string{"--port", port, "--model", o.Model, "--served-model-name", o.ServedName, "--mode", "echo", "--seed", "1"}, o.Args...),
		Env:  []string{"POD_NAME=simulator"},
		Log:  filepath.Join(dir, name+"-"+port+".log"),
		Keep: o.Keep,
	})
	if err != nil {
		return err
	}
	if o.Started != nil {
		if err := o.Started(s.Process); err != nil {
			return err
		}
	}
	return program.AwaitReady(ctx, s.Process, s.URL+"/health")
}

// Stop ends the server and removes its temporary directory.
func (s *Server) Stop() error {
	var err error
	if s.Process != nil {
		err = s.Process.Stop(stopTimeout)
	}
	if s.temporary != "" {
		_ = os.RemoveAll(s.temporary)
	}
	return err
}
