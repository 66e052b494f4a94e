// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

const (
	// startAttempts is how often Start tries again after another program took
	// one of its ports in between.
	startAttempts = 4
	// stopGrace is how long a server may take to end in good order when its
	// data is kept.
	stopGrace = 15 * time.Second
)

var (
	// ErrNotRunning says that there is no instance, or only remains of one, in a
	// directory.
	ErrNotRunning = errors.New("no control plane is running")
	// ErrRunning says that an instance already runs in a directory.
	ErrRunning = errors.New("a control plane is already running")
	// ErrForeign says that an instance belongs to another program.
	ErrForeign = errors.New("the control plane belongs to another program")

	errPortTaken = errors.New("another program took one of the ports")
)

// Env is a running control plane.
type Env struct {
	dir       string
	temporary bool
	out       io.Writer
	admin     *rest.Config
	audit     *audit.Log

	mu       sync.Mutex // guards state and accounts
	state    *state
	accounts map[Account]*rest.Config
}

// Start starts a control plane and returns when it is ready. The context bounds
// the start, not the life of the instance. Whatever was started is ended again
// when Start fails.
func Start(ctx context.Context, o Options) (*Env, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := buildFor(ctx, o); err != nil {
		return nil, err
	}
	e := &Env{dir: o.Dir, out: o.Log}
	if e.out == nil {
		e.out = io.Discard
	}
	if err := e.makeDir(ctx); err != nil {
		return nil, err
	}
	unlock, err := lockDir(ctx, e.dir)
	if err != nil {
		return nil, err
	}
	defer unlock()

	if err := e.takeOverDir(o); err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		err := e.boot(ctx, o)
		if err == nil {
			return e, nil
		}
		err = errors.Join(err, e.end())
		if !errors.Is(err, errPortTaken) || attempt == startAttempts || ctx.Err() != nil {
			return nil, errors.Join(fmt.Errorf("start the control plane: %w", err), e.removeTemporary())
		}
		e.logf("another program took one of the ports; trying again")
	}
}

// Stop ends every process of the instance, waits until they are gone, and
// removes a temporary directory. Further calls do nothing.
func (e *Env) Stop() error {
	if e.isStopped() {
		return nil
	}
	unlock, err := lockDir(context.Background(), e.dir)
	if err != nil {
		return err
	}
	defer unlock()
	return errors.Join(e.end(), e.removeTemporary())
}

// Dir returns the directory with the data, logs and kubeconfig files.
func (e *Env) Dir() string { return e.dir }

// Controllers reports whether the controllers run too.
func (e *Env) Controllers() bool { return e.state.Controllers }

// URL returns the address of the API server.
func (e *Env) URL() string { return e.url() }

// AdminConfig returns a client configuration that may do everything and has no
// client-side rate limit. It shows in the audit log as [AdminUser].
func (e *Env) AdminConfig() *rest.Config { return rest.CopyConfig(e.admin) }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (e *Env) Kubeconfig() string { return e.kubeconfig("admin") }

// Audit returns the audit log of the API server.
func (e *Env) Audit() *audit.Log { return e.audit }

// Log returns the path of the log of a program of the instance, such as
// "kube-apiserver".
func (e *Env) Log(program string) string { return filepath.Join(e.dir, program+".log") }

func (e *Env) url() string { return httpsURL(e.state.Ports.APIServer) }

func (e *Env) pkiDir() string { return filepath.Join(e.dir, "pki") }

func (e *Env) auditPolicyFile() string { return filepath.Join(e.dir, "audit-policy.yaml") }

func (e *Env) auditLogFile() string { return filepath.Join(e.dir, "audit.log") }

func (e *Env) kubeconfig(identity string) string {
	return filepath.Join(e.dir, identity+".kubeconfig")
}

func (e *Env) logf(format string, args ...any) { fmt.Fprintf(e.out, format+"\n", args...) }

// buildFor has the programs and files built that the options need.
func buildFor(ctx context.Context, o Options) error {
	out := o.Log
	if out == nil {
		out = os.Stderr
	}
	if err := Build(ctx, "controlplane", out); err != nil {
		return err
	}
	return buildCRDs(ctx, o.CRDs, out)
}

func (e *Env) makeDir(ctx context.Context) error {
	if e.dir == "" {
		sweepTemporary(ctx)
		dir, err := os.MkdirTemp("", temporaryPrefix)
		if err != nil {
			return fmt.Errorf("create data directory: %w", err)
		}
		e.dir, e.temporary = dir, true
	}
	if err := os.MkdirAll(e.dir, 0o700); err != nil {
		return fmt.Errorf("create data directory: %w", err)
	}
	return nil
}

// takeOverDir refuses a directory in use, ends what is left of an instance that
// lost some of its processes, and keeps its ports.
func (e *Env) takeOverDir(o Options) error {
	old, err := readState(e.dir)
	if err != nil {
		return err
	}
	e.state = &state{Controllers: o.Controllers, KeepRunning: o.KeepRunning, Owner: o.Owner}
	if old == nil {
		return nil
	}
	if err := old.yields(o.Owner, e.dir); err != nil {
		return err
	}
	if old.complete() {
		return fmt.Errorf("%w in %s", ErrRunning, e.dir)
	}
	e.state.Ports = old.Ports
	remains := &Env{dir: e.dir, out: io.Discard, state: old}
	return remains.end()
}

// end ends all processes, the last started first, and records that.
func (e *Env) end() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	grace := stopGrace
	if e.temporary {
		grace = 0 // nothing is worth writing down
	}
	var errs []error
	var left []*process.Process
	for _, p := range slices.Backward(e.state.Processes) {
		if err := p.Stop(grace); err != nil {
			errs = append(errs, err)
			left = append([]*process.Process{p}, left...)
		}
	}
	e.state.Processes, e.state.Ready = left, false
	if !e.temporary || len(left) > 0 {
		errs = append(errs, e.state.write(e.dir))
	}
	return errors.Join(errs...)
}

func (e *Env) removeTemporary() error {
	if !e.temporary {
		return nil
	}
	if err := os.RemoveAll(e.dir); err != nil {
		return fmt.Errorf("remove data directory: %w", err)
	}
	return nil
}

func (e *Env) isStopped() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.state.Processes) == 0
}
