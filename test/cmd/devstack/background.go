// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
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

const afterUp = "`make status` shows what is running; `make down` ends it and keeps its data.\n"

func (c *config) upCommand() *cobra.Command {
	cmd := c.background("up", "Leave the stack running in the background", func(ctx context.Context, s *stack, out io.Writer) error {
		if err := s.sameAsBefore(); err != nil {
			return err
		}
		if s.complete() {
			if err := s.renew(ctx); err != nil {
				return err
			}
			_, err := fmt.Fprintf(out, "Already running. Settings: %s\n%s", s.relative(s.layout.envFile()), afterUp)
			return err
		}
		if err := s.start(ctx); err != nil {
			return err
		}
		s.progress.total("Running in the background")
		if err := s.present(ctx, out); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out, "\n%s", afterUp)
		return err
	})
	c.enginesFlag(cmd)
	return cmd
}

func (c *config) downCommand() *cobra.Command {
	return c.ending("down", "End exactly what up started", endStack)
}

// ending builds a command that ends the stack in the background. Where there was none
// it writes nothing, and it tells of one in the foreground, which is not its to end.
func (c *config) ending(use, short string, work func(context.Context, *stack, io.Writer) error) *cobra.Command {
	cmd := c.background(use, short, work)
	whole := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := c.stack(cmd, upDir, true)
		if err != nil {
			return err
		}
		if s.layout.exists() {
			err = whole(cmd, args)
		} else {
			fmt.Fprintln(cmd.OutOrStdout(), nothingRan)
		}
		if err != nil {
			return err
		}
		return c.mentionRun(s, cmd.OutOrStdout())
	}
	return cmd
}

const nothingRan = "Nothing was running."

// mentionRun tells that `make run` is running, which the commands about the background
// know nothing of.
func (c *config) mentionRun(s *stack, out io.Writer) error {
	if c.dir != "" || !s.foreground().busy() {
		return nil
	}
	_, err := fmt.Fprintln(out, "`make run` is running; end it with Ctrl-C in its terminal.")
	return err
}

// foreground is the layout of the stack that `make run` starts in this checkout.
func (s *stack) foreground() layout {
	return layout{root: s.layout.root, dir: filepath.Join(s.layout.root, runDir)}
}

func endStack(ctx context.Context, s *stack, out io.Writer) error {
	running, err := s.stop(ctx)
	if err != nil {
		return err
	}
	if running {
		fmt.Fprintln(out, "Ended.")
	} else {
		fmt.Fprintln(out, nothingRan)
	}
	return nil
}

func (c *config) cleanCommand() *cobra.Command {
	return c.ending("clean", "End what up started, and remove its data, the database's too", func(ctx context.Context, s *stack, out io.Writer) error {
		if c.dir == "" && s.foreground().busy() { // Its data lies below that of this one.
			return errors.New("remove the data: `make run` is running and has its own there: end it with Ctrl-C in its terminal first")
		}
		if err := errors.Join(endStack(ctx, s, out), s.layout.clear()); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out, "Removed all data in %s.\n", s.relative(s.layout.dir))
		return err
	})
}

func (c *config) stopControllerCommand() *cobra.Command {
	return c.background("stop-controller", "Stop maas-controller; returns when it is gone", func(_ context.Context, s *stack, out io.Writer) error {
		stopped, err := s.stopProgram(processController, processController, out)
		if !stopped || err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, `New subscriptions and auth policies are refused until its webhooks are served again.
Run a build of your own in its place, under the same ServiceAccount and on loopback:
  bin/maas-controller %s
`, strings.Join(s.state.Arguments[processController], " "))
		return err
	})
}

func (c *config) stopServiceCommand() *cobra.Command {
	return c.background("stop-maas-api", "Stop maas-api, that of every tenant; returns when it is gone", func(_ context.Context, s *stack, out io.Writer) error {
		stopped, err := s.stopProgram(processService, processWorkload, out)
		if !stopped || err != nil {
			return err
		}
		admitted := "nobody"
		if s.state.Engines {
			admitted = "only whom Authorino remembers"
		}
		_, err = fmt.Fprintf(out, `Its Pods are as on a node that lost its power. The gateway lets %s in until it
is served again. Run a build of your own in its place, as the Deployments say:
  bin/devstack start-maas-api --maas-api-binary bin/maas-api
`, admitted)
		return err
	})
}

// stopProgram ends the child that runs a program, and tells whether it ran.
func (s *stack) stopProgram(name, child string, out io.Writer) (bool, error) {
	var err error
	if s.state, err = s.layout.readState(); err != nil {
		return false, err
	}
	if s.state.alive(child) == nil {
		_, err := fmt.Fprintf(out, "%s is not running.\n", name)
		return false, err
	}
	if err := s.end(child); err != nil {
		return false, err
	}
	_, err = fmt.Fprintf(out, "%s is stopped.\n", name)
	return true, err
}

// startCommand starts a program of this repository.
func (c *config) startCommand(use, name string, start func(*stack, context.Context) error) *cobra.Command {
	return c.background(use, "Start "+name+"; returns when it is ready", func(ctx context.Context, s *stack, out io.Writer) error {
		if err := s.attach(); err != nil {
			return err
		}
		if err := start(s, ctx); err != nil {
			return errors.Join(err, s.undo())
		}
		fmt.Fprintf(out, "%s is ready.\n", name)
		return s.remember()
	})
}

func (c *config) startControllerCommand() *cobra.Command {
	return c.startCommand("start-controller", processController, (*stack).startController)
}

func (c *config) startServiceCommand() *cobra.Command {
	return c.startCommand("start-maas-api", processService, func(s *stack, ctx context.Context) error {
		if err := s.restartWorkload(ctx); err != nil {
			return err
		}
		return s.awaitKey(ctx)
	})
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
