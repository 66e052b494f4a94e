// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/opendatahub-io/maas-operator/internal/metrics"
)

// metricsPage documents the manager's own metrics.
func metricsPage(families []metrics.Family, labels []metrics.Label) []byte {
	p := newPage("Metrics of maas-controller", "the metrics in internal/metrics",
		"maas-controller serves these at `/metrics` of `--metrics-bind-address`, beside those of controller-runtime and of the",
		"Go runtime. How long reconciles take is in `controller_runtime_reconcile_time_seconds`, what waits for one in",
		"`workqueue_depth`.",
	)
	p.line("")
	p.table([]string{"Metric", "Type", "Labels", "Meaning"}, familyRows(families))
	p.heading(2, "Reading them")
	for _, note := range metricNotes() {
		p.line("* %s", note)
	}
	p.heading(2, "Labels")
	var rows [][]string
	for _, l := range labels {
		if len(l.Values) == 0 {
			rows = append(rows, []string{code(l.Name), l.Meaning})
		}
	}
	p.table([]string{"Label", "Meaning"}, rows)
	for _, l := range labels {
		if len(l.Values) > 0 {
			labelSection(p, l)
		}
	}
	return p.bytes()
}

func familyRows(families []metrics.Family) [][]string {
	rows := make([][]string, 0, len(families))
	for _, f := range families {
		rows = append(rows, []string{code(f.Name), string(f.Type), codes(f.Labels), text(f.Help)})
	}
	return rows
}

// labelSection lists the values of a label.
func labelSection(p *page, l metrics.Label) {
	title := code(l.Name)
	if l.Family != "" {
		title += " of " + code(l.Family)
	}
	p.heading(3, title)
	p.line("%s\n", l.Meaning)
	rows := make([][]string, 0, len(l.Values))
	for _, v := range l.Values {
		rows = append(rows, []string{code(v.Value), text(v.Meaning)})
	}
	p.table([]string{"Value", "Meaning"}, rows)
}

// metricNotes say what the help text of a metric has no room for.
func metricNotes() []string {
	return []string{
		"No metric has a label with the name of a model, a subscription or a user: their number would grow with the cluster, to\n  " +
			"thousands of series. Sums and the largest value tell that something is wrong; which object it is, its status and\n  " +
			"the events tell.",
		"Sizes are those of the objects as they are sent to the API server; the status that the policy engine adds is not counted.",
		"The metrics of generated objects and gateways cover the models whose policies were brought to their desired state since\n  " +
			"this process started, in the last state that was reached. A policy that is opted out of management does not count.",
		"`maas_gateway_*` tell how much a gateway's policy engine has to hold in one configuration; spread models over gateways of\n  " +
			"several tenants before it is too much.",
		"`maas_enforcement_delay_seconds` runs from the creation of the object, for its first generation, or from the moment a later\n  " +
			"generation was first seen, until its phase is `Active`. Creation times are whole seconds, so a delay can look up to one\n  " +
			"second longer than it was. What the object waited for counts, a model that did not exist yet too. Not\n  " +
			"measured are generations that gave way to the next one, and later generations that an earlier process had seen but not\n  " +
			"yet seen enforced.",
		"`maas_drift_repairs_total` counts a write of exactly the object that was in place before. What happened while no process\n  " +
			"ran is not counted: then it cannot be told from a change of the desired object.",
		"`maas_reconcile_total` with outcome `error` that keeps growing, or `maas_refused_entries` above zero, deserve an alert.",
	}
}
