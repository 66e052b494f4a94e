// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/internal/program"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	// maasAPIImage is the variable with the image of maas-api.
	maasAPIImage = "RELATED_IMAGE_ODH_MAAS_API_IMAGE"
	// maxRestarts is how often a program may end before the stack gives up: at first a
	// right may be missing for a moment.
	maxRestarts = 3
)

// startWorkload starts what runs maas-api, for every tenant as the operator rendered
// its Deployment, and the jobs about keys. One that runs already is only waited for.
func (s *stack) startWorkload(ctx context.Context) error {
	if runs, err := s.runsAlready(ctx, processWorkload); runs || err != nil {
		return err
	}
	args, err := s.workloadArgs()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if _, err := s.env.ServerAuthority(); err != nil { // Two processes must not make it at the same time.
		return err
	}
	before, err := s.layout.readReport()
	if err != nil {
		return err
	}
	before.Programs = nil
	if !s.state.anyAlive() {
		before.Services = nil // Somebody else may have the addresses now.
	}
	if err := writeJSON(s.layout.workloadFile(), before); err != nil {
		return err
	}
	p, err := s.launch(ctx, process.Command{Name: processWorkload, Path: self, Args: args}, child{})
	if err != nil {
		return err
	}
	return s.awaitServers(ctx, p)
}

func (s *stack) workloadArgs() ([]string, error) {
	environment, err := s.layout.managerEnvironment()
	if err != nil {
		return nil, err
	}
	args := []string{
		"workload", "--control-plane=" + s.layout.controlPlane(), "--pods-dir=" + s.layout.pods(), "--report-file=" + s.layout.workloadFile(),
		"--maas-api-image=" + environment[maasAPIImage], "--gateways-file=" + s.layout.gatewaysFile(),
	}
	if !s.service {
		return args, nil
	}
	program, err := s.existing(processService)
	return append(args, "--maas-api-program="+program), err
}

// restartWorkload starts maas-api again after it was stopped, and returns when that of
// every tenant is ready.
func (s *stack) restartWorkload(ctx context.Context) error {
	if err := s.startWorkload(ctx); err != nil {
		return err
	}
	return s.awaitServers(ctx, s.state.alive(processWorkload))
}

// awaitServers waits until every Deployment of maas-api has a program that is ready.
func (s *stack) awaitServers(ctx context.Context, runner *child) error {
	if !s.service {
		return nil
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	var missing string
	err = poll(ctx, childTimeout, readyPoll, func(ctx context.Context) (bool, error) {
		if !runner.Alive() {
			return false, runner.failure("ended on its own")
		}
		report, err := s.layout.readReport()
		if err != nil {
			return false, err
		}
		deployments, err := serverDeployments(ctx, c)
		if err != nil {
			return false, err
		}
		for i := range deployments {
			missing = deployments[i].Name
			if ready, err := report.ready(ctx, missing); !ready {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil && missing != "" && ctx.Err() == nil {
		return fmt.Errorf("start %s: %w", missing, err)
	}
	return err
}

// ready tells whether a program of a Deployment is ready. The error of one that does
// not stay up tells what its log says.
func (r workloadReport) ready(ctx context.Context, deployment string) (bool, error) {
	for _, p := range r.servers() {
		if p.deployment() != deployment {
			continue
		}
		if p.ready(ctx) {
			return true, nil
		}
		if !p.Running && p.Restarts >= maxRestarts {
			ended := &child{Process: &process.Process{Name: deployment, Log: p.Log}}
			return false, ended.failure("ended before it was ready")
		}
	}
	return false, nil
}

// ready asks the program itself.
func (p podProgram) ready(ctx context.Context) bool {
	return p.Running && program.Ready(ctx, "http://"+p.Ports[metricsPort]+"/readyz")
}

// serverDeployments are those of maas-api, by name.
func serverDeployments(ctx context.Context, c client.Client) ([]appsv1.Deployment, error) {
	var list appsv1.DeploymentList
	if err := c.List(ctx, &list, client.InNamespace(infraNamespace), client.MatchingLabels{testenv.RunLabel: testenv.RunLabelValue}); err != nil {
		return nil, fmt.Errorf("list Deployments: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(d appsv1.Deployment) bool { return d.DeletionTimestamp != nil }), nil
}

// serviceAddress is where the maas-api of a tenant is here.
func (s *stack) serviceAddress(ctx context.Context, name string) (string, error) {
	var address string
	err := poll(ctx, childTimeout, readyPoll, func(context.Context) (bool, error) {
		report, err := s.layout.readReport()
		address = report.service(name)
		return address != "", err
	})
	if err != nil {
		return "", errors.Join(fmt.Errorf("find Service %s/%s on this machine", infraNamespace, name), err)
	}
	return address, nil
}

// ipOf is the address without its port.
func ipOf(address string) string {
	ip, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return ip
}

// hostOf is host:port of a URL.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Host
}
