// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	caLifetime   = 10 * 365 * 24 * time.Hour
	leafLifetime = 365 * 24 * time.Hour
	// clockSkew keeps a certificate valid for a clock that is a little behind.
	clockSkew = time.Hour
)

// authority signs certificates. Authorities live as long as the data directory;
// what they sign is issued anew at every start.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

// keyPair is a certificate and its key in PEM.
type keyPair struct {
	cert []byte
	key  []byte
}

// loadOrCreateAuthority reads <name>.crt and <name>.key below dir, or makes them.
func loadOrCreateAuthority(dir, name string) (*authority, error) {
	certFile, keyFile := filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	key, err := loadOrCreateKey(keyFile)
	if err != nil {
		return nil, err
	}
	if certs, err := cert.CertsFromFile(certFile); err == nil && len(certs) == 1 {
		pem, err := cert.EncodeCertificates(certs...)
		return &authority{cert: certs[0], key: key, pem: pem}, err
	}
	template := newTemplate(pkix.Name{CommonName: name}, caLifetime)
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	a := &authority{key: key}
	if a.cert, a.pem, err = sign(template, template, key.Public(), key); err != nil {
		return nil, err
	}
	return a, writeFile(certFile, a.pem)
}

// loadOrCreateKey reads a private key, or makes one.
func loadOrCreateKey(file string) (crypto.Signer, error) {
	loaded, err := keyutil.PrivateKeyFromFile(file)
	if err == nil {
		if signer, ok := loaded.(crypto.Signer); ok {
			return signer, nil
		}
		return nil, fmt.Errorf("read %s: not a signing key", file)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read key: %w", err)
	}
	key, pem, err := newKey()
	if err != nil {
		return nil, err
	}
	return key, writeFile(file, pem)
}

// client issues a certificate that authenticates as user in groups.
func (a *authority) client(user string, groups ...string) (keyPair, error) {
	template := newTemplate(pkix.Name{CommonName: user, Organization: groups}, leafLifetime)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

// server issues a certificate for a server reached under the given names and
// addresses.
func (a *authority) server(hosts ...string) (keyPair, error) {
	template := newTemplate(pkix.Name{CommonName: hosts[0]}, leafLifetime)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.issue(template)
}

func (a *authority) issue(template *x509.Certificate) (keyPair, error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return keyPair{}, err
	}
	_, certPEM, err := sign(template, a.cert, key.Public(), a.key)
	return keyPair{cert: certPEM, key: keyPEM}, err
}

// write stores the pair as <name>.crt and <name>.key below dir.
func (k keyPair) write(dir, name string) error {
	return errors.Join(
		writeFile(filepath.Join(dir, name+".crt"), k.cert),
		writeFile(filepath.Join(dir, name+".key"), k.key),
	)
}

func newKey() (crypto.Signer, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generate key: %w", err)
	}
	pem, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, nil, fmt.Errorf("encode key: %w", err)
	}
	return key, pem, nil
}

func newTemplate(subject pkix.Name, lifetime time.Duration) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{Subject: subject, NotBefore: now.Add(-clockSkew), NotAfter: now.Add(lifetime)}
}

func sign(template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) (*x509.Certificate, []byte, error) {
	const serialBits = 120
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return nil, nil, fmt.Errorf("sign certificate of %s: %w", template.Subject.CommonName, err)
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return nil, nil, fmt.Errorf("sign certificate of %s: %w", template.Subject.CommonName, err)
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, fmt.Errorf("sign certificate of %s: %w", template.Subject.CommonName, err)
	}
	pem, err := cert.EncodeCertificates(signed)
	return signed, pem, err
}

// writeFile replaces a file readable only by its owner, in one step.
func writeFile(path string, content []byte) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
