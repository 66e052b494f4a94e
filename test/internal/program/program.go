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

// Build compiles ./cmd/<name> into a directory, with the flags of the Makefile so
// that the compiler's cache serves both, and returns the program's path.
func Build(ctx context.Context, dir, name string) (string, error) {
	binary := filepath.Join(dir, name)
	command := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", "-o", binary, "./cmd/"+name)
	command.Dir = testenv.RepoRoot()
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return binary, nil
}

// AwaitReady returns when the URL answers 200, or says why the process never got
// so far.
func AwaitReady(ctx context.Context, p *process.Process, url string) error {
	err := wait.PollUntilContextTimeout(ctx, readyPoll, readyTimeout, true, func(ctx context.Context) (bool, error) {
		if !p.Alive() {
			return false, errors.New("it ended")
		}
		return Ready(ctx, url), nil
	})
	if err != nil {
		return fmt.Errorf("wait until %s is ready: %w; from %s:\n%s", p.Name, err, p.Log, p.Excerpt())
	}
	return nil
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
