// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command maas-controller is the operator: the manager that runs all reconcilers.
// This package owns flags, their validation and the wiring; it decides nothing
// about objects.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand(run).ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}
