// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dialTimeout is generous for a connection on one machine. Connections inside are
// made one after the other.
const dialTimeout = 5 * time.Second

// namespace is a network namespace with a loopback interface. What is done in it is
// done by one thread, which stays in it for as long as this process lives.
type namespace struct {
	work chan func()
}

// newNamespace makes a namespace and brings its loopback interface up. The directories
// are its own.
func newNamespace(private []string) (*namespace, error) {
	n := &namespace{work: make(chan func())}
	ready := make(chan error)
	go func() {
		// Never unlocked: no other goroutine may run on a thread in there, and the
		// program ends when the thread that started it does.
		runtime.LockOSThread()
		err := enter()
		if err == nil && len(private) > 0 {
			err = hide(private)
		}
		ready <- err
		if err != nil {
			return
		}
		for work := range n.work {
			work()
		}
	}()
	return n, <-ready
}

// enter moves the calling thread into a new namespace.
func enter() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("make a network namespace: %w", err)
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("bring up the loopback interface: %w", err)
	}
	defer func() { _ = unix.Close(socket) }()
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("bring up the loopback interface: %w", err)
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("bring up the loopback interface: %w", err)
	}
	return nil
}

// hide puts empty directories in the place of some, for the calling thread and what it
// starts.
func hide(private []string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to the namespace: %w", err)
	}
	for _, directory := range private {
		if err := os.MkdirAll(directory, 0o755); err != nil {
			return fmt.Errorf("make a private directory: %w", err)
		}
		if err := unix.Mount("private", directory, "tmpfs", 0, ""); err != nil {
			return fmt.Errorf("make %s private: %w", directory, err)
		}
	}
	return nil
}

// do runs f on the thread in the namespace and returns when it is done.
func (n *namespace) do(f func()) {
	done := make(chan struct{})
	n.work <- func() {
		defer close(done)
		f()
	}
	<-done
}

// listen serves an address inside.
func (n *namespace) listen(address string) (listener net.Listener, err error) {
	n.do(func() { listener, err = direct{}.listen(address) })
	return listener, err
}

// dial connects to an address inside.
func (n *namespace) dial(address string) (conn net.Conn, err error) {
	n.do(func() { conn, err = direct{}.dial(address) })
	return conn, err
}

// execute runs a program inside until it ends, and returns its exit code.
func (n *namespace) execute(command []string) (int, error) {
	program := exec.Command(command[0], command[1:]...)
	program.Stdin, program.Stdout, program.Stderr = os.Stdin, os.Stdout, os.Stderr
	// A group of its own: what a terminal sends to the whole group comes once.
	program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals)
	var err error
	n.do(func() { err = program.Start() })
	if err != nil {
		return ownError, fmt.Errorf("start %s: %w", command[0], err)
	}
	ended := make(chan error)
	go func() { ended <- program.Wait() }()
	for {
		select {
		case s := <-signals:
			pass(program.Process, s)
		case err := <-ended:
			return exitCode(program.ProcessState, err)
		}
	}
}

// pass passes a signal on, unless it is about this process itself.
func pass(to *os.Process, s os.Signal) {
	switch s {
	case syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPIPE: // The runtime uses the second.
	default:
		_ = to.Signal(s) // It may have ended.
	}
}

// exitCode is what a shell would say of a program that ended.
func exitCode(state *os.ProcessState, err error) (int, error) {
	const signalled = 128
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return ownError, fmt.Errorf("wait for the program: %w", err)
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return signalled + int(status.Signal()), nil
	}
	return state.ExitCode(), nil
}
