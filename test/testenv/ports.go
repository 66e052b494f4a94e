// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"
	"net"
	"strconv"
)

const loopback = "127.0.0.1"

// FreeAddress returns a loopback address with a port that is free, for a server
// of the caller's to listen on.
func FreeAddress(ctx context.Context) (string, error) {
	port, err := reservePort(ctx)
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(loopback, strconv.Itoa(port)), nil
}

// KeepAddress returns a loopback address used before if a server could listen there
// now, and else one of [FreeAddress].
func KeepAddress(ctx context.Context, address string) (string, error) {
	if address == "" {
		return FreeAddress(ctx)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", address)
	if err != nil {
		return FreeAddress(ctx)
	}
	return address, listener.Close()
}

// reservePort returns a free loopback port that the kernel hands to nobody else
// for about a minute.
//
// The listening side closes a connection first, which leaves the port in
// TIME_WAIT: whoever asks the kernel for any free port no longer gets this one,
// while a server that asks for it by number does.
func reservePort(ctx context.Context) (int, error) {
	listener, err := listen(ctx, 0)
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = listener.Close() }()
	dialled, err := new(net.Dialer).DialContext(ctx, "tcp4", listener.Addr().String())
	if err != nil {
		return 0, fmt.Errorf("reserve a port: %w", err)
	}
	defer func() { _ = dialled.Close() }()
	accepted, err := listener.Accept()
	if err != nil {
		return 0, fmt.Errorf("reserve a port: %w", err)
	}
	if err := accepted.Close(); err != nil {
		return 0, fmt.Errorf("reserve a port: %w", err)
	}
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// portFree reports whether a server could listen on the loopback port now.
func portFree(ctx context.Context, port int) bool {
	listener, err := listen(ctx, port)
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

// listen listens on a loopback port; 0 is any.
func listen(ctx context.Context, port int) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp4", net.JoinHostPort(loopback, strconv.Itoa(port)))
}

// ports are those of one instance. They are kept in the state file, so that an
// instance started again in the same directory keeps its address if it can.
type ports struct {
	EtcdClient        int `json:"etcdClient"`
	EtcdPeer          int `json:"etcdPeer"`
	APIServer         int `json:"apiServer"`
	ControllerManager int `json:"controllerManager"`
	Scheduler         int `json:"scheduler"`
}

// url is where a program of the instance answers; empty if it does not listen.
func (p *ports) url(program string) string {
	switch program {
	case "etcd":
		return httpURL(p.EtcdClient)
	case "kube-apiserver":
		return httpsURL(p.APIServer)
	case "kube-controller-manager":
		return httpsURL(p.ControllerManager)
	case "kube-scheduler":
		return httpsURL(p.Scheduler)
	default:
		return ""
	}
}

// fill gives every port that is unset or taken a fresh one.
func (p *ports) fill(ctx context.Context) error {
	for _, port := range []*int{&p.EtcdClient, &p.EtcdPeer, &p.APIServer, &p.ControllerManager, &p.Scheduler} {
		if *port != 0 && portFree(ctx, *port) {
			continue
		}
		var err error
		if *port, err = reservePort(ctx); err != nil {
			return err
		}
	}
	return nil
}
