// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
)

// Impersonate leads the gateway's callbacks to the tenant's maas-api to another server,
// with a certificate for that name, until the returned function is called. Requests of
// clients go on to reach maas-api itself.
func (t *Tenant) Impersonate(ctx context.Context, handler http.Handler) (back func() error, err error) {
	host, _, err := net.SplitHostPort(t.name())
	if err != nil {
		return nil, err
	}
	return t.impersonate(ctx, host, handler)
}

// ImpersonateUnproven is [Tenant.Impersonate] by a server that cannot prove its name.
func (t *Tenant) ImpersonateUnproven(ctx context.Context, handler http.Handler) (back func() error, err error) {
	return t.impersonate(ctx, "elsewhere.example.com", handler)
}

func (t *Tenant) impersonate(ctx context.Context, host string, handler http.Handler) (back func() error, err error) {
	issued, err := t.world.Stage.Env.IssueCertificate("impostor-"+t.Gateway.Name, host)
	if err != nil {
		return nil, err
	}
	certificate, err := tls.LoadX509KeyPair(issued.CertFile, issued.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("load certificate: %w", err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.lead(server.Listener.Addr().String())
	return func() error {
		server.CloseClientConnections()
		server.Close()
		return t.restore(ctx)
	}, nil
}

// Isolate has the gateway's callbacks to the tenant's maas-api refused, until the
// returned function is called.
func (t *Tenant) Isolate(ctx context.Context) (back func() error, err error) {
	t.lead("")
	return func() error { return t.restore(ctx) }, nil
}

// lead has the name of the tenant's maas-api mean an address.
func (t *Tenant) lead(address string) {
	t.world.Names.Set(t.name(), address)
	t.world.Names.Cut()
}

// restore has the name of the tenant's maas-api mean what it does.
func (t *Tenant) restore(ctx context.Context) error {
	address, err := t.world.Stage.Workload.Service(context.WithoutCancel(ctx), t.service())
	if err == nil {
		t.lead(address)
	}
	return err
}
