// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const probeTimeout = 2 * time.Second

// startController starts maas-controller and returns when it is ready. One that
// runs already is only waited for.
func (s *stack) startController(ctx context.Context) error {
	if p := s.state.alive(processController); p != nil {
		s.progress.say("already running")
		return s.awaitReady(ctx, p, p.ready)
	}
	if _, err := os.Stat(s.binary); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist: build it with `make build`", s.binary)
	}
	kubeconfig, err := s.env.OperatorKubeconfig(ctx)
	if err != nil {
		return err
	}
	probes, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	metrics, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	p, err := s.launch(command{
		name: processController, path: s.binary, log: s.logFile(processController),
		probe: "http://" + probes + "/readyz",
		args:  controllerArgs(kubeconfig, probes, metrics),
	})
	if err != nil {
		return err
	}
	return s.awaitReady(ctx, p, p.ready)
}

// controllerArgs are the arguments of the shipped Deployment, except for what
// differs on one machine: addresses, plain metrics and a single replica.
func controllerArgs(kubeconfig, probes, metrics string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--health-probe-bind-address=" + probes,
		"--metrics-bind-address=" + metrics,
		"--metrics-secure=false",
		"--leader-elect=false",
		"--platform=auto",
		"--gateway-name=maas-default-gateway",
		"--gateway-namespace=openshift-ingress",
		"--controller-namespace=" + testenv.OperatorNamespace,
		"--infra-namespace=AUTO",
		"--maas-subscription-namespace=models-as-a-service",
		"--aitenant-namespace=ai-tenants",
		"--enable-tenant-namespace-discovery",
	}
}

// ready asks the process itself.
func (p *process) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Probe, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode == http.StatusOK
}

// freeAddress asks the kernel for a loopback port nobody uses.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return address, nil
}
