// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usageproxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// upstreamTimeout bounds one question to the log store.
	upstreamTimeout = 60 * time.Second
	// dialTimeout bounds a connection to it, which is in the same cluster.
	dialTimeout = 5 * time.Second
	idleTimeout = 60 * time.Second
	// lookEvery is how often it is looked whether the certificate authorities changed.
	lookEvery = 30 * time.Second
	// maxHeader bounds the header of an answer, and maxToken the file of the token, in
	// bytes.
	maxHeader = 64 << 10
	maxToken  = 64 << 10
	// headerTenant says whose logs are meant.
	headerTenant = "X-Scope-OrgID"
	logTenant    = "application"
)

// upstream asks the log store. The token and the certificate authorities are read
// again when they change.
type upstream struct {
	base      *url.URL
	caFile    string
	tokenFile string
	clock     clock.PassiveClock

	mu      sync.Mutex
	looked  time.Time
	content []byte
	client  *http.Client
}

// token reads the process's own token, which the cluster renews.
func (u *upstream) token() (string, error) {
	text, err := os.ReadFile(u.tokenFile)
	if err != nil {
		return "", fmt.Errorf("read the token (--token-file): %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || len(token) > maxToken || strings.ContainsAny(token, "\r\n") {
		return "", errors.New("the file of the token (--token-file) holds no token")
	}
	return token, nil
}

// ready tells whether the log store could be asked.
func (u *upstream) ready() error {
	_, tokenErr := u.token()
	_, clientErr := u.connect()
	return errors.Join(tokenErr, clientErr)
}

// connect returns the client, a new one when the certificate authorities changed.
func (u *upstream) connect() (*http.Client, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.clock.Now()
	if u.client != nil && (u.caFile == "" || now.Sub(u.looked) < lookEvery) {
		return u.client, nil
	}
	var content []byte
	if u.caFile != "" {
		var err error
		if content, err = os.ReadFile(u.caFile); err != nil {
			return u.fallback(fmt.Errorf("read certificate authorities (--upstream-ca-file): %w", err))
		}
	}
	u.looked = now
	if u.client != nil && bytes.Equal(content, u.content) {
		return u.client, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // A machine without any: the file must do.
	}
	if u.caFile != "" && !roots.AppendCertsFromPEM(content) {
		return u.fallback(errors.New("the file of certificate authorities (--upstream-ca-file) holds no certificate in PEM"))
	}
	if u.client != nil {
		u.client.CloseIdleConnections()
	}
	u.content, u.client = content, newClient(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	return u.client, nil
}

// fallback keeps the client that there is when a file is just being replaced.
func (u *upstream) fallback(err error) (*http.Client, error) {
	if u.client != nil {
		return u.client, nil
	}
	return nil, err
}

// close gives up connections that nobody uses.
func (u *upstream) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.client != nil {
		u.client.CloseIdleConnections()
	}
}

// newClient follows no redirect, uses no proxy, and takes no encoding that would hide
// the size of an answer.
func newClient(encryption *tls.Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSClientConfig:        encryption,
			TLSHandshakeTimeout:    dialTimeout,
			ForceAttemptHTTP2:      true,
			DisableCompression:     true,
			IdleConnTimeout:        idleTimeout,
			MaxIdleConnsPerHost:    8,
			MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// do sends a question. Nothing of the client's request is in it but what was
// rewritten.
func (u *upstream) do(ctx context.Context, q question) (*http.Response, error) {
	token, err := u.token()
	if err != nil {
		return nil, err
	}
	client, err := u.connect()
	if err != nil {
		return nil, err
	}
	target := *u.base
	target.Path = strings.TrimSuffix(target.Path, "/") + q.path
	target.RawQuery = q.parameters.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return nil, errors.New("the question to the log store cannot be written")
	}
	request.Header = http.Header{
		"Accept": {"application/json"}, "Authorization": {"Bearer " + token}, headerTenant: {logTenant}, "User-Agent": {"maas-usage-proxy"},
	}
	response, err := client.Do(request)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // The URL has the query in it.
	}
	if err != nil {
		return nil, fmt.Errorf("ask the log store: %w", err)
	}
	return response, nil
}
