// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// statusTimeout bounds how long status waits for the API server's answer.
const statusTimeout = 10 * time.Second

const rootHelp = `Run a real Kubernetes control plane on this machine: etcd, kube-apiserver,
the built-in controllers, the scheduler and simulated nodes, on loopback only.

Its programs are built from Go modules into bin/ when they are missing, which
takes about 10 minutes on 2 idle cores the first time. Everything it writes is in
one directory. It is apart from the stack of make up, and does not end that one.

Exit codes: 0 done or running, 1 failed, 2 wrong usage, 3 nothing is running.`

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "controlplane",
		Short:         "Run a real Kubernetes control plane on this machine",
		Long:          rootHelp,
		Args:          noArguments,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	dir := root.PersistentFlags().String("dir", filepath.Join(testenv.RepoRoot(), ".dev", "controlplane-only"),
		"directory with data, certificates, logs and kubeconfig files")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newUpCommand(dir), newDownCommand(dir), newStatusCommand(dir), newKubeconfigCommand(dir))
	return root
}

// noArguments refuses arguments as wrong usage.
func noArguments(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return usageError{err}
	}
	return nil
}

func newUpCommand(dir *string) *cobra.Command {
	var apiOnly bool
	var sets []string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start it and leave it running in the background",
		Long: `Start the control plane, wait until it is ready, and leave it running in the
background. Does nothing if it is running already, except for installing the
CRDs that are asked for. Data from an earlier run in the directory is used again.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			crds, err := parseSets(sets)
			if err != nil {
				return err
			}
			return up(cmd.Context(), cmd.OutOrStdout(), testenv.Options{
				Dir: *dir, Controllers: !apiOnly, CRDs: crds, Log: cmd.OutOrStdout(), KeepRunning: true,
			})
		},
	}
	cmd.Flags().BoolVar(&apiOnly, "api-only", false, "start etcd and kube-apiserver only")
	cmd.Flags().StringSliceVar(&sets, "crds", nil, "sets of CRDs to install: "+strings.Join(setNames(), ", "))
	return cmd
}

func up(ctx context.Context, out io.Writer, o testenv.Options) error {
	env, err := testenv.Attach(o.Dir)
	running := err == nil
	if errors.Is(err, testenv.ErrNotRunning) {
		env, err = testenv.Start(ctx, o)
		if errors.Is(err, testenv.ErrRunning) { // another call was faster
			env, err = testenv.Attach(o.Dir)
			running = true
		}
	}
	if err != nil {
		return err
	}
	if running {
		if o.Controllers && !env.Controllers() {
			return errors.New("it is running without controllers; end it with down first")
		}
		if err := env.InstallCRDs(ctx, o.CRDs...); err != nil {
			return err
		}
		fmt.Fprintf(out, "already running at %s\n", env.URL())
		if len(o.CRDs) > 0 {
			fmt.Fprintf(out, "CRDs installed: %v\n", o.CRDs)
		}
	}
	fmt.Fprintf(out, "\nexport KUBECONFIG=%s\n%s get namespaces\n",
		env.Kubeconfig(), filepath.Join(testenv.RepoRoot(), "bin", "kubectl"))
	return nil
}

func newDownCommand(dir *string) *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "End it",
		Long: `End every program that up started in the directory and wait until all are gone.
Does nothing if nothing is running, and refuses if the directory belongs to a
stack of make up. The data stays unless --delete is given.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			running, err := testenv.StopDir(cmd.Context(), *dir, "")
			if err != nil {
				return err
			}
			if remove {
				if err := testenv.RemoveDir(cmd.Context(), *dir); err != nil {
					return err
				}
			}
			if running {
				fmt.Fprintln(cmd.OutOrStdout(), "stopped")
			} else {
				fmt.Fprintln(cmd.OutOrStdout(), "nothing was running")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&remove, "delete", false, "also remove the directory")
	return cmd
}

func newStatusCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show which of its programs are running",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			programs, err := testenv.Inspect(*dir)
			if err != nil {
				return err
			}
			printPrograms(cmd.OutOrStdout(), programs)
			env, err := testenv.Attach(*dir)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), statusTimeout)
			defer cancel()
			if err := env.Ready(ctx); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "ready at %s, kubeconfig %s\n", env.URL(), env.Kubeconfig())
			return nil
		},
	}
}

func printPrograms(out io.Writer, programs []testenv.ProcessStatus) {
	if len(programs) == 0 {
		return
	}
	const padding = 2
	table := tabwriter.NewWriter(out, 0, 0, padding, ' ', 0)
	fmt.Fprintln(table, "PROGRAM\tPID\tSTATE\tLOG")
	for _, p := range programs {
		state := "gone"
		if p.Running {
			state = "running"
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\n", p.Name, p.PID, state, p.Log)
	}
	_ = table.Flush()
}

func newKubeconfigCommand(dir *string) *cobra.Command {
	var operator bool
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of a kubeconfig",
		Long: `Print the path of the administrator's kubeconfig, or with --operator that of the
operator's ServiceAccount, with the rights that config/rbac grants it now.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			env, err := testenv.Attach(*dir)
			if err != nil {
				return err
			}
			path := env.Kubeconfig()
			if operator {
				if path, err = env.OperatorKubeconfig(cmd.Context()); err != nil {
					return err
				}
			}
			fmt.Fprintln(cmd.OutOrStdout(), path)
			return nil
		},
	}
	cmd.Flags().BoolVar(&operator, "operator", false, "the operator's instead of the administrator's")
	return cmd
}

func setNames() []string {
	var names []string
	for _, set := range testenv.CRDSets() {
		names = append(names, string(set))
	}
	return names
}

func parseSets(names []string) ([]testenv.CRDSet, error) {
	var sets []testenv.CRDSet
	for _, name := range names {
		if !slices.Contains(setNames(), name) {
			return nil, usageError{fmt.Errorf("there is no set of CRDs %q; there are %s", name, strings.Join(setNames(), ", "))}
		}
		sets = append(sets, testenv.CRDSet(name))
	}
	return sets, nil
}
