// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the operator with package bench and compares two
// measurements: it is the program behind `make bench`. It owns flags, output
// and exit codes only.
//
// It runs on Linux.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes besides 0.
const (
	exitError  = 1 // It could not be done.
	exitBroken = 3 // It was done, and a bound did not hold.
)

// errBroken says that figures are worse than they may be.
var errBroken = errors.New("a bound did not hold")

func main() { os.Exit(mainCode()) }

func mainCode() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A second signal ends this process at once; its children end with it.
	context.AfterFunc(ctx, stop)
	err := newRootCommand().ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		err = fmt.Errorf("interrupted: %w", err)
	case errors.Is(err, errBroken):
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		return exitBroken
	}
	fmt.Fprintf(os.Stderr, "bench: %v\n", err)
	return exitError
}
