// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// layout says where everything of one stack lies.
type layout struct {
	// root is the checkout, dir the data directory of the stack.
	root, dir string
}

func (l layout) controlPlane() string   { return filepath.Join(l.dir, "controlplane") }
func (l layout) logs() string           { return filepath.Join(l.dir, "logs") }
func (l layout) modelLogs() string      { return filepath.Join(l.logs(), "model") }
func (l layout) stateFile() string      { return filepath.Join(l.dir, "state.json") }
func (l layout) envFile() string        { return filepath.Join(l.dir, "env") }
func (l layout) curlFile() string       { return filepath.Join(l.dir, "curl") }
func (l layout) keyFile() string        { return filepath.Join(l.dir, "api-key") }
func (l layout) identities() string     { return filepath.Join(l.dir, "identities.json") }
func (l layout) database() string       { return filepath.Join(l.dir, "postgres") }
func (l layout) tenants() string        { return filepath.Join(l.dir, "tenants") }
func (l layout) workloadFile() string   { return filepath.Join(l.dir, "workload.json") }
func (l layout) gatewaysFile() string   { return filepath.Join(l.dir, "gateways.json") }
func (l layout) pods() string           { return filepath.Join(l.dir, "pods") }
func (l layout) stallFile() string      { return filepath.Join(l.dir, "stall-kuadrant") }
func (l layout) samples() string        { return filepath.Join(l.root, "config", "samples") }
func (l layout) trial() string          { return filepath.Join(l.root, "test", "cmd", "devstack", "trial") }
func (l layout) provider() string       { return filepath.Join(l.dir, "oidc") }
func (l layout) manager() string        { return filepath.Join(l.root, "config", "manager") }
func (l layout) binary(n string) string { return filepath.Join(l.root, "bin", n) }

// of is the layout for what a person needs of one tenant: that of the default tenant
// lies where that of the stack does.
func (l layout) of(tenant string) layout {
	if tenant != defaultTenant {
		l.dir = filepath.Join(l.tenants(), tenant)
	}
	return l
}

// ready is a file that says that a child is ready.
func (l layout) ready(child string) string { return filepath.Join(l.dir, child+".ready") }

// passable lets PostgreSQL, which runs as somebody else when root starts it, pass
// through the data directory to its own. What others must not see is closed itself.
const passable = 0o711

// open makes the data directory.
func (l layout) open() error {
	err := os.MkdirAll(l.dir, passable)
	if err == nil {
		err = os.Chmod(l.dir, passable)
	}
	if err != nil {
		return fmt.Errorf("create data directory: %w", err)
	}
	return nil
}

// exists tells whether there is a data directory: what only ends things makes none.
func (l layout) exists() bool {
	info, err := os.Stat(l.dir)
	return err == nil && info.IsDir()
}

// busy tells whether another command works on the directory. It writes nothing.
func (l layout) busy() bool {
	file, err := os.Open(filepath.Join(l.dir, lockFile))
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }() // That gives the lock back, too.
	return errors.Is(syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// create makes the directories of the stack.
func (l layout) create() error {
	if err := os.MkdirAll(l.logs(), 0o750); err != nil {
		return fmt.Errorf("create data directory: %w", err)
	}
	return nil
}

// clear removes what an earlier stack left, except for the lock.
func (l layout) clear() error {
	if err := l.removeDatabase(); err != nil {
		return err
	}
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
	if err := l.open(); err != nil {
		return nil, err
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
