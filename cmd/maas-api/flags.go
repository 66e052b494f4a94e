// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/config"
)

// textFlag keeps what was given; package config reads it, so that a flag and an
// environment variable are judged by the same rule.
type textFlag struct {
	text string
	kind string
}

// Set takes the value.
func (f *textFlag) Set(text string) error {
	f.text = text
	return nil
}

// String returns the value.
func (f *textFlag) String() string { return f.text }

// Type is shown by the help text.
func (f *textFlag) Type() string { return f.kind }

// settings are the flags of one command.
type settings struct {
	groups []config.Group
	names  map[string]bool
}

// bind declares the flags of the groups, and a help text that shows them by group.
func bind(cmd *cobra.Command, groups []config.Group) settings {
	bound := settings{groups: groups, names: map[string]bool{}}
	sets := map[config.Group]*pflag.FlagSet{}
	for _, group := range groups {
		sets[group] = pflag.NewFlagSet(string(group), pflag.ContinueOnError)
	}
	for _, s := range config.Settings() {
		set := sets[s.Group]
		if set == nil {
			continue
		}
		flag := set.VarPF(&textFlag{text: s.Default, kind: s.Kind}, s.Flag, "", s.Usage+" [$"+s.Env+"]")
		if s.Boolean() {
			flag.NoOptDefVal = "true"
		}
		flag.Deprecated = s.Deprecated
		bound.names[s.Flag] = true
	}
	for _, group := range groups {
		cmd.Flags().AddFlagSet(sets[group])
	}
	cmd.SetUsageFunc(func(asked *cobra.Command) error {
		shown := groups
		if asked != cmd {
			shown = nil // It inherits this function, but not the settings.
		}
		asked.Print(helpText(asked, shown, sets))
		return nil
	})
	return bound
}

// helpText lists the sub-commands, and the flags by group.
func helpText(cmd *cobra.Command, groups []config.Group, sets map[config.Group]*pflag.FlagSet) string {
	var b strings.Builder
	b.WriteString("Usage:\n  " + cmd.UseLine() + "\n")
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				b.WriteString("  " + sub.Name() + strings.Repeat(" ", max(1, sub.NamePadding()-len(sub.Name()))) + sub.Short + "\n")
			}
		}
	}
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		for _, set := range sets {
			if set.Lookup(flag.Name) != nil {
				return
			}
		}
		own.AddFlag(flag)
	})
	b.WriteString("\nFlags:\n" + own.FlagUsages())
	for _, group := range groups {
		b.WriteString("\n" + string(group) + ":\n" + sets[group].FlagUsages())
	}
	return b.String()
}

// run reads the settings and runs the program with them.
func (s settings) run(cmd *cobra.Command, environment map[string]string, run program, in invocation) error {
	given := map[string]string{}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if s.names[flag.Name] {
			given[flag.Name] = flag.Value.String()
		}
	})
	loaded, err := config.Load(config.Input{Groups: s.groups, Flags: given, Environment: environment})
	if err != nil {
		return err
	}
	in.Result, in.Out = loaded, cmd.OutOrStdout()
	return run(cmd.Context(), in)
}
