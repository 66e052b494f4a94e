// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command maasctl shows what Models as a Service would do, and why, before it is
// done. Under the name kubectl-maas it is a plug-in of kubectl.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/opendatahub-io/maas-operator/internal/maasctl"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := maasctl.Main(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
