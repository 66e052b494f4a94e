// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opendatahub-io/maas-operator/test/bench"
)

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "bench",
		Short: "What the operator and maas-api cost, measured on this machine",
		Long: `bench runs maas-controller on a control plane of this machine and counts what it
does: API calls by the server's audit log, memory of the process, and times beside
those of a plain client doing the same writes in the same run. It runs maas-api
beside a database and asks it as a gateway does: times and processor time stand
beside those of a request that the same route refuses at once.

Exit status: 0 done, 1 could not be done, 3 done but a bound did not hold.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(runCommand(), compareCommand())
	return root
}

func runCommand() *cobra.Command {
	o := bench.DefaultOptions()
	var out string
	cmd := &cobra.Command{
		Use:   "run [SCENARIO...]",
		Short: "Measure, print a table and, with --out, store the figures",
		Long: fmt.Sprintf(`run measures the scenarios named, or all of them: %s.
Progress goes to standard error, the table to standard output.`, strings.Join(bench.Scenarios(), ", ")),
		Example: `  # all scenarios at full size, twenty to thirty minutes on two cores
  bench run --out after.json
  # a quick look at one
  bench run burst --repeat 1`,
		ValidArgs: bench.Scenarios(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Scenarios = args
			}
			report, err := bench.Run(cmd.Context(), o, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if out != "" {
				if err := report.Write(out); err != nil {
					return err
				}
			}
			if err := report.Print(cmd.OutOrStdout()); err != nil {
				return err
			}
			if broken := report.Broken(); len(broken) > 0 {
				return fmt.Errorf("%w:\n  %s", errBroken, strings.Join(broken, "\n  "))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "out", "o", "", "file to store the figures in, for compare")
	f.StringVar(&o.Binary, "binary", o.Binary, "program to measure instead of building it from this checkout")
	f.IntVar(&o.Burst, "burst", o.Burst, "subscriptions created at once in scenario burst")
	f.IntVar(&o.Wide, "wide", o.Wide, "subscriptions on the one model of scenario wide")
	f.IntVar(&o.Models, "models", o.Models, "models of scenario many")
	f.IntVar(&o.PerModel, "per-model", o.PerModel, "subscriptions of each model of scenario many")
	f.IntVar(&o.Repeat, "repeat", o.Repeat, "how often scenarios burst and requests are measured")
	f.IntVar(&o.Writers, "writers", o.Writers, "objects created at the same time")
	f.DurationVar(&o.Idle, "idle", o.Idle, "how long to watch the operator at rest")
	f.StringVar(&o.ServiceBinary, "service-binary", o.ServiceBinary, "program of maas-api to measure instead of building it from this checkout")
	f.IntVar(&o.Service.Keys, "keys", o.Service.Keys, "keys stored in scenario requests")
	f.IntVar(&o.Service.Stored, "stored", o.Service.Stored, "keys stored in scenario stored")
	f.IntVar(&o.Service.InUse, "in-use", o.Service.InUse, "keys that are asked about in both")
	f.IntSliceVar(&o.Service.Subscriptions, "subscriptions", o.Service.Subscriptions, "numbers of subscriptions in scenario requests")
	f.IntSliceVar(&o.Service.Clients, "clients", o.Service.Clients, "numbers of clients in scenario requests")
	f.IntVar(&o.Service.Rate, "rate", o.Service.Rate, "requests of models in a second in scenario stored")
	f.DurationVar(&o.Service.Measure, "measure", o.Service.Measure, "how long each measurement of scenario requests takes")
	f.StringVar(&o.Profiles, "profiles", o.Profiles, "directory for CPU and heap profiles of the operator; taking them costs time")
	return cmd
}

func compareCommand() *cobra.Command {
	var most float64
	cmd := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Print the ratios between two stored measurements",
		Long: `compare prints the medians of two measurements and their ratio; below 1 is better.
Counts of calls compare across machines. Times and memory compare only between
runs on the same machine under the same load; prefer "until Active / floor".`,
		Example: `  git switch main && make bench BENCH_OUT=before.json
  git switch topic && make bench BENCH_OUT=after.json
  bin/bench compare before.json after.json --fail-above 1.2`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			before, err := bench.Read(args[0])
			if err != nil {
				return err
			}
			after, err := bench.Read(args[1])
			if err != nil {
				return err
			}
			changes := bench.Compare(before, after)
			if len(changes) == 0 {
				return fmt.Errorf("%s and %s have no scenario in common", args[0], args[1])
			}
			if err := bench.PrintComparison(cmd.OutOrStdout(), before, after, changes); err != nil {
				return err
			}
			return tooMuch(changes, most)
		},
	}
	cmd.Flags().Float64Var(&most, "fail-above", 0, "end with status 3 when a count of calls grew by more than this ratio; 0 never does")
	return cmd
}

// tooMuch is about counts of calls only: they do not depend on the machine.
func tooMuch(changes []bench.Change, ratio float64) error {
	if ratio <= 0 {
		return nil
	}
	var lines []string
	for _, c := range bench.Worse(changes, ratio) {
		if c.Unit == bench.Count {
			lines = append(lines, fmt.Sprintf("%s: %s", c.Scenario, c.Measure))
		}
	}
	if len(lines) > 0 {
		return fmt.Errorf("%w, grown by more than %g:\n  %s", errBroken, ratio, strings.Join(lines, "\n  "))
	}
	return nil
}
