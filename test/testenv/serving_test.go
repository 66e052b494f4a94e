// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"testing"
)

func TestCertificatesOfServersComeFromOneAuthority(t *testing.T) {
	t.Parallel()
	e := &Env{dir: t.TempDir()}
	if err := os.MkdirAll(e.pkiDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	authority, err := e.ServerAuthority()
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(authority)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	for _, name := range []string{"one", "another"} {
		issued, err := e.IssueCertificate(name, "127.0.0.1", name+".example.com")
		if err != nil {
			t.Fatal(err)
		}
		if issued.CAFile != authority {
			t.Errorf("authority of %s is %s, want %s", name, issued.CAFile, authority)
		}
		pair, err := tls.LoadX509KeyPair(issued.CertFile, issued.KeyFile)
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range []string{"127.0.0.1", name + ".example.com"} {
			if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
				t.Errorf("certificate of %s for %s: %v", name, host, err)
			}
		}
	}
}

// Not in parallel: a program that another test starts holds a copy of every
// listening socket for an instant.
func TestAddressIsKeptWhileNobodyElseHasIt(t *testing.T) {
	before, err := FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := KeepAddress(t.Context(), before); err != nil || got != before {
		t.Errorf("KeepAddress() = %q, %v, want %q", got, err, before)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", before)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if got, err := KeepAddress(t.Context(), before); err != nil || got == before || got == "" {
		t.Errorf("KeepAddress() of a taken address = %q, %v, want another one", got, err)
	}
	if got, err := KeepAddress(t.Context(), ""); err != nil || got == "" {
		t.Errorf("KeepAddress() of none = %q, %v, want one", got, err)
	}
}

func TestAddressesOfProgramsAreKnown(t *testing.T) {
	t.Parallel()
	p := &ports{EtcdClient: 1, APIServer: 2, ControllerManager: 3, Scheduler: 4}
	for program, want := range map[string]string{
		"etcd": "http://127.0.0.1:1", "kube-apiserver": "https://127.0.0.1:2", "kube-controller-manager": "https://127.0.0.1:3",
		"kube-scheduler": "https://127.0.0.1:4", "kwok": "",
	} {
		if got := p.url(program); got != want {
			t.Errorf("url of %s = %q, want %q", program, got, want)
		}
	}
}
