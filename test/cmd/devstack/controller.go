// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// startController starts maas-controller and returns when it is ready. One that
// runs already is only waited for.
func (s *stack) startController(ctx context.Context) error {
	if runs, err := s.runsAlready(ctx, processController); runs || err != nil {
		return err
	}
	program, err := s.existing(processController)
	if err != nil {
		return err
	}
	kubeconfig, err := s.env.OperatorKubeconfig(ctx)
	if err != nil {
		return err
	}
	probes, err := testenv.FreeAddress(ctx)
	if err != nil {
		return err
	}
	metrics, err := testenv.FreeAddress(ctx)
	if err != nil {
		return err
	}
	address, err := testenv.FreeAddress(ctx)
	if err != nil {
		return err
	}
	webhooks, err := s.installWebhooks(ctx, address)
	if err != nil {
		return err
	}
	s.state.Arguments[processController] = append(withoutWebhooks(stage.Args(kubeconfig, probes, metrics)), webhooks...)
	environment, err := s.layout.managerEnvironment()
	if err != nil {
		return err
	}
	p, err := s.launch(ctx, process.Command{
		Name: processController, Path: program, Args: s.state.Arguments[processController], Env: assignments(environment),
	}, child{Probe: "http://" + probes + "/readyz", Address: address, Metrics: "http://" + metrics + "/metrics"})
	if err != nil {
		return err
	}
	return s.awaitReady(ctx, p, p.ready)
}

// withoutWebhooks are arguments that say nothing of webhooks: a person is shown them.
func withoutWebhooks(args []string) []string {
	return slices.DeleteFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--enable-webhooks") })
}

// assignments are variables as a process takes them.
func assignments(variables map[string]string) []string {
	all := make([]string, 0, len(variables))
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		all = append(all, name+"="+variables[name])
	}
	return all
}

// installWebhooks makes the API server ask maas-controller, which is about to
// start, and returns the arguments that make it answer. As on a cluster, the API
// server goes on asking while maas-controller is stopped.
func (s *stack) installWebhooks(ctx context.Context, address string) ([]string, error) {
	certs, err := s.env.InstallWebhooks(ctx, address)
	if err != nil {
		return nil, err
	}
	return []string{"--enable-webhooks=true", "--webhook-bind-address=" + address, "--webhook-cert-dir=" + certs}, nil
}

// removeWebhooks makes the API server ask nobody, in a stack whose maas-controller
// is somebody else's business.
func (s *stack) removeWebhooks(ctx context.Context) error {
	delete(s.state.Arguments, processController)
	return errors.Join(s.env.RemoveWebhooks(ctx), s.layout.writeState(s.state))
}
