// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// background builds a command that works on the stack in the background, alone.
func (c *config) background(use, short string, work func(context.Context, *stack, io.Writer) error) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.stack(cmd, upDir, true)
			if err != nil {
				return err
			}
			unlock, err := s.layout.lock()
			if err != nil {
				return err
			}
			defer unlock()
			return work(cmd.Context(), s, cmd.OutOrStdout())
		},
	}
}

func (c *config) upCommand() *cobra.Command {
	return c.background("up", "Leave the stack running in the background", func(ctx context.Context, s *stack, out io.Writer) error {
		if s.complete() {
			fmt.Fprintf(out, "Already running. Settings: %s\n", s.relative(s.layout.envFile()))
			return nil
		}
		if err := s.start(ctx); err != nil {
			return err
		}
		s.progress.total("Running in the background")
		if err := s.present(ctx, out); err != nil {
			return err
		}
		fmt.Fprintf(out, "\nSettings for a shell: . %s\n", s.relative(s.layout.envFile()))
		return nil
	})
}

func (c *config) downCommand() *cobra.Command {
	return c.background("down", "End exactly what up started", func(ctx context.Context, s *stack, out io.Writer) error {
		running, err := s.stop(ctx)
		if err != nil {
			return err
		}
		if running {
			fmt.Fprintln(out, "Ended.")
		} else {
			fmt.Fprintln(out, "Nothing was running.")
		}
		return nil
	})
}

func (c *config) stopControllerCommand() *cobra.Command {
	return c.background("stop-controller", "Stop maas-controller; returns when it is gone", func(_ context.Context, s *stack, out io.Writer) error {
		var err error
		if s.state, err = s.layout.readState(); err != nil {
			return err
		}
		if s.state.alive(processController) == nil {
			fmt.Fprintln(out, "maas-controller is not running.")
			return nil
		}
		if err := s.end(processController); err != nil {
			return err
		}
		fmt.Fprintln(out, "maas-controller is stopped.")
		fmt.Fprintf(out, `New subscriptions and auth policies are refused until its webhooks are served again.
Run a build of your own in its place, under the same ServiceAccount and on loopback:
  bin/maas-controller %s
`, strings.Join(s.state.Arguments, " "))
		return nil
	})
}

func (c *config) startControllerCommand() *cobra.Command {
	return c.background("start-controller", "Start maas-controller; returns when it is ready", func(ctx context.Context, s *stack, out io.Writer) error {
		if err := s.attach(); err != nil {
			return err
		}
		if err := s.startController(ctx); err != nil {
			return errors.Join(err, s.undo())
		}
		fmt.Fprintln(out, "maas-controller is ready.")
		return s.remember()
	})
}

// statusCommand takes no lock: it may be asked while another command works.
func (c *config) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show which processes of up are running",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.stack(cmd, upDir, true)
			if err != nil {
				return err
			}
			return s.printStatus(cmd.Context(), cmd.OutOrStdout())
		},
	}
}

func (s *stack) printStatus(ctx context.Context, out io.Writer) error {
	controlPlane, err := testenv.Inspect(s.layout.controlPlane())
	if err != nil {
		return err
	}
	if s.state, err = s.layout.readState(); err != nil {
		return err
	}
	const padding = 2
	w := tabwriter.NewWriter(out, 0, 0, padding, ' ', 0)
	fmt.Fprintln(w, "PROCESS\tSTATE\tPID\tLOG")
	row := func(name string, running bool, state string, pid int, log string) {
		if !running {
			fmt.Fprintf(w, "%s\tstopped\t-\t%s\n", name, s.relative(log))
			return
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", name, state, pid, s.relative(log))
	}
	for _, p := range controlPlane {
		row(p.Name, p.Running, "running", p.PID, p.Log)
	}
	if len(controlPlane) == 0 {
		row("control plane", false, "", 0, s.layout.controlPlane())
	}
	for _, name := range []string{processStandins, processController} {
		p := s.state.alive(name)
		if p == nil {
			row(name, false, "", 0, s.logFile(name))
			continue
		}
		state := "running"
		if p.Probe != "" && !p.ready(ctx) {
			state = "not ready"
		}
		row(name, true, state, p.PID, p.Log)
	}
	return w.Flush()
}

func (c *config) kubeconfigCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the kubeconfig of up",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.stack(cmd, upDir, true)
			if err != nil {
				return err
			}
			if err := s.attach(); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), s.env.Kubeconfig())
			return nil
		},
	}
}
