// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/opendatahub-io/maas-operator/internal/tlsprofile"
)

// serving is an HTTPS server whose configuration is completed as controller-runtime
// completes it: the certificate comes after what we adjust.
func serving(t *testing.T, adjust func(*tls.Config)) (address string) {
	t.Helper()
	config := &tls.Config{}
	adjust(config)
	certificate, err := tls.X509KeyPair(pair(t))
	if err != nil {
		t.Fatal(err)
	}
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate, nil }
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(tls.NewListener(listener, config)) }()
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

// handshake returns the version and protocol that a client and the server agree on.
func handshake(t *testing.T, address string, client *tls.Config) (version uint16, protocol string, err error) {
	t.Helper()
	client.InsecureSkipVerify = true
	dialer := &tls.Dialer{Config: client}
	connection, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = connection.Close() }()
	state := connection.(*tls.Conn).ConnectionState()
	return state.Version, state.NegotiatedProtocol, nil
}

func TestListenersOfferWhatTheClusterDemands(t *testing.T) {
	t.Parallel()
	offer := newTLSParameters()
	server := serving(t, offer.listener("h2", "http/1.1"))
	old := func() *tls.Config { return &tls.Config{MaxVersion: tls.VersionTLS12, NextProtos: []string{"h2"}} }
	if _, protocol, err := handshake(t, server, old()); err != nil || protocol != "h2" {
		t.Errorf("TLS 1.2 with the intermediate profile: protocol %q, error %v", protocol, err)
	}
	offer.apply(tlsprofile.Parameters{MinVersion: tls.VersionTLS13})
	if _, _, err := handshake(t, server, old()); err == nil {
		t.Error("TLS 1.2 is offered although the cluster demands 1.3")
	}
	if version, _, err := handshake(t, server, &tls.Config{}); err != nil || version != tls.VersionTLS13 {
		t.Errorf("version %x, error %v", version, err)
	}
	offer.apply(tlsprofile.Parameters{MinVersion: tls.VersionTLS10})
	if _, _, err := handshake(t, server, &tls.Config{MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("a profile brings TLS 1.1 back")
	}
}

func TestWebhooksAreServedOnceTheirCertificateArrived(t *testing.T) {
	t.Parallel()
	dir, clk, served := t.TempDir(), clocktesting.NewFakeClock(time.Now()), make(chan struct{})
	a := &arrival{dir: dir, clock: clk, serve: func() { close(served) }}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- a.Start(ctx) }()
	for !clk.HasWaiters() {
		select {
		case <-served:
			t.Fatal("served without a certificate")
		case err := <-ended:
			t.Fatalf("ended with %v", err)
		default:
		}
	}
	if a.check(nil) == nil {
		t.Error("ready without a certificate")
	}
	cert, key := pair(t)
	for name, content := range map[string][]byte{certFile: cert, keyFile: key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	clk.Step(certificatePoll)
	<-served
	if err := <-ended; err != nil || a.check(nil) != nil {
		t.Errorf("ended with %v, check %v", err, a.check(nil))
	}
}
