// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command controlplane runs a real Kubernetes control plane on this machine for
// work by hand: up, down, status and kubeconfig over what test/testenv does for
// the suites. It holds no logic beyond that.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// The exit codes, besides 0.
const (
	exitFailure    = 1
	exitUsage      = 2
	exitNotRunning = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRootCommand().ExecuteContext(ctx)
	stop()
	os.Exit(exitCode(err))
}

// usageError is a call that can never succeed.
type usageError struct{ error }

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "controlplane:", err)
	var usage usageError
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, testenv.ErrNotRunning):
		return exitNotRunning
	default:
		return exitFailure
	}
}
