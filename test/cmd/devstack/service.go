// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"net/url"
	"path/filepath"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/internal/samples"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// serviceAccount is what maas-api runs as.
func serviceAccount() testenv.Account {
	return testenv.Account{Namespace: "odh-ai-gateway-infra", Name: "maas-api", Manifests: filepath.Join("config", "maas-api", "rbac")}
}

// serviceHost is the name of maas-api's Service, which its certificate is for too.
func serviceHost() string { return serviceAccount().Name + "." + serviceAccount().Namespace + ".svc" }

// startService starts maas-api and returns when it is ready. One that runs already
// is only waited for.
func (s *stack) startService(ctx context.Context) error {
	if runs, err := s.runsAlready(ctx, processService); runs || err != nil {
		return err
	}
	program, err := s.existing(processService)
	if err != nil {
		return err
	}
	if err := s.applyRoute(ctx); err != nil {
		return err
	}
	address, err := s.address(ctx, processService)
	if err != nil {
		return err
	}
	metrics, err := testenv.FreeAddress(ctx)
	if err != nil {
		return err
	}
	args, err := s.serviceArgs(ctx, address, metrics)
	if err != nil {
		return err
	}
	s.state.Arguments[processService] = args
	p, err := s.launch(ctx, process.Command{Name: processService, Path: program, Args: args},
		child{Probe: "http://" + metrics + "/readyz", Address: address, Metrics: "http://" + metrics + "/metrics"})
	if err != nil {
		return err
	}
	return s.awaitReady(ctx, p, p.ready)
}

// serviceArgs are those of maas-api on a cluster, except for what differs on one
// machine: addresses, and no time to let a load balancer notice the end.
func (s *stack) serviceArgs(ctx context.Context, address, metrics string) ([]string, error) {
	kubeconfig, err := s.env.AccountKubeconfig(ctx, serviceAccount())
	if err != nil {
		return nil, err
	}
	gateway, err := s.address(ctx, processGateway)
	if err != nil {
		return nil, err
	}
	certificate, err := s.env.IssueCertificate(processService, ipOf(address), "localhost", serviceHost())
	if err != nil {
		return nil, err
	}
	return []string{
		"serve",
		"--kubeconfig=" + kubeconfig,
		"--namespace=" + serviceAccount().Namespace,
		"--tenant-name=" + stage.TenantNamespace,
		"--maas-subscription-namespace=" + stage.TenantNamespace,
		"--gateway-name=" + stage.GatewayName,
		"--gateway-namespace=" + stage.GatewayNamespace,
		"--gateway-address=" + gateway,
		"--gateway-ca-file=" + certificate.CAFile,
		"--address=" + address,
		"--metrics-address=" + metrics,
		"--tls-cert=" + certificate.CertFile,
		"--tls-key=" + certificate.KeyFile,
		"--shutdown-drain=0s",
	}, nil
}

// applyRoute lets the gateway lead to maas-api, by the shipped route.
func (s *stack) applyRoute(ctx context.Context) error {
	objects, err := testenv.ReadObjects(filepath.Join(s.layout.root, "config", "maas-api", "httproute.yaml"))
	if err != nil {
		return err
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	return samples.Apply(ctx, c, objects)
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
