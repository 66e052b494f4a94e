// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// layout says where everything of one stack lies.
type layout struct {
	// root is the checkout, dir the data directory of the stack.
	root, dir string
}

func (l layout) controlPlane() string   { return filepath.Join(l.dir, "controlplane") }
func (l layout) logs() string           { return filepath.Join(l.dir, "logs") }
func (l layout) stateFile() string      { return filepath.Join(l.dir, "state.json") }
func (l layout) envFile() string        { return filepath.Join(l.dir, "env") }
func (l layout) standinsReady() string  { return filepath.Join(l.dir, "standins.ready") }
func (l layout) stallFile() string      { return filepath.Join(l.dir, "stall-kuadrant") }
func (l layout) samples() string        { return filepath.Join(l.root, "config", "samples") }
func (l layout) binary(n string) string { return filepath.Join(l.root, "bin", n) }

// create makes the directories of the stack.
func (l layout) create() error {
	if err := os.MkdirAll(l.logs(), 0o750); err != nil {
		return fmt.Errorf("create data directory: %w", err)
	}
	return nil
}

// clear removes what an earlier stack left, except for the lock.
func (l layout) clear() error {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return fmt.Errorf("read data directory: %w", err)
	}
	for _, e := range entries {
		if e.Name() == lockFile {
			continue
		}
		if err := os.RemoveAll(filepath.Join(l.dir, e.Name())); err != nil {
			return fmt.Errorf("clear data directory: %w", err)
		}
	}
	return nil
}

const lockFile = "devstack.lock"

// errLocked says that another devstack command works on the same directory.
var errLocked = errors.New("another devstack command is using this directory")

// lock keeps other commands out until the returned function is called or this
// process ends.
func (l layout) lock() (unlock func(), err error) {
	if err := os.MkdirAll(l.dir, 0o750); err != nil {
		return nil, fmt.Errorf("create data directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(l.dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("%w (%s): wait for it or end it first", errLocked, l.dir), file.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock data directory: %w", err), file.Close())
	}
	return func() { _ = file.Close() }, nil // closing gives the lock back
}

// writeEnv writes the settings of the stack for a shell to source.
func (l layout) writeEnv(kubeconfig string) error {
	var b strings.Builder
	for _, v := range []struct{ name, value string }{
		{"KUBECONFIG", kubeconfig},
		{"KUBECTL", l.binary("kubectl")},
	} {
		fmt.Fprintf(&b, "export %s='%s'\n", v.name, strings.ReplaceAll(v.value, "'", `'\''`))
	}
	if err := os.WriteFile(l.envFile(), []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	return nil
}
