// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command maas-api is the HTTP service of one tenant: API keys, the callbacks of
// the gateway, and the listings of models and subscriptions. Its other
// sub-commands are jobs on the same database.
//
// This package owns the command line and the wiring; it decides nothing about
// keys, models or subscriptions.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	err := newCommand(programs(), environment(), os.Stdout).ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func environment() map[string]string {
	variables := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		variables[name] = value
	}
	return variables
}
