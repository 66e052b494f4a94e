// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// runDir and upDir are the data directories below the root; a stack in the
// foreground and one in the background do not meet.
const (
	runDir = ".dev/run"
	upDir  = ".dev"
)

// config is what the flags of all commands say.
type config struct {
	dir               string
	controllerBinary  string
	serviceBinary     string
	withoutController bool
	withoutService    bool
	engines           bool
}

func newRootCommand() *cobra.Command {
	c := &config{}
	root := &cobra.Command{
		Use:   "devstack",
		Short: "A governed model behind a gateway, on a real API server, on this machine",
		Long: `devstack runs a Kubernetes control plane, PostgreSQL, maas-controller, maas-api,
a simulated model and stand-ins for the gateway, Kuadrant and KServe as local
processes, and applies the samples. The make targets of the same names build what
it needs first.

While the file stall-kuadrant exists in the data directory, the stand-in for
Kuadrant looks at nothing, as a busy or broken one would.

With --engines, the real Kuadrant and Authorino carry the policies out, and tokens
come from an OpenID Connect provider. That needs Linux and root.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&c.dir, "dir", "", "data directory (default .dev/run for run, .dev for the others)")
	flags.StringVar(&c.controllerBinary, "controller-binary", "", "program to run as maas-controller (default what up was given, or bin/maas-controller)")
	flags.StringVar(&c.serviceBinary, "maas-api-binary", "", "program to run as maas-api (default what up was given, or bin/maas-api)")
	flags.BoolVar(&c.withoutController, "without-controller", false, "leave maas-controller out")
	flags.BoolVar(&c.withoutService, "without-maas-api", false, "leave maas-api out, and its database, gateway and model")
	root.AddCommand(
		c.runCommand(), c.upCommand(), c.downCommand(), c.cleanCommand(), c.statusCommand(), c.kubeconfigCommand(),
		c.stopControllerCommand(), c.startControllerCommand(), c.stopServiceCommand(), c.startServiceCommand(),
		c.tenantCommand(), c.deleteTenantCommand(), standinsCommand(), workloadCommand(), namesCommand(), c.checkEnginesCommand(),
	)
	return root
}

func (c *config) stack(cmd *cobra.Command, defaultDir string, keep bool) (*stack, error) {
	ctrl.SetLogger(logr.Discard()) // libraries have nothing to tell the user
	root, err := testenv.Checkout()
	if err != nil {
		return nil, fmt.Errorf("find the checkout: %w", err)
	}
	dir := filepath.Join(root, defaultDir)
	if c.dir != "" {
		if dir, err = filepath.Abs(c.dir); err != nil {
			return nil, fmt.Errorf("find the data directory: %w", err)
		}
	}
	s := &stack{
		layout: layout{root: root, dir: dir}, keep: keep, controller: !c.withoutController, service: !c.withoutService, engines: c.engines,
		progress: newProgress(cmd.ErrOrStderr()), binaries: map[string]string{},
	}
	for name, binary := range map[string]string{processController: c.controllerBinary, processService: c.serviceBinary} {
		if binary == "" {
			continue
		}
		if s.binaries[name], err = filepath.Abs(binary); err != nil {
			return nil, fmt.Errorf("find the program of %s: %w", name, err)
		}
	}
	return s, nil
}

func (c *config) runCommand() *cobra.Command {
	var once bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Show a governed model until interrupted; everything ends with this command",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.stack(cmd, runDir, false)
			if err != nil {
				return err
			}
			return run(cmd.Context(), s, cmd.OutOrStdout(), once)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "end after the tables; with --engines, send the example requests before that")
	c.enginesFlag(cmd)
	return cmd
}

// run shows a fresh stack and ends it again.
func run(ctx context.Context, s *stack, out io.Writer, once bool) (err error) {
	unlock, err := s.layout.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if once && s.engines {
		if _, err := exec.LookPath("curl"); err != nil {
			return fmt.Errorf("send the example requests: install curl, or leave ONCE=1 out: %w", err)
		}
	}
	if err := s.layout.clear(); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, s.progress.step("Ending everything", s.undo))
	}()
	s.progress.total("Ready")
	if err := s.present(ctx, out); err != nil {
		return err
	}
	if once && s.engines {
		if err := s.sendExamples(ctx, out); err != nil {
			return err
		}
	}
	if once {
		fmt.Fprintln(out, "\nThis stack ends now. To try these, run it without ONCE=1, or leave one with \""+upTarget(s.engines)+"\".")
		return nil
	}
	fmt.Fprintln(out, "\nPress Ctrl-C to end everything.")
	return s.watch(ctx)
}

// present prints the tables and what to do next.
func (s *stack) present(ctx context.Context, out io.Writer) error {
	fmt.Fprintln(out)
	if err := s.show(ctx, out); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nKubeconfig: %s\n", s.env.Kubeconfig())
	if s.engines {
		if err := s.printExamples(out); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, `
Worth trying, after: . %s
  # what was declared, and what became of it
  "$KUBECTL" get maasmodelrefs,maasauthpolicies,maassubscriptions -A
  # take a subscription away: its limit disappears from the generated policy
  "$KUBECTL" -n models-as-a-service delete maassubscription platform-premium
  # delete what protects the model: it is back at once
  "$KUBECTL" -n llm delete authpolicy maas-auth-granite
`, s.relative(s.layout.envFile()))
	if s.visited == nil {
		return nil
	}
	fmt.Fprintf(out, `  # ask the model with the key made above, which lies in %s, readable by you alone
  curl -K "$MAAS_CURL" "$MAAS_MODEL_URL/v1/chat/completions" -H "Authorization: Bearer $(cat "$MAAS_KEY_FILE")" \
    -d '{"model": "'"$MAAS_MODEL"'", "messages": [{"role": "user", "content": "Hello"}]}'
  # revoke it, and ask again: %s
  curl -K "$MAAS_CURL" -X DELETE "$MAAS_URL/v1/api-keys/$MAAS_KEY_ID" -H "Authorization: Bearer $MAAS_TOKEN"
`, s.relative(s.layout.keyFile()), s.afterRevocation())
	return nil
}

// afterRevocation says what becomes of a request with a key that was used and is revoked.
func (s *stack) afterRevocation() string {
	if s.engines {
		return "403 within a minute: Authorino remembers answers for 60 s"
	}
	return "403"
}

// relative shortens a path below the checkout for display.
func (s *stack) relative(path string) string {
	if short, err := filepath.Rel(s.layout.root, path); err == nil && !strings.HasPrefix(short, "..") {
		return short
	}
	return path
}

// watch returns when the context ends, or with an error when a child does.
func (s *stack) watch(ctx context.Context) error {
	const interval = time.Second
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, p := range s.state.Processes {
			if !p.Alive() {
				return p.failure("ended on its own")
			}
		}
		if _, err := testenv.Attach(s.layout.controlPlane()); err != nil {
			return fmt.Errorf("a part of the control plane ended on its own, see the logs in %s: %w", s.layout.controlPlane(), err)
		}
	}
}
