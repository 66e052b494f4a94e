// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// The caller of the samples: who the token of a stack belongs to, and the
// subscription it gets a key for.
const (
	callerName         = "alice"
	callerGroup        = "data-science"
	callerSubscription = "data-science-standard"
)

// placeGateways decides where the Gateways of all tenants are, before anybody is told.
func (s *stack) placeGateways(ctx context.Context) error {
	tenants, err := s.otherTenants(ctx)
	if err != nil {
		return err
	}
	for _, name := range append([]string{defaultTenant}, tenants...) {
		if err := s.placeGateway(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (s *stack) placeGateway(ctx context.Context, tenant string) error {
	t, err := s.site(tenant)
	if err != nil {
		return err
	}
	known := map[string]string{}
	if err := readJSON(s.layout.gatewaysFile(), &known); err != nil {
		return err
	}
	if known[t.gateway().String()], err = s.address(ctx, t.gatewayProcess()); err != nil {
		return err
	}
	return writeJSON(s.layout.gatewaysFile(), known)
}

// startGateways starts the stand-ins for the gateways of all tenants that have a
// maas-api.
func (s *stack) startGateways(ctx context.Context) error {
	if err := s.startGateway(ctx, defaultTenant); err != nil {
		return err
	}
	tenants, err := s.otherTenants(ctx)
	if err != nil {
		return err
	}
	report, err := s.layout.readReport()
	if err != nil {
		return err
	}
	for _, name := range tenants {
		t := &site{tenant: name}
		if report.service(t.service()) == "" {
			continue
		}
		if err := s.startGateway(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// startGateway starts the stand-in for the gateway of a tenant: it serves the
// HTTPRoutes below the tenant's Gateway, and asks the tenant's maas-api about callers.
func (s *stack) startGateway(ctx context.Context, tenant string) error {
	t, err := s.site(tenant)
	if err != nil {
		return err
	}
	name := t.gatewayProcess()
	if runs, err := s.runsAlready(ctx, name); runs || err != nil {
		return err
	}
	if err := testenv.Build(ctx, "gateway", s.progress); err != nil {
		return err
	}
	if !s.engines {
		if err := s.writeIdentities(); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(s.layout.ready(name)); err != nil {
		return fmt.Errorf("remove a file of an earlier run: %w", err)
	}
	args, err := s.gatewayArgs(ctx, t)
	if err != nil {
		return err
	}
	p, err := s.launch(ctx, process.Command{Name: name, Path: s.layout.binary(processGateway), Args: args},
		child{Address: s.state.Addresses[name]})
	if err != nil {
		return err
	}
	return s.awaitFile(ctx, p)
}

func (s *stack) gatewayArgs(ctx context.Context, t *site) ([]string, error) {
	address, err := s.address(ctx, t.gatewayProcess())
	if err != nil {
		return nil, err
	}
	service, err := s.serviceAddress(ctx, t.service())
	if err != nil {
		return nil, err
	}
	certificate, err := s.env.IssueCertificate(t.gatewayProcess(), t.model.Hostname, ipOf(address), "localhost")
	if err != nil {
		return nil, err
	}
	args := []string{
		"--kubeconfig=" + s.env.Kubeconfig(),
		"--gateway=" + t.gateway().String(),
		"--listen=" + address,
		"--address-file=" + s.layout.ready(t.gatewayProcess()),
		"--tls-cert=" + certificate.CertFile,
		"--tls-key=" + certificate.KeyFile,
		"--backend-ca=" + certificate.CAFile,
		"--backend=" + infraNamespace + "/" + t.service() + "=https://" + service,
		"--backend=" + t.model.Service + "=" + s.state.Backend,
	}
	if s.engines {
		admin, err := s.address(ctx, t.gatewayAdmin())
		return append(args, "--engine", "--authorino="+s.state.Authorino, "--admin="+admin), err
	}
	return append(args,
		"--identities="+s.layout.identities(),
		"--maas-api=https://"+service,
		"--maas-api-ca="+certificate.CAFile,
		"--maas-api-route="+t.route(),
	), nil
}

// writeIdentities tells gateways whom tokens belong to. The token is new with every
// stack, and nobody else can read it.
func (s *stack) writeIdentities() error {
	if s.state.Token == "" {
		s.state.Token = strings.ToLower(rand.Text())
	}
	table, err := json.Marshal(map[string]any{
		s.state.Token: map[string]any{"username": callerName, "groups": []string{callerGroup}},
	})
	if err != nil {
		return fmt.Errorf("encode identities: %w", err)
	}
	if err := os.WriteFile(s.layout.identities(), append(table, '\n'), 0o600); err != nil {
		return fmt.Errorf("write identities: %w", err)
	}
	return s.layout.writeState(s.state)
}

// removeSecrets removes what lets somebody in.
func (l layout) removeSecrets() error {
	var errs []error
	for _, file := range []string{l.keyFile(), l.identities(), l.envFile(), l.curlFile()} {
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			errs = append(errs, fmt.Errorf("remove settings: %w", err))
		}
	}
	return errors.Join(append(errs, os.RemoveAll(l.tenants()))...)
}
