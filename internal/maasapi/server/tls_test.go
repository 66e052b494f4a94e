// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/server"
	"github.com/opendatahub-io/maas-operator/internal/tlsprofile"
)

func made(t *testing.T, names ...string) *tls.Certificate {
	t.Helper()
	c, err := server.SelfSigned("org", names, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func fixed(c *tls.Certificate) server.GetCertificate {
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c, nil }
}

func TestSelfSigned(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c, err := server.SelfSigned("my gateway", []string{"localhost", "maas-api.ns.svc", "127.0.0.1", "::1"}, now)
	if err != nil {
		t.Fatal(err)
	}
	got := leaf(t, c)
	for _, name := range []string{"localhost", "maas-api.ns.svc", "127.0.0.1", "[::1]"} {
		if err := got.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
	if got.VerifyHostname("example.com") == nil || got.IsCA {
		t.Error("the certificate is good for more than its names")
	}
	if diff := cmp.Diff([]string{"my gateway"}, got.Subject.Organization); diff != "" {
		t.Error(diff)
	}
	if got.NotBefore.After(now) || got.NotAfter.Before(now.AddDate(9, 0, 0)) {
		t.Errorf("valid from %v to %v", got.NotBefore, got.NotAfter)
	}
	if other, _ := server.SelfSigned("my gateway", []string{"localhost"}, now); leaf(t, other).SerialNumber.Cmp(got.SerialNumber) == 0 {
		t.Error("two certificates have one serial number")
	}
}

func TestSelfSignedNeedsAName(t *testing.T) {
	t.Parallel()
	if _, err := server.SelfSigned("org", nil, time.Now()); err == nil {
		t.Error("no error")
	}
}

func TestHTTPS(t *testing.T) {
	t.Parallel()
	c := made(t, "127.0.0.1")
	settings, err := server.NewTLS(tls.VersionTLS12, fixed(c))
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t, ok(), settings.Config())
	got := get(t, client(t, c), "https://"+l.Addr().String())
	if got.body != "hello" || got.tls.NegotiatedProtocol != "h2" || got.tls.Version != tls.VersionTLS13 {
		t.Errorf("answered %q over %s, TLS %x", got.body, got.tls.NegotiatedProtocol, got.tls.Version)
	}
}

func TestTLSNeedsACertificate(t *testing.T) {
	t.Parallel()
	if _, err := server.NewTLS(tls.VersionTLS12, nil); err == nil {
		t.Error("no error")
	}
}

func TestMinimumVersion(t *testing.T) {
	t.Parallel()
	c := made(t, "127.0.0.1")
	atMost12 := func(config *tls.Config) { config.MaxVersion = tls.VersionTLS12 }
	for name, tc := range map[string]struct {
		minimum uint16
		profile tlsprofile.Parameters
		want    bool // Whether TLS 1.2 is good enough.
	}{
		"1.2":                                  {tls.VersionTLS12, tlsprofile.Intermediate(), true},
		"1.3":                                  {tls.VersionTLS13, tlsprofile.Intermediate(), false},
		"a profile demands more":               {tls.VersionTLS12, tlsprofile.Parameters{MinVersion: tls.VersionTLS13}, false},
		"a profile without a suite in common":  {tls.VersionTLS12, tlsprofile.Parameters{MinVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA}}, false},
		"a profile cannot make it less secure": {tls.VersionTLS12, tlsprofile.Parameters{MinVersion: tls.VersionTLS10}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings, err := server.NewTLS(tc.minimum, fixed(c))
			if err != nil {
				t.Fatal(err)
			}
			settings.Apply(tc.profile)
			l := listen(t, ok(), settings.Config())
			if _, err := try(t, client(t, c, atMost12), "https://"+l.Addr().String()); (err == nil) != tc.want {
				t.Errorf("TLS 1.2 gives %v", err)
			}
			old := func(config *tls.Config) { config.MinVersion, config.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }
			if _, err := try(t, client(t, c, old), "https://"+l.Addr().String()); err == nil {
				t.Error("TLS 1.1 is accepted")
			}
		})
	}
}

func TestProfileIsAppliedWithoutDroppingConnections(t *testing.T) {
	t.Parallel()
	c := made(t, "127.0.0.1")
	settings, err := server.NewTLS(tls.VersionTLS12, fixed(c))
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t, ok(), settings.Config())
	atMost12 := func(config *tls.Config) {
		config.MaxVersion = tls.VersionTLS12
		config.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	}
	kept := client(t, c, atMost12)
	url := "https://" + l.Addr().String()
	get(t, kept, url)
	settings.Apply(tlsprofile.Parameters{MinVersion: tls.VersionTLS13})
	if got := get(t, kept, url); got.tls.Version != tls.VersionTLS12 {
		t.Errorf("the connection that was there has TLS %x", got.tls.Version)
	}
	kept.CloseIdleConnections()
	if _, err := try(t, kept, url); err == nil {
		t.Error("a new connection has TLS 1.2")
	}
	if got := get(t, client(t, c), url); got.tls.Version != tls.VersionTLS13 {
		t.Errorf("a new connection has TLS %x", got.tls.Version)
	}
}

func TestHTTP2IsNotOfferedWithSuitesItForbids(t *testing.T) {
	t.Parallel()
	c := made(t, "127.0.0.1")
	settings, err := server.NewTLS(tls.VersionTLS12, fixed(c))
	if err != nil {
		t.Fatal(err)
	}
	settings.Apply(tlsprofile.Parameters{MinVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}})
	l := listen(t, ok(), settings.Config())
	got := get(t, client(t, c, func(config *tls.Config) {
		config.MaxVersion, config.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}
	}), "https://"+l.Addr().String())
	if got.tls.NegotiatedProtocol == "h2" || got.body != "hello" {
		t.Errorf("answered %q over %q", got.body, got.tls.NegotiatedProtocol)
	}
}

func write(t *testing.T, dir string, c *tls.Certificate) (certFile, keyFile string) {
	t.Helper()
	private, isECDSA := c.PrivateKey.(*ecdsa.PrivateKey)
	if !isECDSA {
		t.Fatalf("key of type %T", c.PrivateKey)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: c.Certificate[0]}, keyFile: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func TestRenewedCertificateIsTakenUpWithoutDroppingConnections(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := made(t, "127.0.0.1"), made(t, "127.0.0.1")
	certFile, keyFile := write(t, dir, first)
	watcher, err := certwatcher.New(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	renewed := make(chan struct{}, 8)
	watcher.RegisterCallback(func(c tls.Certificate) {
		if c.Leaf != nil && c.Leaf.Equal(leaf(t, second)) {
			renewed <- struct{}{}
		}
	})
	ended := make(chan error, 1)
	ctx, cancel := contextOf(t)
	go func() { ended <- watcher.WithWatchInterval(20 * time.Millisecond).Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	settings, err := server.NewTLS(tls.VersionTLS12, watcher.GetCertificate)
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t, ok(), settings.Config())
	url := "https://" + l.Addr().String()
	kept := client(t, first)
	get(t, kept, url)
	write(t, dir, second)
	select {
	case <-renewed:
	case <-time.After(10 * time.Second): //nolint:forbidigo // The end of the test's patience.
		t.Fatal("the certificate was not taken up")
	}
	if got := get(t, kept, url); !got.tls.PeerCertificates[0].Equal(leaf(t, first)) {
		t.Error("the connection that was there was dropped")
	}
	if got := get(t, client(t, second), url); !got.tls.PeerCertificates[0].Equal(leaf(t, second)) {
		t.Error("a new connection has the former certificate")
	}
	if _, err := try(t, client(t, first), url); err == nil {
		t.Error("a new connection has the former certificate")
	}
}

func TestPlainTextToHTTPS(t *testing.T) {
	t.Parallel()
	c := made(t, "127.0.0.1")
	settings, err := server.NewTLS(tls.VersionTLS12, fixed(c))
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t, ok(), settings.Config())
	if got, err := try(t, client(t, nil), "http://"+l.Addr().String()); err == nil && got.body == "hello" {
		t.Error("served without encryption")
	}
}
