// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package program builds this repository's own programs for suites that judge
// them from outside, and waits until one that was started is ready. It owns how
// they are compiled; it must not know what any of them is started with.
package program

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	// readyTimeout is for a machine that is busy with much else.
	readyTimeout = 3 * time.Minute
	readyPoll    = 50 * time.Millisecond
	probeTimeout = 2 * time.Second
)

// Build compiles ./cmd/<name> and returns the path of a copy in a directory. Suites
// that run at the same time take turns, so that the program is linked only once
// for all of them. The flags are those of the Makefile: the compiler's cache serves
// both.
func Build(ctx context.Context, dir, name string) (string, error) {
	work, err := filepath.Abs(filepath.Join(testenv.RepoRoot(), "bin", ".build", "test"))
	if err == nil {
		err = os.MkdirAll(work, 0o750)
	}
	if err != nil {
		return "", fmt.Errorf("make directory of programs: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(work, name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", fmt.Errorf("open lock: %w", err)
	}
	defer func() { _ = lock.Close() }() // It gives up the lock.
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("take lock: %w", err)
	}
	shared, err := compile(ctx, work, name)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, name)
	if out, err := exec.CommandContext(ctx, "cp", "--reflink=auto", shared, binary).CombinedOutput(); err != nil {
		return "", fmt.Errorf("copy %s: %w: %s", name, err, out)
	}
	return binary, nil
}

// compile does nothing to a program that is current.
func compile(ctx context.Context, dir, name string) (string, error) {
	binary := filepath.Join(dir, name)
	command := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", "-o", binary, "./cmd/"+name)
	command.Dir = testenv.RepoRoot()
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return binary, nil
}

// ErrAddressTaken says that a program could not listen because another one does so
// at that address: a free port was found, and taken before the program got to it.
var ErrAddressTaken = errors.New("another program listens at one of its addresses")

var errEnded = errors.New("it ended")

// AwaitReady returns when the URL answers 200, or says why the process never got
// so far. [ErrAddressTaken] is a reason that another attempt may not meet.
func AwaitReady(ctx context.Context, p *process.Process, url string) error {
	err := wait.PollUntilContextTimeout(ctx, readyPoll, readyTimeout, true, func(ctx context.Context) (bool, error) {
		ready := Ready(ctx, url)
		if !p.Alive() { // Whoever answered was another.
			return false, errEnded
		}
		return ready, nil
	})
	if err == nil {
		return nil
	}
	log := p.Excerpt()
	if errors.Is(err, errEnded) && strings.Contains(log, "address already in use") {
		err = fmt.Errorf("%w: %w", err, ErrAddressTaken)
	}
	return fmt.Errorf("wait until %s is ready: %w; from %s:\n%s", p.Name, err, p.Log, log)
}

// Ready tells whether the URL answers 200 now.
func Ready(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode == http.StatusOK
}
