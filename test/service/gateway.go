// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	gatewayProgram = "gateway-standin"
	gatewayTimeout = time.Minute
	gatewayPoll    = 20 * time.Millisecond
	gatewayGrace   = 5 * time.Second
)

// Identity is who a token belongs to.
type Identity struct {
	Username string   `json:"username"`
	Groups   []string `json:"groups"`
}

// GatewayOptions adjusts a gateway.
type GatewayOptions struct {
	// Replica is the service behind the gateway, which it also asks about keys and
	// subscriptions. Required.
	Replica *Replica
	// Identities are the tokens that the gateway knows.
	Identities map[string]Identity
	// Backends tell where the Services of routes really are: <namespace>/<name> to
	// a URL.
	Backends map[string]string
	// Hostnames are further names for the certificate.
	Hostnames []string
}

// Gateway is the stand-in for the tenant's gateway, as a process.
type Gateway struct {
	// Address is host:port, for --gateway-address, CAFile the file with its
	// certificate, for --gateway-ca-file.
	Address, CAFile string

	stage   *Stage
	process *process.Process
	log     string
}

// Gateway starts a gateway, which serves the HTTPRoutes below the tenant's Gateway
// as they come and go. It needs the stage to have the CRDs of Kuadrant. The replica
// need not run yet; see [Replica.Behind].
func (s *Stage) Gateway(ctx context.Context, o GatewayOptions) (*Gateway, error) {
	if o.Replica == nil {
		return nil, errors.New("a gateway needs a replica")
	}
	if err := testenv.Build(ctx, "gateway", s.options.out()); err != nil {
		return nil, err
	}
	address, err := testenv.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	g := &Gateway{Address: address, stage: s, CAFile: filepath.Join(s.dir, "gateway.pem"), log: filepath.Join(s.dir, "gateway.out")}
	args, err := g.args(o)
	if err != nil {
		return nil, err
	}
	g.process, err = process.Start(ctx, process.Command{
		Name: gatewayProgram, Path: filepath.Join(testenv.RepoRoot(), "bin", gatewayProgram), Args: args, Log: g.log,
	})
	if err != nil {
		return nil, err
	}
	s.ends = append(s.ends, func() error { return g.process.Stop(gatewayGrace) })
	err = wait.PollUntilContextTimeout(ctx, gatewayPoll, gatewayTimeout, true, func(context.Context) (bool, error) {
		if !g.process.Alive() {
			return false, errors.New("it ended")
		}
		_, err := os.Stat(g.log + ".address")
		return err == nil, ignoreMissing(err)
	})
	if err != nil {
		return nil, fmt.Errorf("wait for the gateway: %w; it said:\n%s", err, g.process.Excerpt())
	}
	return g, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (g *Gateway) args(o GatewayOptions) ([]string, error) {
	identities, err := yaml.Marshal(o.Identities)
	if err != nil {
		return nil, fmt.Errorf("encode identities: %w", err)
	}
	file := filepath.Join(g.stage.dir, "identities.yaml")
	if err := os.WriteFile(file, identities, 0o600); err != nil {
		return nil, fmt.Errorf("write identities: %w", err)
	}
	for token, who := range o.Identities {
		g.stage.Used.Secret(token, who.Username)
		g.stage.Used.Secret(who.Groups...)
	}
	hostnames := strings.Join(append([]string{Hostname}, o.Hostnames...), ",")
	args := []string{
		"--kubeconfig=" + g.stage.Env.Kubeconfig(), "--listen=" + g.Address, "--address-file=" + g.log + ".address", "--ca-out=" + g.CAFile,
		"--hostnames=" + hostnames, "--gateway=" + GatewayNamespace + "/" + GatewayName, "--maas-api=" + o.Replica.InternalURL(),
		"--identities=" + file, "--backend-insecure", "--key-header",
		"--backend=" + Account().Namespace + "/maas-api=" + o.Replica.URL(),
	}
	for _, name := range slices.Sorted(maps.Keys(o.Backends)) {
		args = append(args, "--backend="+name+"="+o.Backends[name])
	}
	return args, nil
}

// Behind makes a replica that does not run yet ask models through a gateway.
func (r *Replica) Behind(g *Gateway) {
	r.options.Args = append(r.options.Args, "--gateway-address="+g.Address, "--gateway-ca-file="+g.CAFile)
}

// Client returns a client that goes through the gateway. What the gateway answers
// itself is not described anywhere, so its exchanges are not checked.
func (g *Gateway) Client(hostname string) (Client, error) {
	pem, err := os.ReadFile(g.CAFile)
	if err != nil {
		return Client{}, fmt.Errorf("read certificate: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return Client{}, fmt.Errorf("read certificate: %s holds none", g.CAFile)
	}
	dialer := &net.Dialer{}
	base := "https://" + hostname
	return g.stage.client(base, base, &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, g.Address)
		},
	}).Unchecked(), nil
}

// Route applies the shipped route of the service.
func (s *Stage) Route(ctx context.Context) error {
	objects, err := testenv.ReadObjects(filepath.Join(testenv.RepoRoot(), "config", "maas-api", "httproute.yaml"))
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := s.Admin.Create(ctx, o); err != nil {
			return fmt.Errorf("create %s %s: %w", o.GetKind(), client.ObjectKeyFromObject(o), err)
		}
	}
	return nil
}
