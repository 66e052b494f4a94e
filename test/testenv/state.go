// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
)

const (
	stateFile = "state.json"
	// temporaryPrefix begins the names of temporary directories.
	temporaryPrefix = "maas-testenv-"
)

// state is what another process needs to find and end an instance. It is
// written after every process started, so that it never misses one.
type state struct {
	// Ready is set once Start has succeeded.
	Ready       bool               `json:"ready"`
	Controllers bool               `json:"controllers"`
	KeepRunning bool               `json:"keepRunning"`
	Owner       string             `json:"owner,omitempty"`
	Ports       ports              `json:"ports"`
	Processes   []*process.Process `json:"processes"`
}

// readState returns the state recorded in dir, or nil if there is none.
func readState(dir string) (*state, error) {
	content, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	s := &state{}
	if err := json.Unmarshal(content, s); err != nil {
		return nil, fmt.Errorf("read state in %s: %w", dir, err)
	}
	return s, nil
}

func (s *state) write(dir string) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return writeFile(filepath.Join(dir, stateFile), append(content, '\n'))
}

// alive returns how many of the recorded processes run.
func (s *state) alive() int {
	n := 0
	for _, p := range s.Processes {
		if p.Alive() {
			n++
		}
	}
	return n
}

// complete reports whether all programs of a started instance run.
func (s *state) complete() bool {
	return s != nil && s.Ready && len(s.Processes) > 0 && s.alive() == len(s.Processes)
}

// yields returns an error unless the instance is anybody's or the owner's.
func (s *state) yields(owner, dir string) error {
	if s.Owner != "" && s.Owner != owner {
		return fmt.Errorf("%w: the one in %s is %s's", ErrForeign, dir, s.Owner)
	}
	return nil
}

// lockDir keeps other processes from starting or stopping an instance in dir
// until the returned function is called.
func lockDir(ctx context.Context, dir string) (unlock func(), err error) {
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = lock.Close() }, nil // closing gives the lock back
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), lock.Close())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, ctx.Err()), lock.Close())
		}
	}
}

// sweepTemporary removes temporary directories whose processes are all gone: a
// test that crashed or ran into its time limit could not do it. An instance
// that is starting holds the lock of its directory.
func sweepTemporary(ctx context.Context) {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), temporaryPrefix+"*"))
	if err != nil {
		return
	}
	atOnce, cancel := context.WithCancel(ctx)
	cancel()
	for _, dir := range dirs {
		if s, err := readState(dir); s == nil || err != nil {
			continue
		}
		unlock, err := lockDir(atOnce, dir)
		if err != nil {
			continue
		}
		if s, err := readState(dir); err == nil && s != nil && s.alive() == 0 {
			_ = os.RemoveAll(dir) // whoever starts next tries again
		}
		unlock()
	}
}
