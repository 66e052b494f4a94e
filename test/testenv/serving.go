// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"os"
	"path/filepath"
)

// serverAuthority signs for servers that run beside the control plane.
const serverAuthority = "server-ca"

// Certificate tells where a server's certificate is, its key, and the authority
// that clients of the server trust.
type Certificate struct{ CAFile, CertFile, KeyFile string }

// IssueCertificate writes a certificate, new at every call, for a server that runs
// beside the control plane under the given names and addresses. All of them are
// signed by one authority of this instance, which lives as long as its directory.
func (e *Env) IssueCertificate(name string, hosts ...string) (Certificate, error) {
	authority, err := loadOrCreateAuthority(e.pkiDir(), serverAuthority)
	if err != nil {
		return Certificate{}, err
	}
	pair, err := authority.server(hosts...)
	if err != nil {
		return Certificate{}, err
	}
	dir := filepath.Join(e.dir, "server-certs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Certificate{}, fmt.Errorf("create %s: %w", dir, err)
	}
	return Certificate{
		CAFile:   e.pki(serverAuthority + ".crt"),
		CertFile: filepath.Join(dir, name+".crt"),
		KeyFile:  filepath.Join(dir, name+".key"),
	}, pair.write(dir, name)
}

// ServerAuthority is the file with the authority of [Env.IssueCertificate].
func (e *Env) ServerAuthority() (string, error) {
	_, err := loadOrCreateAuthority(e.pkiDir(), serverAuthority)
	return e.pki(serverAuthority + ".crt"), err
}
