// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"

	"github.com/opendatahub-io/maas-operator/test/internal/relay"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// dialTimeout is generous for a connection on one machine.
const dialTimeout = 5 * time.Second

// network leads connections to Services to the ready Pods behind them, which the
// controllers of the control plane find.
type network struct {
	services  corelisters.ServiceLister
	slices    discoverylisters.EndpointSliceLister
	addresses map[ServicePort]string

	mu        sync.Mutex
	listeners map[ServicePort]net.Listener
	// pods are the addresses here of ports of Pods.
	pods map[string]map[int32]string
	// open are the connections that are under way.
	open   map[net.Conn]bool
	closed bool
	work   sync.WaitGroup
}

// join places the ports of a Pod that begins to run.
func (n *network) join(ip string, ports map[int32]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pods[ip] = ports
}

// leave forgets a Pod.
func (n *network) leave(ip string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.pods, ip)
}

// exists tells whether there is such a Service, with that port.
func (n *network) exists(s ServicePort) bool {
	_, found := n.port(s)
	return found
}

func (n *network) port(s ServicePort) (*corev1.ServicePort, bool) {
	service, err := n.services.Services(s.Namespace).Get(s.Name)
	if err != nil {
		return nil, false
	}
	for i := range service.Spec.Ports {
		if service.Spec.Ports[i].Port == s.Port {
			return &service.Spec.Ports[i], true
		}
	}
	return nil, false
}

// address begins to serve a port of a Service, which need not exist yet.
func (n *network) address(ctx context.Context, s ServicePort) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return "", errors.New("the runner has ended")
	}
	if listener := n.listeners[s]; listener != nil {
		return listener.Addr().String(), nil
	}
	address := n.addresses[s]
	if address == "" {
		var err error
		if address, err = testenv.FreeAddress(ctx); err != nil {
			return "", err
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", address)
	if err != nil {
		return "", fmt.Errorf("serve %s/%s: %w", s.Namespace, s.Name, err)
	}
	n.listeners[s] = listener
	life := context.WithoutCancel(ctx) // The network ends by close.
	n.work.Go(func() { n.accept(life, listener, s) })
	return listener.Addr().String(), nil
}

func (n *network) accept(ctx context.Context, listener net.Listener, s ServicePort) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return // It was closed.
		}
		n.work.Go(func() { n.forward(ctx, connection, s) })
	}
}

// forward joins a connection with one to a Pod that is ready. Without any it is
// reset, as one is that a cluster refuses.
func (n *network) forward(ctx context.Context, from net.Conn, s ServicePort) {
	defer func() { _ = from.Close() }()
	dialling, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	to, err := n.dial(dialling, s)
	if err != nil {
		if tcp, ok := from.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		return
	}
	defer func() { _ = to.Close() }()
	defer n.keep(from, to)()
	relay.Carry(from, from, to)
}

// keep notes connections that shall end with the network, and returns what forgets
// them.
func (n *network) keep(connections ...net.Conn) (forget func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range connections {
		n.open[c] = true
		if n.closed {
			_ = c.Close()
		}
	}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, c := range connections {
			delete(n.open, c)
		}
	}
}

func (n *network) dial(ctx context.Context, s ServicePort) (net.Conn, error) {
	backends, err := n.backends(s)
	if err != nil {
		return nil, err
	}
	failed := fmt.Errorf("no Pod of Service %s/%s is ready", s.Namespace, s.Name)
	for _, i := range rand.Perm(len(backends)) {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp4", backends[i])
		if err == nil {
			return connection, nil
		}
		failed = err
	}
	return nil, failed
}

// backends are the addresses here of the ready Pods behind a port of a Service.
func (n *network) backends(s ServicePort) ([]string, error) {
	port, found := n.port(s)
	if !found {
		return nil, fmt.Errorf("there is no port %d of Service %s/%s", s.Port, s.Namespace, s.Name)
	}
	endpoints, err := n.slices.EndpointSlices(s.Namespace).List(labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: s.Name}))
	if err != nil {
		return nil, fmt.Errorf("list the endpoints of Service %s/%s: %w", s.Namespace, s.Name, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var backends []string
	for _, slice := range endpoints {
		for _, p := range slice.Ports {
			if p.Port == nil || p.Name == nil || *p.Name != port.Name {
				continue
			}
			for i := range slice.Endpoints {
				backends = append(backends, n.ready(&slice.Endpoints[i], *p.Port)...)
			}
		}
	}
	return backends, nil
}

// ready are the addresses here of a port of an endpoint that is ready.
func (n *network) ready(e *discoveryv1.Endpoint, port int32) []string {
	if e.Conditions.Ready != nil && !*e.Conditions.Ready {
		return nil
	}
	var addresses []string
	for _, ip := range e.Addresses {
		if address := n.pods[ip][port]; address != "" {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// close ends every connection and listener.
func (n *network) close() {
	n.mu.Lock()
	for _, listener := range n.listeners {
		_ = listener.Close()
	}
	for c := range n.open {
		_ = c.Close()
	}
	n.closed = true
	n.mu.Unlock()
	n.work.Wait()
}
