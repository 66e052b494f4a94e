// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"errors"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/opendatahub-io/maas-operator/test/engines"
	"github.com/opendatahub-io/maas-operator/test/simulator"
)

// startEngines starts what carries out policies, and the providers, which Authorino
// looks for as soon as there is a policy that names them.
func (w *World) startEngines(ctx context.Context, o Options) (err error) {
	if w.Names, err = engines.NewNameProxy(ctx); err != nil {
		return err
	}
	w.onStop(w.Names.Stop)
	w.Upstream = newUpstream()
	w.onStop(func() error { w.Upstream.server.Close(); return nil })
	if o.Provider {
		if err := w.startProvider(); err != nil {
			return err
		}
	}
	work, within := errgroup.WithContext(ctx)
	work.Go(func() error { return w.startKuadrant(within, o) })
	work.Go(func() error { return w.startAuthorino(within) })
	for _, t := range w.Tenants() {
		work.Go(func() error { return t.startOIDC(within) })
	}
	if o.Simulator {
		work.Go(func() error { return w.startSimulator(within, o) })
	}
	return work.Wait()
}

func (w *World) startKuadrant(ctx context.Context, o Options) (err error) {
	w.Kuadrant, err = engines.StartKuadrant(ctx, engines.KuadrantOptions{
		Kubeconfig: w.Stage.Env.Kubeconfig(), Env: append(engines.Patient(), o.KuadrantEnv...), Dir: filepath.Join(w.dir, "kuadrant"), Out: w.log,
	})
	if err == nil {
		kuadrant := w.Kuadrant
		w.onStop(func() error {
			if kuadrant != w.Kuadrant {
				return nil // It was stopped long ago.
			}
			return kuadrant.Stop()
		})
	}
	return err
}

// WithoutKuadrant does something while Kuadrant's operator does not run, and returns
// when it does again and both tenants are served.
func (w *World) WithoutKuadrant(ctx context.Context, do func() error) error {
	if err := w.Kuadrant.Stop(); err != nil {
		return err
	}
	done := do()
	if err := w.startKuadrant(ctx, w.options); err != nil {
		return errors.Join(done, err)
	}
	for _, t := range w.Tenants() {
		done = errors.Join(done, t.awaitServed(ctx))
	}
	return done
}

func (w *World) startAuthorino(ctx context.Context) error {
	authority, err := w.Stage.Env.ServerAuthority()
	if err != nil {
		return err
	}
	w.Authorino, err = engines.StartAuthorino(ctx, engines.AuthorinoOptions{
		Kubeconfig: w.Stage.Env.Kubeconfig(), Proxy: w.Names.URL(), CAFile: authority, Dir: filepath.Join(w.dir, "authorino"), Out: w.log,
		Args: w.options.AuthorinoArgs,
	})
	if err == nil {
		w.onStop(w.Authorino.Stop)
	}
	return err
}

func (t *Tenant) startOIDC(ctx context.Context) error {
	w := t.world
	certificate, err := w.Stage.Env.IssueCertificate("idp-"+t.Name, t.issuerHost())
	if err != nil {
		return err
	}
	t.OIDC, err = engines.StartOIDC(ctx, engines.OIDCOptions{
		Issuer: "https://" + t.issuerHost() + "/realms/maas", Certificate: certificate, Dir: filepath.Join(w.dir, "oidc-"+t.Name), Out: w.log,
		Users: []engines.OIDCUser{
			{Name: "olga", Subject: "subject-of-olga", Groups: []string{"staff"}},
			{Name: "gina", Subject: "subject-of-gina", Groups: []string{"guests"}},
			{Name: "otto", Subject: "subject-of-otto"},
		},
		TokenLifetime: tokenLifetime,
		Clients:       []engines.OIDCClient{{ID: t.ClientID}, {ID: "somebody-else"}, {ID: "without-azp", Audience: []string{t.ClientID}, NoAuthorizedParty: true}},
	})
	if err != nil {
		return err
	}
	w.onStop(t.OIDC.Stop)
	w.Names.Set(t.issuerHost()+":443", t.OIDC.Address)
	return nil
}

func (w *World) startSimulator(ctx context.Context, o Options) error {
	s, err := simulator.Start(ctx, simulator.Options{Model: SimulatorModel, Args: o.SimulatorArgs, Dir: filepath.Join(w.dir, "simulator"), Out: w.log})
	if err != nil {
		return err
	}
	w.onStop(s.Stop)
	w.simulator = s.URL
	return nil
}

// startTenants starts the gateways, then the operator, and returns when both tenants
// answer at their gateways.
func (w *World) startTenants(ctx context.Context, _ Options) error {
	for _, t := range w.Tenants() {
		address, err := w.Stage.Workload.Service(ctx, t.service())
		if err != nil {
			return err
		}
		w.Names.Set(t.name(), address)
	}
	work, within := errgroup.WithContext(ctx)
	for _, t := range w.Tenants() {
		work.Go(func() error { return t.startGateway(within) })
	}
	work.Go(func() error { return w.Stage.Operator.Start(within) })
	for _, t := range w.Tenants() {
		work.Go(func() error { return t.request(within) })
	}
	if err := work.Wait(); err != nil {
		return err
	}
	work, within = errgroup.WithContext(ctx)
	for _, t := range w.Tenants() {
		work.Go(func() error {
			if err := t.await(within); err != nil {
				return err
			}
			return t.awaitServed(within)
		})
	}
	return work.Wait()
}

// awaitServed waits until the tenant's gateway lets its users through to maas-api:
// somebody with a token of the provider, for the gateway is the last to know.
func (t *Tenant) awaitServed(ctx context.Context) error {
	token, err := t.Token(ctx, t.Claims("first", "nobody"))
	if err != nil {
		return err
	}
	return t.world.AwaitServed(ctx, Request{Tenant: t, Path: "/v1/models", Headers: Bearer(token)})
}
