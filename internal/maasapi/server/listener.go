// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Timeouts bound what a client can make a listener wait for.
type Timeouts struct {
	ReadHeader, Read, Write, Idle time.Duration
}

// maxHeader is the largest header of a request, in bytes.
const maxHeader = 1 << 20

// APITimeouts are those of the API listeners. Answers may take as long as the
// slowest listing needs, which is what the argument bounds.
func APITimeouts(longest time.Duration) Timeouts {
	return Timeouts{ReadHeader: 5 * time.Second, Read: 15 * time.Second, Write: max(30*time.Second, longest+15*time.Second), Idle: 60 * time.Second}
}

// MetricsTimeouts are those of the metrics listener.
func MetricsTimeouts() Timeouts {
	return Timeouts{ReadHeader: 5 * time.Second, Read: 10 * time.Second, Write: 10 * time.Second, Idle: 30 * time.Second}
}

// ListenerOptions describe one listener.
type ListenerOptions struct {
	// Name is for logs and errors: "api", "internal", "metrics".
	Name     string
	Address  string
	Handler  http.Handler
	Timeouts Timeouts
	// TLS is nil for plain HTTP.
	TLS *tls.Config
	Log *slog.Logger
}

// Listener is one listening server.
type Listener struct {
	name   string
	server *http.Server
	socket net.Listener
	done   chan error
	// leaving is set once clients are to go elsewhere.
	leaving atomic.Bool
}

// Listen opens the address and serves it until [Listener.Shutdown]. Nothing of it
// is bound to the context but the opening.
func Listen(ctx context.Context, o ListenerOptions) (*Listener, error) {
	config := net.ListenConfig{}
	socket, err := config.Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("listen for %s: %w", o.Name, err)
	}
	l := &Listener{name: o.Name, socket: socket, done: make(chan error, 1)}
	l.server = &http.Server{
		Handler:           l.dismissing(o.Handler),
		ReadHeaderTimeout: o.Timeouts.ReadHeader,
		ReadTimeout:       o.Timeouts.Read,
		WriteTimeout:      o.Timeouts.Write,
		IdleTimeout:       o.Timeouts.Idle,
		MaxHeaderBytes:    maxHeader,
		TLSConfig:         o.TLS,
		ErrorLog:          slog.NewLogLogger(o.Log.With("listener", o.Name).Handler(), slog.LevelDebug),
	}
	go func() { l.done <- l.serve() }()
	o.Log.Info("Listening", slog.String("listener", o.Name), slog.String("address", socket.Addr().String()), slog.Bool("tls", o.TLS != nil))
	return l, nil
}

// Leave has clients take their next requests elsewhere: each connection is closed
// behind its next answer, which says so. Load balancers that hear that the process
// is not ready send it no new connections, but leave those that they have; a
// request sent on one just as it is closed would be lost.
func (l *Listener) Leave() { l.leaving.Store(true) }

// dismissing says with each answer that the connection will be closed, once the
// listener is being left. With HTTP/2 that becomes a GOAWAY.
func (l *Listener) dismissing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.leaving.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

func (l *Listener) serve() error {
	var err error
	if l.server.TLSConfig != nil {
		err = l.server.ServeTLS(l.socket, "", "")
	} else {
		err = l.server.Serve(l.socket)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve %s: %w", l.name, err)
}

// Addr is the address that was opened.
func (l *Listener) Addr() net.Addr {
	return l.socket.Addr()
}

// Done yields once, when the listener has ended: nil after a shutdown.
func (l *Listener) Done() <-chan error {
	return l.done
}

// Shutdown takes no more connections and waits for requests in flight. When the
// context ends first, it cuts them off and returns an error.
func (l *Listener) Shutdown(ctx context.Context) error {
	if err := l.server.Shutdown(ctx); err != nil {
		_ = l.server.Close() // What is left is cut off; the error below says so.
		return fmt.Errorf("shut down %s with requests in flight: %w", l.name, err)
	}
	return nil
}
