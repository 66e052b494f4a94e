// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"fmt"
	"strings"

	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// views are what people look at: everything, for those who may ask the log store
// themselves, and everybody's own through the proxy.
func (in Input) views() []render.Request {
	all, personal := in.meta(allDatasource), in.meta(personalDatasource)
	admin, own := in.meta(allDashboard), in.meta(personalDashboard)
	return []render.Request{
		request(AllDatasourceTemplate, all, values.UsageDatasource{
			Meta: all, Title: "Usage logs of everybody", URL: in.upstream(), Secret: allDatasource + "-secret",
			Authority: values.UsageCA{ConfigMap: gatewayAuthority, Key: serviceCAKey},
		}),
		request(PersonalDatasourceTemplate, personal, values.UsageDatasource{
			Meta: personal, Title: "Usage logs of your own", Secret: personalDatasource + "-secret",
			URL:       fmt.Sprintf("https://%s.%s.svc:%d", proxy, in.MonitoringNamespace, proxyPort),
			Authority: values.UsageCA{ConfigMap: proxyAuthority, Key: serviceCAKey},
		}),
		request(AllDashboardTemplate, admin, in.dashboard(admin, "All usage (logs)", allDatasource, "model", "subscription", attributeUser)),
		request(PersonalDashboardTemplate, own, in.dashboard(own, "Usage (logs)", personalDatasource, "model", "subscription")),
	}
}

// dashboard shows records. The variables are attributes of records, so that a stage
// behind the selector narrows them; the proxy puts its own before that.
func (in Input) dashboard(m values.Meta, title, datasource string, filters ...string) values.UsageLogsDashboard {
	var stages strings.Builder
	for _, filter := range filters {
		fmt.Fprintf(&stages, " | %s=~\"$%s\"", filter, filter)
	}
	records := fmt.Sprintf("{kubernetes_namespace_name=%q, service_name=%q}", in.MonitoringNamespace, serviceName) + stages.String()
	// Only Prometheus's plug-in of Perses knows the distance of two points: numbers are of
	// all the time shown, the last point has them, and curves have a window of their own.
	total := func(more string) string {
		return "sum(count_over_time(" + records + more + " [$__range]))"
	}
	perMinute := func(query string) string { return "sum by ($view_by) (rate(" + query + " [10m])) * 60" }
	const tokens = " | unwrap tokens_total"
	return values.UsageLogsDashboard{
		Meta: m, Title: title, Datasource: datasource, Filters: filters, Records: records,
		Totals: []values.UsageLogsPanel{
			{Key: "requests", Title: "Requests", Query: total("")},
			{Key: "tokens", Title: "Tokens", Query: "sum(sum_over_time(" + records + tokens + " [$__range]))"},
			{Key: "rate-limited", Title: "Rate limited", Query: total(` | response_type="rate_limit"`)},
			{Key: "errors", Title: "Errors", Query: total(` | response_type="error"`)},
		},
		OverTime: []values.UsageLogsPanel{
			{Key: "tokens-over-time", Title: "Tokens per minute", Query: perMinute(records + tokens)},
			{Key: "requests-over-time", Title: "Requests per minute", Query: perMinute(records)},
		},
	}
}
