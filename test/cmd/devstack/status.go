// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// statusCommand takes no lock: it may be asked while another command works.
func (c *config) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show which processes of up are running, and where they listen",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.stack(cmd, upDir, true)
			if err != nil {
				return err
			}
			if err := s.printStatus(cmd.Context(), cmd.OutOrStdout()); err != nil {
				return err
			}
			return c.mentionRun(s, cmd.OutOrStdout())
		},
	}
}

// statusRow is what is shown of one process; pid 0 says that it does not run.
type statusRow struct {
	name, state string
	pid         int
	address     string
	metrics     string
	log         string
}

func (s *stack) printStatus(ctx context.Context, out io.Writer) error {
	rows, err := s.controlPlaneStatus()
	if err != nil {
		return err
	}
	if s.state, err = s.layout.readState(); err != nil {
		return err
	}
	for _, name := range s.everyChild() {
		rows = append(rows, s.childStatus(ctx, name))
	}
	servers, err := s.serverStatus(ctx)
	if err != nil {
		return err
	}
	if err := renderStatus(out, append(rows, servers...), s.relative); err != nil {
		return err
	}
	return s.printTenants(ctx, out)
}

func renderStatus(out io.Writer, rows []statusRow, relative func(string) string) error {
	const padding = 2
	w := tabwriter.NewWriter(out, 0, 0, padding, ' ', 0)
	fmt.Fprintln(w, "PROCESS\tSTATE\tPID\tADDRESS\tMETRICS\tLOG")
	for _, r := range rows {
		if r.pid == 0 {
			fmt.Fprintf(w, "%s\tstopped\t-\t-\t-\t%s\n", r.name, relative(r.log))
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", r.name, r.state, r.pid, cmp.Or(r.address, "-"), cmp.Or(r.metrics, "-"), relative(r.log))
	}
	return w.Flush()
}

// serverStatus is one row for each program of maas-api, which runs in a Pod.
func (s *stack) serverStatus(ctx context.Context) ([]statusRow, error) {
	report, err := s.layout.readReport()
	if err != nil {
		return nil, err
	}
	if s.state.alive(processWorkload) == nil {
		report.Programs = nil
	}
	var rows []statusRow
	for _, p := range report.servers() {
		row := statusRow{name: p.deployment(), state: "running", pid: p.PID, log: p.Log}
		row.address, row.metrics = report.service(p.deployment()), "http://"+p.Ports[metricsPort]+"/metrics"
		switch {
		case !p.Running:
			row.pid = 0
		case !p.ready(ctx):
			row.state = "not ready"
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		rows = append(rows, statusRow{name: processService, log: filepath.Join(s.layout.pods(), "logs")})
	}
	return rows, nil
}

// printTenants adds what the API server says of tenants, if it runs.
func (s *stack) printTenants(ctx context.Context, out io.Writer) error {
	if err := s.attach(); err != nil {
		return nil //nolint:nilerr // Nobody is there to be asked.
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	w, err := readWorld(ctx, c)
	if err != nil {
		return err
	}
	fmt.Fprintln(out)
	return renderTenants(out, w.tenantReports())
}

func (s *stack) controlPlaneStatus() ([]statusRow, error) {
	all, err := testenv.Inspect(s.layout.controlPlane())
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return []statusRow{{name: "control plane", log: s.layout.controlPlane()}}, nil
	}
	rows := make([]statusRow, 0, len(all))
	for _, p := range all {
		row := statusRow{name: p.Name, state: "running", log: p.Log}
		if p.Running {
			row.pid = p.PID
		}
		if p.URL != "" {
			row.address, row.metrics = hostOf(p.URL), p.URL+"/metrics"
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (s *stack) childStatus(ctx context.Context, name string) statusRow {
	p := s.state.alive(name)
	if p == nil {
		row := statusRow{name: name, log: s.logFile(name)}
		if name == processModel {
			row.log = s.layout.modelLogs()
		}
		return row
	}
	row := statusRow{name: name, state: "running", pid: p.PID, address: p.Address, metrics: p.Metrics, log: p.Log}
	if p.Probe != "" && !p.ready(ctx) {
		row.state = "not ready"
	}
	return row
}
