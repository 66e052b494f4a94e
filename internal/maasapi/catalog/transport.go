// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

const (
	// dialTimeout bounds a connection to the gateway, which is near.
	dialTimeout = 2 * time.Second
	// idleTimeout closes connections that nobody uses.
	idleTimeout = 90 * time.Second
	idleConns   = 100
	idlePerHost = idleConns // All models are behind one gateway, most under one host.
	// maxHeader bounds the header of an answer, in bytes.
	maxHeader = 64 << 10
	// portHTTPS is the gateway's port where neither its address nor a URL has one.
	portHTTPS = "443"
)

// ServiceAccountCA is where Kubernetes puts the cluster's certificate authority
// in a pod.
const ServiceAccountCA = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"

// LoadRoots returns the system's certificate authorities and those in the files.
// The optional ones may be absent; a file that cannot be read or holds no
// certificate is an error.
func LoadRoots(optional, required []string) (*x509.CertPool, error) {
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // A machine without any: the files must do.
	}
	for i, name := range append(append([]string{}, optional...), required...) {
		pem, err := os.ReadFile(name) //nolint:gosec // The names come from the command line.
		if i < len(optional) && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read certificate authorities of the gateway: %w", err)
		}
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read certificate authorities of the gateway: %s holds no certificate in PEM", name)
		}
	}
	return roots, nil
}

// transports hold the one transport to the gateway. It is replaced when the
// gateway moves, so that no connection to its old place is used again.
type transports struct {
	roots *x509.CertPool
	http2 bool
	most  int // Connections to one host at a time.

	mu      sync.Mutex
	address string
	current *http.Transport
}

// to returns the transport to the gateway at an address. Whatever host a request
// names, it connects to that address and nowhere else; the host stays what the
// certificate must be for and what the gateway is asked for.
func (t *transports) to(address string) *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current != nil && t.address == address {
		return t.current
	}
	if t.current != nil {
		t.current.CloseIdleConnections()
	}
	dialer := &net.Dialer{Timeout: dialTimeout}
	t.address, t.current = address, &http.Transport{
		Proxy: nil, // A proxy would see where the credential goes.
		DialContext: func(ctx context.Context, network, asked string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, gatewayPort(address, asked))
		},
		TLSClientConfig:        &tls.Config{RootCAs: t.roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    dialTimeout,
		ForceAttemptHTTP2:      t.http2,
		DisableCompression:     true, // It would add a header.
		MaxIdleConns:           idleConns,
		MaxIdleConnsPerHost:    idlePerHost,
		MaxConnsPerHost:        t.most,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeader,
	}
	return t.current
}

func (t *transports) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current != nil {
		t.current.CloseIdleConnections()
	}
}

// gatewayPort is the address to connect to: the gateway's, with the port of the
// URL asked for unless it has one of its own.
func gatewayPort(address, asked string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	_, port, err := net.SplitHostPort(asked)
	if err != nil {
		port = portHTTPS
	}
	return net.JoinHostPort(address, port)
}
