// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command devstack runs the whole project on one machine: it is the program
// behind `make run`, `make up`, `make down` and their relatives. It owns the
// processes it starts and their data below .dev, and knows the operator only by
// its command line and its objects. It contains no logic of the operator, and of
// the operator's suites only test/e2e, which judges it from outside, needs it.
//
// It runs on Linux.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(mainCode()) }

func mainCode() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A second signal ends this process at once; its children end with it.
	context.AfterFunc(ctx, stop)
	if err := newRootCommand().ExecuteContext(ctx); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("interrupted: %w", err)
		}
		fmt.Fprintf(os.Stderr, "devstack: %v\n", err)
		return 1
	}
	return 0
}
