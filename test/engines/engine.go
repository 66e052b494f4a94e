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
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/internal/program"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	dirMode = 0o700
	// grace is more than the engines take to end in good order.
	grace = 10 * time.Second
)

// Process is a running engine.
type Process struct {
	// Process is for whoever keeps the engine running beyond this process.
	Process *process.Process

	name      string
	temporary string
	stopping  atomic.Bool
}

// Done is closed once the engine has ended, whoever ended it.
func (p *Process) Done() <-chan struct{} { return p.Process.Done() }

// Err says that the engine ended although nobody called Stop, with the end of its log;
// nil while it runs.
func (p *Process) Err() error {
	if p.stopping.Load() || p.Process == nil || p.Process.Alive() {
		return nil
	}
	return fmt.Errorf("%s ended by itself; from %s:\n%s", p.name, p.Process.Log, p.Process.Excerpt())
}

// LogFile holds the output of the engine.
func (p *Process) LogFile() string { return p.Process.Log }

// stop ends the engine and removes its temporary directory. One that had ended by
// itself is an error.
func (p *Process) stop() error {
	err := p.Err()
	p.stopping.Store(true)
	if p.Process != nil {
		err = errors.Join(err, p.Process.Stop(grace))
	}
	if p.temporary != "" {
		_ = os.RemoveAll(p.temporary)
	}
	return err
}

// launch is an engine to start. It listens on all interfaces, so it gets a network
// namespace of its own.
type launch struct {
	// target is that of hack/build.sh, bin the program; empty means the one that the
	// target builds, by the same name.
	target, bin, name string
	dir               string
	args, env         []string
	kubeconfig        string
	// in are the addresses it listens on in there, by the ones outside that lead to
	// them; out are loopback addresses outside that are there in there too.
	in  map[string]string
	out []string
	// private are directories that it shares with nobody.
	private []string

	keep    bool
	started func(*process.Process) error
	log     io.Writer
	// ready answers 200 once it is ready; an address outside.
	ready string
}

// start starts the engine and returns when it is ready.
func (p *Process) start(ctx context.Context, l launch) error {
	p.name = l.name
	nsrun, err := l.build(ctx)
	if err != nil {
		return err
	}
	if l.dir == "" {
		if l.dir, err = os.MkdirTemp("", l.name+"-"); err != nil {
			return err
		}
		p.temporary = l.dir
	} else if err := os.MkdirAll(l.dir, dirMode); err != nil {
		return err
	}
	server, err := serverOf(l.kubeconfig)
	if err != nil {
		return err
	}
	var args []string
	for _, outside := range slices.Sorted(maps.Keys(l.in)) {
		args = append(args, "--in", outside+"="+l.in[outside])
	}
	for _, address := range slices.Concat(l.out, []string{server}) {
		args = append(args, "--out", address+"="+address)
	}
	for _, directory := range l.private {
		args = append(args, "--private", directory)
	}
	args = append(append(args, "--", l.bin), l.args...)
	p.Process, err = process.Start(ctx, process.Command{
		Name: l.name, Path: nsrun, Args: args, Env: append([]string{"KUBECONFIG=" + l.kubeconfig, "HOME=" + l.dir}, l.env...),
		Log: filepath.Join(l.dir, l.name+".log"), Keep: l.keep, StopSignal: syscall.SIGTERM,
	})
	if err != nil {
		return err
	}
	if l.started != nil {
		if err := l.started(p.Process); err != nil {
			return err
		}
	}
	return program.AwaitReady(ctx, p.Process, l.ready)
}

// build makes sure of the programs, and returns what runs the engine.
func (l *launch) build(ctx context.Context) (nsrun string, err error) {
	out := l.log
	if out == nil {
		out = io.Discard
	}
	bin := filepath.Join(testenv.RepoRoot(), "bin")
	if l.bin == "" {
		l.bin = filepath.Join(bin, l.name)
		if err := testenv.Build(ctx, l.target, out); err != nil {
			return "", err
		}
	}
	return filepath.Join(bin, "nsrun"), testenv.Build(ctx, "nsrun", out)
}

// serverOf is the address of the API server of a kubeconfig.
func serverOf(kubeconfig string) (string, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return "", fmt.Errorf("read kubeconfig: %w", err)
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		return "", fmt.Errorf("read kubeconfig: %w", err)
	}
	return server.Host, nil
}

// freeAddresses are loopback addresses that are free.
func freeAddresses(ctx context.Context, count int) ([]string, error) {
	addresses := make([]string, count)
	for i := range addresses {
		var err error
		if addresses[i], err = testenv.FreeAddress(ctx); err != nil {
			return nil, err
		}
	}
	return addresses, nil
}

// inside is a port of the namespace.
func inside(port string) string { return net.JoinHostPort("127.0.0.1", port) }

// abort is stop after a failed start, whose reason counts.
func (p *Process) abort() error {
	p.stopping.Store(true)
	return p.stop()
}
