// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"strings"

	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

const (
	usageDatasource = "data-science-prometheus-datasource"
	usageStep       = "2h"
	usageRange      = "$__range"

	// callers and models are those chosen in the dashboard. Whoever chose nothing gets
	// series without the label too: which labels there are is up to each tenant.
	callers = `user=~"$user",subscription=~"$subscription"`
	models  = `model=~"$model"`
)

// usage is the dashboard of who used what.
//
// Tokens are counted by model. Calls are not: when a call is admitted or refused the
// answer that names the model is not there yet. What has both is the route, in
// limitador_namespace, so calls get the model that has the most tokens of their route.
// A route where nobody got an answer has none, and must not be lost.
func (in Input) usage() render.Request {
	m := in.meta("dashboard-3-maas-usage-admin")
	number := func(key, title, unit, query string) values.UsagePanel {
		return values.UsagePanel{Key: key, Title: title, Unit: unit, Query: oneLine(query)}
	}
	authorized, limited := ofModels(grown("authorized_calls", usageRange, callers)), ofModels(grown("limited_calls", usageRange, callers))
	requests := fmt.Sprintf("(sum(%s) or vector(0)) + (sum(%s) or vector(0))", authorized, limited)
	return request(UsageTemplate, m, values.UsageDashboard{
		Meta: m, Datasource: usageDatasource, Variables: []string{"user", "subscription", "model"}, Series: counter("authorized_hits"), Step: usageStep,
		Totals: []values.UsagePanel{
			number("total-tokens", "Total tokens", "decimal", "sum("+tokens(usageRange)+")"),
			number("total-requests", "Total requests", "decimal", requests),
			number("total-rate-limited", "Total rate limited", "decimal", "sum("+limited+") or vector(0)"),
			number("success-rate", "Success rate", "percent-decimal", "(sum("+authorized+") or vector(0)) / ("+requests+" > 0)"),
			number("active-users", "Active users", "decimal", "count(count by (user) ("+authorized+" > 0)) or vector(0)"),
		},
		TokensOverTime: "sum by ($view_by) (" + tokens(usageStep) + ")",
		Table: []values.UsagePanel{
			number("value #1", "Tokens", "decimal", "sum by (user, subscription, model) ("+tokens(usageRange)+")"),
			number("value #2", "Requests", "decimal", byModel("authorized_calls")),
			number("value #3", "Rate limited", "decimal", byModel("limited_calls")),
		},
	})
}

// grown is by how much a counter grew, per Pod of Limitador. Two monitors may read one
// Pod, Kuadrant's and ours: it counts once.
func grown(name, window string, matchers ...string) string {
	return fmt.Sprintf("max without (job, endpoint, service, container) (increase(%s[%s]))", counter(name, matchers...), window)
}

func tokens(window string) string { return grown("authorized_hits", window, callers, models) }

// ofModels leaves out calls of routes that are known to serve other models only.
func ofModels(calls string) string {
	const routes = "count by (limitador_namespace) (%s)"
	known := fmt.Sprintf(routes, grown("authorized_hits", usageRange))
	chosen := fmt.Sprintf(routes, grown("authorized_hits", usageRange, models))
	return fmt.Sprintf("(%s unless on (limitador_namespace) (%s unless on (limitador_namespace) %s))", calls, known, chosen)
}

// byModel is a column of the table.
func byModel(name string) string {
	calls := fmt.Sprintf("sum by (user, subscription, limitador_namespace) (%s)", ofModels(grown(name, usageRange, callers)))
	model := fmt.Sprintf("topk by (limitador_namespace) (1, sum by (limitador_namespace, model) (%s))", grown("authorized_hits", usageRange, models))
	return fmt.Sprintf("sum by (user, subscription, model) (%[1]s * on (limitador_namespace) group_left (model) (0 * %[2]s + 1) or %[1]s unless on (limitador_namespace) %[2]s)", calls, model)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
