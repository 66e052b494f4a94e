// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// ProviderHost is the host of the world's provider of models, which is outside of the
// cluster. It speaks TLS at port 443.
const ProviderHost = "api.provider.test"

// Provider is a provider of models outside of the cluster, with a certificate of an
// authority that the gateways trust and the cluster does not. What reaches it is kept
// like what reaches the [Upstream].
type Provider struct {
	server    *httptest.Server
	authority *authority
	presented atomic.Pointer[tls.Certificate]
}

// startProvider starts the provider.
func (w *World) startProvider() (err error) {
	p := &Provider{}
	if p.authority, err = newAuthority(); err != nil {
		return err
	}
	if err := p.Present(ProviderHost); err != nil {
		return err
	}
	p.server = httptest.NewUnstartedServer(w.Upstream)
	p.server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return p.presented.Load(), nil
	}}
	p.server.StartTLS()
	w.Provider = p
	w.onStop(func() error { p.server.Close(); return nil })
	return os.WriteFile(w.providerAuthority(), p.authority.pem, 0o600)
}

func (w *World) providerAuthority() string { return filepath.Join(w.dir, "provider-ca.crt") }

// outside are the arguments by which a gateway finds the provider, if there is one.
func (w *World) outside() []string {
	if w.Provider == nil {
		return nil
	}
	return []string{
		"--provider-keys", "--outside-ca=" + w.providerAuthority(),
		"--outside=" + ProviderHost + ":443=" + w.Provider.server.Listener.Addr().String(),
	}
}

// Present has the provider show a certificate of its authority for another host, from the
// next connection on.
func (p *Provider) Present(host string) error {
	certificate, err := p.authority.issue(host)
	if err == nil {
		p.presented.Store(certificate)
	}
	return err
}

// PresentStranger has it show one for its own host, of an authority that nobody knows.
func (p *Provider) PresentStranger() error {
	stranger, err := newAuthority()
	if err != nil {
		return err
	}
	certificate, err := stranger.issue(ProviderHost)
	if err == nil {
		p.presented.Store(certificate)
	}
	return err
}

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of an authority: %w", err)
	}
	template := lasting("authority of providers")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	return &authority{certificate: certificate, key: key, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, err
}

func (a *authority) issue(host string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	template := lasting(host)
	template.DNSNames, template.KeyUsage = []string{host}, x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("issue a certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// lasting is a certificate that is good for a day.
func lasting(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
	}
}
