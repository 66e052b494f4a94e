// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/opendatahub-io/maas-operator/test/internal/relay"
)

const (
	proxyDialTimeout   = 5 * time.Second
	proxyHeaderTimeout = 10 * time.Second
)

// NameProxy is an HTTP proxy on a loopback address that knows names of the cluster, and
// leads connections to them where they are served here. TLS stays between both ends: it
// forwards only what comes by the method CONNECT. It is for programs that get its URL
// in HTTPS_PROXY; they do not use it for loopback addresses.
type NameProxy struct {
	listener net.Listener
	server   *http.Server
	served   sync.WaitGroup

	mu sync.Mutex // guards what is below
	// names are the addresses here by "<host>:<port>", in small letters.
	names     map[string]string
	otherwise func(ctx context.Context, name string) (string, error)
	refused   map[string]int
	// open are the connections under way, both ends of each.
	open map[net.Conn]bool
	shut bool
}

// NewNameProxy returns a proxy that knows no name, and serves until Stop. The context
// bounds the start only.
func NewNameProxy(ctx context.Context) (*NameProxy, error) {
	return NewNameProxyAt(ctx, "127.0.0.1:0")
}

// NewNameProxyAt is [NewNameProxy] at a loopback address that others have been told.
func NewNameProxyAt(ctx context.Context, address string) (*NameProxy, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", address)
	if err != nil {
		return nil, fmt.Errorf("start proxy: %w", err)
	}
	p := &NameProxy{listener: listener, names: map[string]string{}, refused: map[string]int{}, open: map[net.Conn]bool{}}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: proxyHeaderTimeout}
	p.served.Go(func() { _ = p.server.Serve(listener) }) // It ends when it is closed.
	return p, nil
}

// URL is the proxy's, as for HTTPS_PROXY.
func (p *NameProxy) URL() string { return "http://" + p.listener.Addr().String() }

// Set has connections to "<host>:<port>" lead to an address from now on; an empty one
// has them refused. Those under way stay.
func (p *NameProxy) Set(name, address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name = strings.ToLower(name)
	if address == "" {
		delete(p.names, name)
		return
	}
	p.names[name] = address
}

// Otherwise asks f for the addresses of names that were not set, at each connection; an
// error or an empty address refuses it.
func (p *NameProxy) Otherwise(f func(ctx context.Context, name string) (string, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.otherwise = f
}

// Refused are the names that somebody asked for and nobody knew, sorted.
func (p *NameProxy) Refused() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.refused))
}

// Cut ends the connections that are under way, so that later ones lead where names lead
// now.
func (p *NameProxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.open {
		_ = conn.Close()
	}
}

// Stop ends the proxy and the connections through it.
func (p *NameProxy) Stop() error {
	err := p.server.Close()
	p.mu.Lock()
	p.shut = true
	p.mu.Unlock()
	p.Cut()
	p.served.Wait()
	return err
}

// ServeHTTP answers one request for a connection.
func (p *NameProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only CONNECT is served here", http.StatusMethodNotAllowed)
		return
	}
	address, err := p.find(r.Context(), strings.ToLower(r.Host))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	there, err := (&net.Dialer{Timeout: proxyDialTimeout}).DialContext(r.Context(), "tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	here, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		_ = there.Close()
		return
	}
	if !p.keep(here, there) {
		return
	}
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		p.forget(here, there)
		return
	}
	defer p.forget(here, there)
	relay.Carry(here, io.MultiReader(io.LimitReader(buffered, int64(buffered.Reader.Buffered())), here), there)
}

// find returns where a name is served.
func (p *NameProxy) find(ctx context.Context, name string) (string, error) {
	p.mu.Lock()
	address, known := p.names[name]
	otherwise := p.otherwise
	p.mu.Unlock()
	if known {
		return address, nil
	}
	var err error
	if otherwise != nil {
		if address, err = otherwise(ctx, name); err == nil && address != "" {
			return address, nil
		}
	}
	p.mu.Lock()
	p.refused[name]++
	p.mu.Unlock()
	return "", errors.Join(fmt.Errorf("nobody knows where %s is served", name), err)
}

// keep remembers both ends of a connection, unless the proxy has ended.
func (p *NameProxy) keep(ends ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, end := range ends {
		if p.shut {
			_ = end.Close()
			continue
		}
		p.open[end] = true
	}
	return !p.shut
}

func (p *NameProxy) forget(ends ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, end := range ends {
		_ = end.Close()
		delete(p.open, end)
	}
}
