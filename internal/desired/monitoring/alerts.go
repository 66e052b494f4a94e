// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"strings"

	"github.com/opendatahub-io/maas-operator/templates/values"
)

// Guide is the page that has a section for each alert.
const Guide = "docs/operations/monitoring.md"

// grade is how much an alert matters, once it has been so for a while.
type grade struct{ severity, lasting string }

// critical is for callers who are refused, or limited by nothing.
func critical(lasting string) grade { return grade{"critical", lasting} }

// warning is for what will come to that, or concerns some.
func warning(lasting string) grade { return grade{"warning", lasting} }

// info is for what somebody may want to know.
func info(lasting string) grade { return grade{"info", lasting} }

// alert makes an alert. Line breaks in the expression are for people.
func alert(name string, g grade, expr, summary, meaning string) values.Alert {
	return values.Alert{
		Name: name, Severity: g.severity, For: g.lasting, Expr: strings.Join(strings.Fields(expr), " "),
		Summary: summary, Description: fmt.Sprintf("%s What to do: %s, section %s.", meaning, Guide, name),
	}
}

// read holds where this Prometheus reads what our monitors name: silence means something
// there and nowhere else. Their own label says so, because a collector on the way puts its
// own job, pod and the like in the place of those that Prometheus gives.
const read = `count(up{maas_component!=""}) > 0`

// silent is an alert about series that are not there.
func silent(series string) string { return "absent(" + series + ") and on () " + read }

// counter selects a counter of a program whose counters do not end in _total. An
// OpenTelemetry collector adds that ending, Prometheus itself does not.
func counter(name string, matchers ...string) string {
	return fmt.Sprintf(`{%s}`, strings.Join(append([]string{fmt.Sprintf(`__name__=~"%s(_total)?"`, name)}, matchers...), ","))
}
