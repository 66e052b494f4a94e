// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"

	"github.com/opendatahub-io/maas-operator/templates/values"
)

// callbacks are the routes the gateway asks for each request to a model.
const callbacks = `route=~"/internal/v1/api-keys/validate|/internal/v1/subscriptions/select"`

// serviceAlerts are about what maas-api answers. The labels maas_api, the name
// of a tenant's Deployment, and maas_pod are added by the monitor; tenant_name is the
// process's own.
func serviceAlerts() []values.Alert {
	requests := func(matchers string) string {
		return fmt.Sprintf(`sum by (tenant_name) (rate(maas_api_http_requests_total{%s}[5m]))`, matchers)
	}
	return []values.Alert{
		alert("MaaSAPIDown", critical("5m"), `max by (maas_api) (up{maas_api!=""}) == 0`,
			"No Pod of {{ $labels.maas_api }} answers",
			"No Pod of Deployment {{ $labels.maas_api }} answers Prometheus: when it does not run, the gateway refuses callers of the tenant's models that it does not remember."),
		alert("MaaSAPINotRead", critical("10m"), `absent(up{maas_api!=""}) and on () sum(maas_generated_objects) > 0`,
			"Nobody sees metrics of any maas-api",
			"There are governed models, and no maas-api is read: none runs, or Prometheus does not look where they run. No other alert about maas-api can fire."),
		alert("MaaSAPIErrors", warning("10m"), requests(`status=~"5.."`)+" / "+requests("")+" > 0.05",
			"maas-api of tenant {{ $labels.tenant_name }} fails",
			"More than 5 percent of the requests to maas-api of tenant {{ $labels.tenant_name }} end with a status of 500 and above."),
		alert("MaaSCallbackErrors", critical("5m"), requests(callbacks+`,status=~"5.."`)+" / "+requests(callbacks)+" > 0.01",
			"maas-api of tenant {{ $labels.tenant_name }} cannot answer the gateway",
			"More than 1 percent of the gateway's questions about callers of tenant {{ $labels.tenant_name }} fail, and the callers are refused."),
		alert("MaaSCallbackSlow", warning("10m"), fmt.Sprintf(
			`histogram_quantile(0.99, sum by (tenant_name, route, le) (rate(maas_api_http_request_duration_seconds_bucket{%s}[5m]))) > 0.1`, callbacks),
			"maas-api of tenant {{ $labels.tenant_name }} is slow to answer the gateway",
			"More than 1 percent of the answers on {{ $labels.route }} take longer than 100 ms; Kuadrant gives all of them together 200 ms, unless its operator was told otherwise, and then refuses the caller."),
		alert("MaaSAPIPanics", warning("0s"), `sum by (maas_api) (increase(maas_api_panics_total[15m])) > 0`,
			"A request to {{ $labels.maas_api }} met a fault of the program",
			"A request to {{ $labels.maas_api }} ended with 500 because of a mistake in maas-api."),
		alert("MaaSSnapshotStale", warning("5m"), `max by (maas_api, maas_pod) (maas_api_snapshot_age_seconds) > 120`,
			"{{ $labels.maas_pod }} does not see changes of the cluster",
			"{{ $labels.maas_pod }} of {{ $labels.maas_api }} cannot reach the API server: it decides by what it knew of models, subscriptions and policies."),
	}
}

// databaseAlerts are about maas-api and its database.
func databaseAlerts() []values.Alert {
	return []values.Alert{
		alert("MaaSDatabaseFailing", critical("5m"),
			`sum by (maas_api, outcome) (rate(maas_api_database_failures_total{outcome=~"timeout|broken"}[5m])) > 0`,
			"{{ $labels.maas_api }} does not reach its database",
			"Operations of {{ $labels.maas_api }} on the database fail: {{ $labels.outcome }}. Keys cannot be made or revoked; those known are good for half a minute more."),
		alert("MaaSDatabasePoolExhausted", warning("10m"),
			`sum by (maas_api) (rate(maas_api_database_pool_abandoned_waits_total[5m])) > 0`,
			"{{ $labels.maas_api }} waits for connections to its database in vain",
			"All connections of {{ $labels.maas_api }} are in use for longer than a request waits."),
		alert("MaaSKeyIndexStale", warning("1m"), `max by (maas_api, maas_pod) (maas_api_key_index_staleness_seconds) > 10`,
			"{{ $labels.maas_pod }} does not know the latest about API keys",
			"{{ $labels.maas_pod }} of {{ $labels.maas_api }} has not been told of new and revoked keys for more than ten seconds."),
		alert("MaaSKeyIndexUnavailable", critical("1m"), `max by (maas_api, maas_pod) (maas_api_key_index_state{state="unavailable"}) == 1`,
			"{{ $labels.maas_pod }} cannot tell whether an API key is good",
			"{{ $labels.maas_pod }} of {{ $labels.maas_api }} has gone without the database for so long that it trusts no key any more: callers with keys are refused."),
		alert("MaaSKeyIndexIncomplete", warning("15m"), `min by (maas_api) (maas_api_key_index_complete) == 0`,
			"{{ $labels.maas_api }} has more API keys than it may hold in memory",
			"Keys beyond the bound are looked up in the database one by one: {{ $labels.maas_api }} is slower, and they are refused at once without the database."),
		alert("MaaSKeyUsageLost", info("10m"), `sum by (maas_api) (rate(maas_api_key_usage_dropped_total[10m])) > 0`,
			"{{ $labels.maas_api }} does not note when keys were used last",
			"More uses of keys wait to be written than {{ $labels.maas_api }} keeps."),
	}
}
