// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/cert"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	oidcName         = "oidc-provider"
	oidcRealm        = "/realms/maas"
	oidcFileMode     = 0o600
	oidcReadyTimeout = 3 * time.Minute
	oidcReadyPoll    = 50 * time.Millisecond
	oidcCallTimeout  = 10 * time.Second
)

// OIDCUser is somebody who can log in at a provider; the password is the name.
type OIDCUser struct {
	// Name is "preferred_username" of the tokens, Subject "sub". Both are required.
	Name    string `json:"name"`
	Subject string `json:"subject"`
	// Groups is "groups"; nil leaves the claim out, an empty slice does not.
	Groups []string `json:"groups,omitzero"`
}

// OIDCClient is a program that users log in to.
type OIDCClient struct {
	// ID is "azp" of the tokens, and among their "aud". Required.
	ID string `json:"id"`
	// Audience is in "aud" besides.
	Audience []string `json:"audience,omitempty"`
	// NoAuthorizedParty leaves "azp" out, as some providers do.
	NoAuthorizedParty bool `json:"noAuthorizedParty,omitempty"`
}

// OIDCOptions describe a provider. Each has one issuer: tenants side by side get one
// provider each.
type OIDCOptions struct {
	// Issuer is "iss" of the tokens, to the letter. Its host is any name: the
	// provider listens on Address, and whoever is to reach it by the name needs a
	// proxy. Programs that use a proxy do not for loopback addresses, so they need a
	// name. Empty means a realm at Address.
	Issuer string
	// Address is the loopback address to listen on; empty means any that is free.
	Address string
	// Users and Clients are who can log in to what. Required.
	Users   []OIDCUser
	Clients []OIDCClient
	// TokenLifetime is how long tokens are valid; zero means the provider's default.
	TokenLifetime time.Duration
	// Certificate is for the host of Issuer; the zero value makes one and an
	// authority of its own.
	Certificate testenv.Certificate
	// Bin is the program; empty means the one in bin, built if it has to be.
	Bin string
	// Dir receives the log, the certificate and the list of users; empty means a
	// temporary directory that goes with the provider.
	Dir string
	// Keep lets the provider outlive this process.
	Keep bool
	// Started, unless nil, is told of the process as soon as there is one.
	Started func(*process.Process) error
	// Out receives the progress of a build; nil discards it.
	Out io.Writer
}

// OIDC is a running provider of OpenID Connect.
type OIDC struct {
	Process
	// Address is where it listens, CAFile the authority of its certificate.
	Address, CAFile string

	issuer, bin string
	client      *http.Client
}

// StartOIDC builds the program if it has to be built, and returns a provider whose
// discovery document and keys can be read. The context bounds the start only: what
// ends the provider is Stop.
func StartOIDC(ctx context.Context, o OIDCOptions) (*OIDC, error) {
	if o.Bin == "" {
		o.Bin = filepath.Join(testenv.RepoRoot(), "bin", oidcName)
		out := o.Out
		if out == nil {
			out = io.Discard
		}
		if err := testenv.Build(ctx, "oidc", out); err != nil {
			return nil, err
		}
	}
	p := &OIDC{bin: o.Bin, issuer: o.Issuer, Address: o.Address, Process: Process{name: oidcName}}
	if err := p.start(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("start OIDC provider: %w", err), p.abort())
	}
	return p, nil
}

func (p *OIDC) start(ctx context.Context, o OIDCOptions) error {
	err := p.prepare(ctx, &o)
	if err != nil {
		return err
	}
	users := filepath.Join(o.Dir, "users.json")
	content, err := json.Marshal(map[string]any{"users": o.Users, "clients": o.Clients})
	if err != nil {
		return err
	}
	if err := os.WriteFile(users, content, oidcFileMode); err != nil {
		return err
	}
	args := []string{
		"--listen", p.Address, "--cert", o.Certificate.CertFile, "--key", o.Certificate.KeyFile,
		"--issuer", p.issuer, "--users", users, "--test-only-mint",
	}
	if o.TokenLifetime != 0 {
		args = append(args, "--token-lifetime", o.TokenLifetime.String())
	}
	p.Process.Process, err = process.Start(ctx, process.Command{
		Name: oidcName, Path: p.bin, Args: args, Log: filepath.Join(o.Dir, oidcName+".log"), Keep: o.Keep,
	})
	if err != nil {
		return err
	}
	if o.Started != nil {
		if err := o.Started(p.Process.Process); err != nil {
			return err
		}
	}
	return p.awaitReady(ctx)
}

// prepare fills in the address, the issuer, the directory and the certificate.
func (p *OIDC) prepare(ctx context.Context, o *OIDCOptions) error {
	var err error
	if p.Address == "" {
		if p.Address, err = testenv.FreeAddress(ctx); err != nil {
			return err
		}
	}
	p.issuer = cmp.Or(p.issuer, "https://"+p.Address+oidcRealm)
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", oidcName+"-"); err != nil {
			return err
		}
		p.temporary = o.Dir
	} else if err := os.MkdirAll(o.Dir, dirMode); err != nil {
		return err
	}
	if o.Certificate == (testenv.Certificate{}) {
		if o.Certificate, err = selfMade(o.Dir, p.issuer); err != nil {
			return err
		}
	}
	p.CAFile = o.Certificate.CAFile
	p.client, err = clientOf(p.CAFile, p.Address)
	return err
}

// selfMade makes an authority, and a certificate for the host of the issuer.
func selfMade(dir, issuer string) (testenv.Certificate, error) {
	made := testenv.Certificate{
		CAFile: filepath.Join(dir, "ca.crt"), CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"),
	}
	parsed, err := url.Parse(issuer)
	if err != nil {
		return made, err
	}
	chain, key, err := cert.GenerateSelfSignedCertKey(parsed.Hostname(), []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return made, fmt.Errorf("make certificate: %w", err)
	}
	certs, err := cert.ParseCertsPEM(chain)
	if err != nil {
		return made, fmt.Errorf("make certificate: %w", err)
	}
	authority, err := cert.EncodeCertificates(certs[len(certs)-1])
	if err != nil {
		return made, fmt.Errorf("make certificate: %w", err)
	}
	return made, errors.Join(
		os.WriteFile(made.CAFile, authority, oidcFileMode),
		os.WriteFile(made.CertFile, chain, oidcFileMode),
		os.WriteFile(made.KeyFile, key, oidcFileMode),
	)
}

// clientOf reaches the address whatever the name in a URL is, and still demands a
// certificate for that name.
func clientOf(caFile, address string) (*http.Client, error) {
	roots, err := cert.NewPool(caFile)
	if err != nil {
		return nil, fmt.Errorf("read authority: %w", err)
	}
	return &http.Client{
		Timeout: oidcCallTimeout,
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, address)
			},
		},
	}, nil
}

// awaitReady returns when discovery names the issuer, to the letter, and the keys
// are there.
func (p *OIDC) awaitReady(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, oidcReadyPoll, oidcReadyTimeout, true, func(ctx context.Context) (bool, error) {
		if !p.Process.Process.Alive() {
			return false, errors.New("it ended")
		}
		last = p.discover(ctx)
		if errors.As(last, new(*tls.CertificateVerificationError)) {
			return false, errors.New("its certificate is not for it")
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %s is ready: %w; from %s:\n%s", p.issuer, errors.Join(err, last), p.LogFile(), p.Process.Process.Excerpt())
	}
	return nil
}

func (p *OIDC) discover(ctx context.Context) error {
	var document struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := p.get(ctx, p.under("/.well-known/openid-configuration"), &document); err != nil {
		return err
	}
	if document.Issuer != p.issuer {
		return fmt.Errorf("discovery names issuer %q", document.Issuer)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := p.get(ctx, document.Keys, &set); err != nil {
		return err
	}
	if len(set.Keys) == 0 {
		return errors.New("no keys are published")
	}
	return nil
}

// under is the URL of a path below the issuer.
func (p *OIDC) under(path string) string { return strings.TrimSuffix(p.issuer, "/") + path }

// Issuer is "iss" of the tokens, and what a tenant's issuerUrl has to be.
func (p *OIDC) Issuer() string { return p.issuer }

// Stop ends the provider and removes its temporary directory. One that had ended by
// itself is an error.
func (p *OIDC) Stop() error { return p.stop() }
