// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"errors"
	"sync/atomic"

	"github.com/opendatahub-io/maas-operator/internal/tlsprofile"
)

// GetCertificate returns the certificate for a handshake.
type GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// TLS makes the TLS configuration of listeners. Its parameters can be changed at
// any time: connections stay, and new handshakes use the new parameters.
type TLS struct {
	minimum     uint16
	certificate GetCertificate
	current     atomic.Pointer[tls.Config]
}

// NewTLS returns a TLS that demands at least the minimum version, with the
// intermediate profile.
func NewTLS(minimum uint16, certificate GetCertificate) (*TLS, error) {
	if certificate == nil {
		return nil, errors.New("serve HTTPS: there is no certificate")
	}
	t := &TLS{minimum: minimum, certificate: certificate}
	t.Apply(tlsprofile.Parameters{MinVersion: minimum})
	return t, nil
}

// Apply uses the parameters for all handshakes from now on.
func (t *TLS) Apply(p tlsprofile.Parameters) {
	p = p.AtLeast(t.minimum)
	t.current.Store(t.config(p))
}

// Config returns what a listener is given.
func (t *TLS) Config() *tls.Config {
	outer := t.config(tlsprofile.Parameters{MinVersion: t.minimum})
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return t.current.Load(), nil
	}
	return outer
}

func (t *TLS) config(p tlsprofile.Parameters) *tls.Config {
	protocols := []string{"http/1.1"}
	if p.HTTP2() {
		protocols = []string{"h2", "http/1.1"}
	}
	return &tls.Config{
		MinVersion:     max(p.MinVersion, tls.VersionTLS12),
		CipherSuites:   p.CipherSuites,
		GetCertificate: t.certificate,
		NextProtos:     protocols,
	}
}
