// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/client-go/kubernetes"

	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// Attach returns the instance that another process started in dir with
// [Options].KeepRunning. Ending it is up to whoever wants it gone: Stop does it.
func Attach(dir string) (*Env, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("resolve directory: %w", err)
	}
	s, err := readState(dir)
	if err != nil {
		return nil, err
	}
	if !s.complete() {
		return nil, fmt.Errorf("%w in %s", ErrNotRunning, dir)
	}
	e := &Env{dir: dir, out: io.Discard, state: s}
	if e.admin, err = unlimited(e.Kubeconfig()); err != nil {
		return nil, err
	}
	e.audit = audit.Open(e.auditLogFile())
	return e, nil
}

// StopDir ends whatever runs in dir, an incomplete instance included, for its
// [Options].Owner. It reports whether there was anything to end.
func StopDir(ctx context.Context, dir, owner string) (bool, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false, fmt.Errorf("resolve directory: %w", err)
	}
	if s, err := readState(dir); s == nil || err != nil {
		return false, err
	}
	unlock, err := lockDir(ctx, dir)
	if err != nil {
		return false, err
	}
	defer unlock()
	s, err := readState(dir)
	if s == nil || err != nil {
		return false, err
	}
	if err := s.yields(owner, dir); err != nil {
		return false, err
	}
	e := &Env{dir: dir, out: io.Discard, state: s}
	running := s.alive() > 0
	return running, e.end()
}

// ProcessStatus tells of one program of an instance.
type ProcessStatus struct {
	Name    string
	PID     int
	Running bool
	Log     string
	// URL is where the program answers, its metrics below /metrics included; empty
	// if it does not listen.
	URL string
}

// Inspect lists the programs recorded in dir, in the order in which they were
// started. There are none when nothing was started or all was stopped.
func Inspect(dir string) ([]ProcessStatus, error) {
	s, err := readState(dir)
	if s == nil || err != nil {
		return nil, err
	}
	statuses := make([]ProcessStatus, 0, len(s.Processes))
	for _, p := range s.Processes {
		statuses = append(statuses, ProcessStatus{Name: p.Name, PID: p.PID, Running: p.Alive(), Log: p.Log, URL: s.Ports.url(p.Name)})
	}
	return statuses, nil
}

// Ready asks the API server whether it is ready.
func (e *Env) Ready(ctx context.Context) error {
	clientset, err := kubernetes.NewForConfig(e.admin)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if err := clientset.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return fmt.Errorf("ask for readiness: %w", err)
	}
	return nil
}

// RemoveDir removes the directory of an instance that was stopped. It refuses a
// directory that none was started in.
func RemoveDir(ctx context.Context, dir string) error {
	if s, err := readState(dir); s == nil || err != nil {
		return err
	}
	unlock, err := lockDir(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	s, err := readState(dir)
	if s == nil || err != nil {
		return err
	}
	if s.alive() > 0 {
		return fmt.Errorf("%w in %s", ErrRunning, dir)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove data directory: %w", err)
	}
	return nil
}
