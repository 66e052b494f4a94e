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
// Tokens are counted by model, and so are calls since the model is the one that is
// governed. In earlier releases it was read from the answer, which a call that is admitted
// or refused has not got yet: such calls get the model that has the most tokens of their
// route, which both have in limitador_namespace. A route where nobody got an answer has
// none, and must not be lost.
func (in Input) usage() render.Request {
	m := in.meta("dashboard-3-maas-usage-admin")
	number := func(key, title, unit, query string) values.UsagePanel {
		return values.UsagePanel{Key: key, Title: title, Unit: unit, Query: oneLine(query)}
	}
	authorized, limited := calls("authorized_calls"), calls("limited_calls")
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
// Pod, Kuadrant's and ours: it counts once, whether Prometheus reads it or a collector on
// the way, which has the labels of both under other names.
func grown(name, window string, matchers ...string) string {
	return fmt.Sprintf("max without (job, endpoint, service, container, exported_job, exported_endpoint, exported_service, exported_container, maas_component) (increase(%s[%s]))", counter(name, matchers...), window)
}

func tokens(window string) string { return grown("authorized_hits", window, callers, models) }

// named are calls whose model is told.
func named(name string) string { return grown(name, usageRange, callers, models, `model!=""`) }

// unnamed are the others, without those of routes that are known to serve other models only.
func unnamed(name string) string {
	const routes = "count by (limitador_namespace) (%s)"
	known := fmt.Sprintf(routes, grown("authorized_hits", usageRange))
	chosen := fmt.Sprintf(routes, grown("authorized_hits", usageRange, models))
	return fmt.Sprintf("(%s unless on (limitador_namespace) (%s unless on (limitador_namespace) %s))", grown(name, usageRange, callers, `model=""`), known, chosen)
}

// calls are both.
func calls(name string) string { return fmt.Sprintf("(%s or %s)", named(name), unnamed(name)) }

// byModel is a column of the table.
func byModel(name string) string {
	others := fmt.Sprintf("sum by (user, subscription, limitador_namespace) (%s)", unnamed(name))
	model := fmt.Sprintf("topk by (limitador_namespace) (1, sum by (limitador_namespace, model) (%s))", grown("authorized_hits", usageRange, models))
	return fmt.Sprintf("sum by (user, subscription, model) (%[1]s or %[2]s * on (limitador_namespace) group_left (model) (0 * %[3]s + 1) or %[2]s unless on (limitador_namespace) %[3]s)", named(name), others, model)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
