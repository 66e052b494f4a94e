// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/test/standins"
	"github.com/opendatahub-io/maas-operator/test/standins/gateway"
	"github.com/opendatahub-io/maas-operator/test/standins/kserve"
	"github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
)

// standinsCommand runs the stand-ins; a stack starts it as a child.
func standinsCommand() *cobra.Command {
	var kubeconfig, readyFile, stallFile string
	cmd := &cobra.Command{
		Use:    "standins",
		Short:  "Run the stand-ins for Kuadrant, the gateway controller and KServe",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runStandins(cmd.Context(), kubeconfig, readyFile, stallFile)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the API server")
	cmd.Flags().StringVar(&readyFile, "ready-file", "", "file to create once all stand-ins run")
	cmd.Flags().StringVar(&stallFile, "stall-file", "", "file that stalls the Kuadrant stand-in while it exists")
	_ = cmd.MarkFlagRequired("kubeconfig") // the flag exists
	return cmd
}

func runStandins(ctx context.Context, kubeconfig, readyFile, stallFile string) error {
	logger := logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ctrl.SetLogger(logger)
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	all, err := standins.StartAll(ctx, cfg, standins.Options{
		Kuadrant: kuadrant.Options{Logger: logger, StallFile: stallFile},
		Gateway:  gateway.Options{Logger: logger},
		KServe:   kserve.Options{Logger: logger},
	})
	if err != nil {
		return err
	}
	if readyFile != "" {
		if err := os.WriteFile(readyFile, nil, 0o600); err != nil {
			return errors.Join(fmt.Errorf("report readiness: %w", err), all.Stop())
		}
	}
	return errors.Join(all.Wait(ctx), all.Stop())
}
