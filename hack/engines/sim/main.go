// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command sim is the model simulator of llm-d with its own flags, but listening
// on the loopback interface only: the original listens on all of them. It serves
// HTTP at --port until it is interrupted; gRPC and several ranks are left out.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/llm-d/llm-d-inference-sim/pkg/common"
	"github.com/llm-d/llm-d-inference-sim/pkg/communication"
	simulator "github.com/llm-d/llm-d-inference-sim/pkg/llm-d-inference-sim"
	"k8s.io/klog/v2"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run serves one simulator until the context ends.
func run(ctx context.Context) error {
	logger := klog.Background()
	config, err := common.ParseCommandParamsAndLoadConfig()
	if err != nil {
		return fmt.Errorf("read flags: %w", err)
	}
	if config.DPSize > 1 {
		return errors.New("--data-parallel-size must be 1: each rank would need a port of its own")
	}
	// The simulator ends with the process, not before requests in flight have.
	ranks, err := simulator.Start(context.WithoutCancel(ctx), config, logger)
	if err != nil {
		return fmt.Errorf("start simulator: %w", err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(config.Port))
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	closed := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer closed()
	err = communication.New(logger, ranks[0]).StartHTTPServer(ctx, listener)
	if ctx.Err() != nil {
		return nil
	}
	return err
}
