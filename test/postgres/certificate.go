// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/cert"
)

// CertificateFile is what clients of a server with TLS trust.
func (s *Server) CertificateFile() string { return filepath.Join(s.dir, "tls.crt") }

// writeCertificate makes a certificate for the server's address.
func (s *Server) writeCertificate(host string) error {
	certificate, key, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.ParseIP(host)}, nil)
	if err != nil {
		return fmt.Errorf("make certificate: %w", err)
	}
	keyFile := filepath.Join(s.dir, "tls.key")
	if err := os.WriteFile(keyFile, key, 0o600); err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	if err := os.WriteFile(s.CertificateFile(), certificate, 0o644); err != nil {
		return fmt.Errorf("write certificate: %w", err)
	}
	return s.programs.own(keyFile)
}
