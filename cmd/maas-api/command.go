// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/config"
	"github.com/opendatahub-io/maas-operator/internal/version"
)

const longHelp = `maas-api serves one tenant: it makes and checks API keys, tells the gateway which
subscription a request belongs to, and lists models and subscriptions.

Each setting is a flag and an environment variable. The flag wins.`

// invocation is what a sub-command runs with.
type invocation struct {
	config.Result
	// Out takes results and logs.
	Out io.Writer
	// Tenant is the argument of --tenant.
	Tenant string
	// URL and CAFile say how cleanup reaches a running maas-api.
	URL, CAFile string
}

// program is what a sub-command does.
type program func(ctx context.Context, in invocation) error

// commands are the programs behind the sub-commands.
type commands struct {
	serve, migrate, cleanup, revoke program
}

// newCommand returns the command line, which writes to out: the library decides
// where completions go when they are added. Without a sub-command it serves.
func newCommand(run commands, environment map[string]string, out io.Writer) *cobra.Command {
	root := serveCommand(run.serve, environment)
	root.Use, root.Long = "maas-api", longHelp
	root.Version = version.Get().String()
	root.SilenceUsage, root.SilenceErrors = true, true
	root.AddCommand(
		serveCommand(run.serve, environment),
		migrateCommand(run.migrate, environment),
		cleanupCommand(run.cleanup, environment),
		revokeCommand(run.revoke, environment),
		&cobra.Command{
			Use: "version", Short: "Print the version", Args: cobra.NoArgs,
			Run: func(cmd *cobra.Command, _ []string) {
				fmt.Fprintln(cmd.OutOrStdout(), "maas-api version", version.Get().String())
			},
		},
	)
	root.SetOut(out)
	strict(root)
	return root
}

// strict has the commands that the library adds refuse what they do not know; by
// themselves they show a help text and succeed.
func strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				if found, rest, err := root.Find(args); err != nil || len(rest) > 0 {
					return fmt.Errorf("unknown command %q for %q", args[len(args)-max(len(rest), 1)], found.CommandPath())
				}
				return nil
			}
		}
	}
}

func serveCommand(run program, environment map[string]string) *cobra.Command {
	cmd := &cobra.Command{Use: "serve", Short: "Serve the API until a signal ends it", Args: cobra.NoArgs}
	settings := bind(cmd, config.AllGroups())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return settings.run(cmd, environment, run, invocation{})
	}
	return cmd
}

// jobGroups are the settings of sub-commands that work on the database and end.
func jobGroups() []config.Group {
	return []config.Group{config.GroupGeneral, config.GroupDatabase, config.GroupKeys}
}

func migrateCommand(run program, environment map[string]string) *cobra.Command {
	cmd := &cobra.Command{
		Use: "migrate", Short: "Bring the database to the version this program needs", Args: cobra.NoArgs,
		Long: "Bring the database to the version this program needs. It may run at any time and any number of times; serve does it too.",
	}
	settings := bind(cmd, jobGroups())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return settings.run(cmd, environment, run, invocation{})
	}
	return cmd
}

func cleanupCommand(run program, environment map[string]string) *cobra.Command {
	cmd := &cobra.Command{
		Use: "cleanup", Short: "Delete expired ephemeral keys, and keys whose retention is over", Args: cobra.NoArgs,
		Long: "Delete ephemeral keys of the tenant that expired more than 30 minutes ago, and keys of deleted tenants whose retention is over.\n\n" +
			"It works on the database; with --url it asks a running maas-api to do it, so that the job needs no access to the database.",
	}
	settings := bind(cmd, jobGroups())
	var in invocation
	cmd.Flags().StringVar(&in.URL, "url", "", "base URL of a running maas-api, for example https://maas-api.maas.svc:8443; default: work on the database")
	cmd.Flags().StringVar(&in.CAFile, "ca-file", "", "path of further certificate authorities in PEM that the certificate of --url may come from")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if in.CAFile != "" && in.URL == "" {
			return errors.New("--ca-file has no meaning without --url: add the URL of a maas-api, or drop the file")
		}
		return settings.run(cmd, environment, run, in)
	}
	return cmd
}

func revokeCommand(run program, environment map[string]string) *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke", Short: "Revoke all keys of a tenant that is being deleted", Args: cobra.NoArgs,
		Long: "Revoke all keys of a tenant that is being deleted, and let their rows be deleted when the retention is over.\n\n" +
			"It works on the database and needs no running maas-api. It may run any number of times.",
	}
	settings := bind(cmd, jobGroups())
	var in invocation
	cmd.Flags().StringVar(&in.Tenant, "tenant", "", "name of the tenant; it must be given, so that no default loses its keys")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if in.Tenant == "" {
			return errors.New("--tenant is missing: name the tenant whose keys to revoke")
		}
		return settings.run(cmd, environment, run, in)
	}
	return cmd
}
