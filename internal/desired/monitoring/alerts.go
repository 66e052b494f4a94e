// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"strings"

	"github.com/opendatahub-io/maas-operator/templates/values"
)

// Severities of alerts.
const (
	critical = "critical" // Callers are refused, or nothing limits them.
	warning  = "warning"  // It will come to that, or concerns some.
	info     = "info"     // Somebody may want to know.
)

// Guide is the page that has a section for each alert.
const Guide = "docs/operations/monitoring.md"

// alert makes an alert. Line breaks in the expression are for people.
func alert(name, severity, lasting, expr, summary, meaning string) values.Alert {
	return values.Alert{
		Name: name, Severity: severity, For: lasting, Expr: strings.Join(strings.Fields(expr), " "),
		Summary: summary, Description: fmt.Sprintf("%s What to do: %s, section %s.", meaning, Guide, name),
	}
}

// counter selects a counter of a program whose counters do not end in _total. An
// OpenTelemetry collector adds that ending, Prometheus itself does not.
func counter(name string, matchers ...string) string {
	return fmt.Sprintf(`{%s}`, strings.Join(append([]string{fmt.Sprintf(`__name__=~"%s(_total)?"`, name)}, matchers...), ","))
}
