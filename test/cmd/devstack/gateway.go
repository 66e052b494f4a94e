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
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// The caller of the samples: who the token of a stack belongs to, and the
// subscription it gets a key for.
const (
	callerName         = "alice"
	callerGroup        = "data-science"
	callerSubscription = "data-science-standard"
)

// startGateway starts the stand-in for the gateway: it serves the HTTPRoutes below
// the samples' Gateway, and asks maas-api about callers.
func (s *stack) startGateway(ctx context.Context) error {
	if runs, err := s.runsAlready(ctx, processGateway); runs || err != nil {
		return err
	}
	if err := testenv.Build(ctx, "gateway", s.progress); err != nil {
		return err
	}
	if err := s.writeIdentities(); err != nil {
		return err
	}
	if err := os.RemoveAll(s.layout.gatewayReady()); err != nil {
		return fmt.Errorf("remove a file of an earlier run: %w", err)
	}
	args, err := s.gatewayArgs(ctx)
	if err != nil {
		return err
	}
	p, err := s.launch(ctx, process.Command{Name: processGateway, Path: s.layout.binary(processGateway), Args: args},
		child{Address: s.state.Addresses[processGateway]})
	if err != nil {
		return err
	}
	return s.awaitReady(ctx, p, func(context.Context) bool {
		_, err := os.Stat(s.layout.gatewayReady())
		return err == nil
	})
}

func (s *stack) gatewayArgs(ctx context.Context) ([]string, error) {
	address, err := s.address(ctx, processGateway)
	if err != nil {
		return nil, err
	}
	service, err := s.address(ctx, processService)
	if err != nil {
		return nil, err
	}
	m, err := s.model()
	if err != nil {
		return nil, err
	}
	certificate, err := s.env.IssueCertificate(processGateway, m.Hostname, ipOf(address), "localhost")
	if err != nil {
		return nil, err
	}
	return []string{
		"--kubeconfig=" + s.env.Kubeconfig(),
		"--gateway=" + stage.GatewayNamespace + "/" + stage.GatewayName,
		"--listen=" + address,
		"--address-file=" + s.layout.gatewayReady(),
		"--tls-cert=" + certificate.CertFile,
		"--tls-key=" + certificate.KeyFile,
		"--identities=" + s.layout.identities(),
		"--maas-api=https://" + service,
		"--maas-api-ca=" + certificate.CAFile,
		"--backend-ca=" + certificate.CAFile,
		"--backend=" + serviceAccount().Namespace + "/" + serviceAccount().Name + "=https://" + service,
		"--backend=" + m.Service + "=" + s.state.Backend,
	}, nil
}

// writeIdentities tells the gateway whom tokens belong to. The token is new with
// every gateway, and nobody else can read it.
func (s *stack) writeIdentities() error {
	s.state.Token = strings.ToLower(rand.Text())
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
	return errors.Join(errs...)
}
