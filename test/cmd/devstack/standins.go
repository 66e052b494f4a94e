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
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/test/engines"
	"github.com/opendatahub-io/maas-operator/test/standins"
	"github.com/opendatahub-io/maas-operator/test/standins/gateway"
	"github.com/opendatahub-io/maas-operator/test/standins/kserve"
	"github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
)

// standinsCommand runs the stand-ins; a stack starts it as a child.
func standinsCommand() *cobra.Command {
	var kubeconfig, readyFile, stallFile string
	var withEngines bool
	cmd := &cobra.Command{
		Use:    "standins",
		Short:  "Run the stand-ins for Kuadrant, the gateway controller and KServe",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if withEngines {
				return runEngineStandins(cmd.Context(), kubeconfig, readyFile)
			}
			return runStandins(cmd.Context(), kubeconfig, readyFile, stallFile)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the API server")
	cmd.Flags().StringVar(&readyFile, "ready-file", "", "file to create once all stand-ins run")
	cmd.Flags().StringVar(&stallFile, "stall-file", "", "file that stalls the Kuadrant stand-in while it exists")
	cmd.Flags().BoolVar(&withEngines, "engines", false, "leave Kuadrant to its own operator, and play those of Authorino and Limitador")
	_ = cmd.MarkFlagRequired("kubeconfig") // the flag exists
	return cmd
}

// beginStandins has stand-ins log to their parent, and finds the API server.
func beginStandins(kubeconfig string) (logr.Logger, *rest.Config, error) {
	logger := logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ctrl.SetLogger(logger)
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return logger, nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	return logger, cfg, nil
}

// runEngineStandins runs what a stack with the engines has not.
func runEngineStandins(ctx context.Context, kubeconfig, readyFile string) error {
	logger, cfg, err := beginStandins(kubeconfig)
	if err != nil {
		return err
	}
	var player *gateway.Gateway
	var server *kserve.KServe
	var operators *engines.Operators
	stop := func() error {
		all := &standins.All{Gateway: player, KServe: server}
		return errors.Join(operators.Stop(), all.Stop())
	}
	if player, err = standins.StartGateway(ctx, cfg, gateway.Options{Logger: logger}); err == nil {
		server, err = standins.StartKServe(ctx, cfg, kserve.Options{Logger: logger})
	}
	if err == nil {
		operators, err = engines.StartOperators(ctx, cfg)
	}
	if err == nil {
		err = os.WriteFile(readyFile, nil, 0o600)
	}
	if err != nil {
		return errors.Join(err, stop())
	}
	select {
	case <-ctx.Done():
	case <-player.Done():
		err = errors.New("the gateway stand-in ended")
	case <-server.Done():
		err = errors.New("the KServe stand-in ended")
	case <-operators.Done():
		err = errors.New("the stand-in for the operators of Authorino and Limitador ended")
	}
	return errors.Join(err, stop())
}

func runStandins(ctx context.Context, kubeconfig, readyFile, stallFile string) error {
	logger, cfg, err := beginStandins(kubeconfig)
	if err != nil {
		return err
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
