// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/engines"
	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	// issuer is that of the tokens of all tenants. Only Authorino's proxy knows the name.
	issuerHost = "idp.example.com"
	issuer     = "https://" + issuerHost + "/realms/maas"
	// clientID is the client of all tenants there.
	clientID = "maas"
	// tokenLife is that of an API key of a stack.
	tokenLife = 7 * 24 * time.Hour

	// Somebody with few tokens to spend.
	trialName  = "bob"
	trialGroup = "trial"
)

func (c *config) enginesFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.engines, "engines", false, "have the real Kuadrant and Authorino carry the policies out (needs root)")
}

// checkEnginesCommand tells early what would not work after minutes of building.
func (c *config) checkEnginesCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "check-engines",
		Short:  "Tell whether the engines can run here",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.stack(cmd, runDir, false)
			if err != nil {
				return err
			}
			if err := s.checkEngines(cmd.Context()); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "The engines can run here.")
			return err
		},
	}
}

// checkEngines tells whether the engines can run here, and have what they need.
func (s *stack) checkEngines(ctx context.Context) error {
	if !s.callable() {
		return errors.New("start the engines: they need maas-controller and maas-api, so --engines does not go with --without-controller or --without-maas-api")
	}
	if err := testenv.Build(ctx, "nsrun", s.progress); err != nil {
		return err
	}
	return isolates(ctx, s.layout.binary("nsrun"))
}

// isolates tells whether a program can run in a network namespace of its own.
func isolates(ctx context.Context, nsrun string) error {
	out, err := exec.CommandContext(ctx, nsrun, "--", "/bin/true").CombinedOutput()
	if err == nil {
		return nil
	}
	return fmt.Errorf(`start the engines: %w: %s
Authorino and Kuadrant's operator listen on all interfaces, so each gets a network
namespace of its own, which only root can make. Run this as root, in a container with
the capability SYS_ADMIN too: sudo make run ENGINES=1; or do without the engines: make run`,
		err, bytes.TrimSpace(out))
}

// sameAsBefore refuses to go on with data of a stack of the other kind: what Kuadrant
// and its stand-in leave behind is not the same.
func (s *stack) sameAsBefore() error {
	before, err := s.layout.readState()
	if err != nil {
		return err
	}
	if _, err := os.Stat(s.layout.controlPlane()); err != nil || before.Engines == s.engines {
		return nil //nolint:nilerr // Without a control plane there is no data.
	}
	has := "stand-ins instead of the engines"
	if before.Engines {
		has = "the engines"
	}
	return fmt.Errorf("the stack in %s has %s: go on with it by `%s`, or end it and remove its data first by `bin/devstack clean`",
		s.relative(s.layout.dir), has, upTarget(before.Engines))
}

// upTarget is what leaves a stack of a kind running.
func upTarget(engines bool) string {
	if engines {
		return "make up ENGINES=1"
	}
	return "make up"
}

// hold gives a start up as soon as an engine has ended.
func (s *stack) hold(ctx context.Context, engine interface {
	Done() <-chan struct{}
	Err() error
},
) {
	go func() {
		select {
		case <-engine.Done():
			s.giveUp(engine.Err())
		case <-ctx.Done():
		}
	}()
}

// reason is why the context ended, if that is what an error comes from and somebody
// said why; otherwise it is the error.
func reason(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		return cause
	}
	return err
}

// recorder writes an engine down as soon as it has a process.
func (s *stack) recorder(name string) func(*process.Process) error {
	return func(p *process.Process) error { return s.record(name, &child{Process: p}) }
}

// kuadrantEnvironment is what is set for Kuadrant's operator; the README names it.
func kuadrantEnvironment() []string {
	return append(engines.Patient(), "RATELIMIT_CHECK_SERVICE_FAILURE_MODE=deny")
}

func (s *stack) startKuadrant(ctx context.Context) error {
	if runs, err := s.runsAlready(ctx, processKuadrant); runs || err != nil {
		return err
	}
	kuadrant, err := engines.StartKuadrant(ctx, engines.KuadrantOptions{
		Kubeconfig: s.env.Kubeconfig(), WithoutOperators: true, Dir: s.layout.logs(), Keep: s.keep, Out: s.progress,
		Env: kuadrantEnvironment(), Started: s.recorder(processKuadrant),
	})
	if err != nil {
		return err
	}
	s.hold(ctx, kuadrant)
	s.state.Processes[processKuadrant].Metrics = kuadrant.Metrics
	return s.layout.writeState(s.state)
}

// startAuthorino starts Authorino, and what leads it to maas-api and the provider.
func (s *stack) startAuthorino(ctx context.Context) error {
	if err := s.startNames(ctx); err != nil {
		return err
	}
	if runs, err := s.runsAlready(ctx, processAuthorino); runs || err != nil {
		return err
	}
	authority, err := s.env.ServerAuthority()
	if err != nil {
		return err
	}
	authorino, err := engines.StartAuthorino(ctx, engines.AuthorinoOptions{
		Kubeconfig: s.env.Kubeconfig(), Proxy: "http://" + s.state.Addresses[processNames], CAFile: authority,
		Dir: s.layout.logs(), Keep: s.keep, Out: s.progress, Started: s.recorder(processAuthorino),
	})
	if err != nil {
		return err
	}
	s.hold(ctx, authorino)
	p := s.state.Processes[processAuthorino]
	p.Address, p.Metrics = authorino.GRPC, authorino.Metrics
	s.state.Authorino = authorino.GRPC
	errs := []error{s.layout.writeState(s.state)}
	for _, name := range s.state.gatewayProcesses() { // They have been told another address.
		errs = append(errs, s.end(name))
	}
	return errors.Join(errs...)
}

// startProvider starts the provider of tokens, and gets one for the caller of the
// samples: with each start it has another key.
func (s *stack) startProvider(ctx context.Context) error {
	if runs, err := s.runsAlready(ctx, processProvider); runs || err != nil {
		return err
	}
	address, err := s.address(ctx, processProvider)
	if err != nil {
		return err
	}
	certificate, err := s.env.IssueCertificate(processProvider, issuerHost)
	if err != nil {
		return err
	}
	provider, err := engines.StartOIDC(ctx, engines.OIDCOptions{
		Issuer: issuer, Address: address, Certificate: certificate, TokenLifetime: tokenLife,
		Users: []engines.OIDCUser{
			{Name: callerName, Subject: "subject-of-" + callerName, Groups: []string{callerGroup}},
			{Name: trialName, Subject: "subject-of-" + trialName, Groups: []string{trialGroup}},
		},
		Clients: []engines.OIDCClient{{ID: clientID}},
		Dir:     s.layout.provider(), Keep: s.keep, Out: s.progress, Started: s.recorder(processProvider),
	})
	if err != nil {
		return err
	}
	s.hold(ctx, provider)
	s.state.Processes[processProvider].Address = address
	return s.renewToken(ctx)
}

// renewToken logs the caller of the samples in again. The token of a stack without the
// engines does not end.
func (s *stack) renewToken(ctx context.Context) (err error) {
	if !s.engines {
		return nil
	}
	if s.state.Token, err = s.login(ctx, callerName); err != nil {
		return err
	}
	return s.layout.writeState(s.state)
}

// login logs a user in, as a person is shown how to.
func (s *stack) login(ctx context.Context, user string) (string, error) {
	authority, err := s.env.ServerAuthority()
	if err != nil {
		return "", err
	}
	var failure bytes.Buffer
	cmd := exec.CommandContext(ctx, s.layout.binary(processProvider), "token", "--issuer", issuer,
		"--connect", s.state.Addresses[processProvider], "--cacert", authority, "--client", clientID, "--user", user)
	cmd.Stderr = &failure
	token, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("log %s in: %w: %s", user, err, bytes.TrimSpace(failure.Bytes()))
	}
	return strings.TrimSpace(string(token)), nil
}

// providerSettings are what an AITenant says of the provider.
func providerSettings() map[string]any {
	return map[string]any{"issuerUrl": issuer, "clientId": clientID}
}

// acceptTokens has the default tenant, which the operator made, accept tokens of the
// provider, and returns when it is set up again.
func (s *stack) acceptTokens(ctx context.Context) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	tenant := (&site{tenant: defaultTenant}).aiTenant()
	before := tenant.DeepCopy()
	tenant.Object["spec"] = map[string]any{"oidc": providerSettings()}
	if err := c.Patch(ctx, tenant, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("set the provider of AITenant %s: %w", defaultTenant, err)
	}
	return s.awaitBootstrap(ctx)
}

// engineGateway is what a gateway tells of the configuration it executes.
type engineGateway struct {
	EnvoyFilter, Limitador, Error string
}

// upToDate tells what of the generated configuration a gateway has not read yet.
func (s *stack) upToDate(ctx context.Context, t *site, executed engineGateway) error {
	if executed.Error != "" {
		return fmt.Errorf("the gateway cannot execute its configuration: %s", executed.Error)
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	for _, o := range []struct {
		group, version, kind string
		key                  types.NamespacedName
		read                 string
	}{
		{"networking.istio.io", "v1alpha3", "EnvoyFilter", types.NamespacedName{Namespace: t.gateway().Namespace, Name: "kuadrant-" + t.gateway().Name}, executed.EnvoyFilter},
		{"limitador.kuadrant.io", "v1alpha1", "Limitador", types.NamespacedName{Namespace: engines.KuadrantNamespace, Name: "limitador"}, executed.Limitador},
	} {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(schema.GroupVersionKind{Group: o.group, Version: o.version, Kind: o.kind})
		if err := c.Get(ctx, o.key, live); err != nil {
			return fmt.Errorf("get %s %s: %w", o.kind, o.key, err)
		}
		if live.GetResourceVersion() != o.read {
			return fmt.Errorf("the gateway has not read %s %s as it is now", o.kind, o.key)
		}
	}
	return nil
}
