// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"

	"github.com/opendatahub-io/maas-operator/templates/values"
)

// traffic is the least number of calls per second about which a share says anything.
const traffic = "0.001"

// gatewayAlerts are about what callers get from the Gateways.
func gatewayAlerts(namespace string) []values.Alert {
	requests := func(more string) string {
		return fmt.Sprintf(`sum by (source_workload) (rate(istio_requests_total{reporter="source",source_workload_namespace=%q%s}[5m]))`, namespace, more)
	}
	return []values.Alert{
		alert("MaaSGatewayErrors", warning("10m"), requests(`,response_code=~"5.."`)+" / ("+requests("")+" > "+traffic+") > 0.05",
			"Gateway {{ $labels.source_workload }} answers with errors",
			"More than 5 percent of the requests through {{ $labels.source_workload }} end with a status of 500 and above."),
	}
}

// limitadorAlerts are about what counts tokens and limits callers.
func limitadorAlerts() []values.Alert {
	calls := func(name, window string) string {
		return fmt.Sprintf(`sum by (limitador_namespace) (rate(%s[%s]))`, counter(name), window)
	}
	authorized, limited := calls("authorized_calls", "5m"), calls("limited_calls", "5m")
	return []values.Alert{
		alert("MaaSLimitadorDown", critical("10m"), silent(`limitador_up == 1`),
			"Nobody sees metrics of Limitador",
			"Limitador does not run, or its metrics are not read: callers may be refused or may not be limited, and usage is not recorded."),
		alert("MaaSLimitadorStoreUnreachable", critical("5m"), `max(datastore_partitioned) == 1`,
			"Limitador does not reach its store",
			"Limitador counts on its own: each of its Pods admits as much as all of them should."),
		alert("MaaSTokenCountersMissing", info("30m"),
			"("+calls("authorized_calls", "15m")+" > "+traffic+") unless on (limitador_namespace) ("+calls("authorized_hits", "15m")+" > 0)",
			"Calls on route {{ $labels.limitador_namespace }} are counted, and their tokens are not",
			"Callers of route {{ $labels.limitador_namespace }} are admitted and no tokens are taken from their quota: nothing limits them."),
		alert("MaaSRejectionsHigh", info("15m"),
			"("+limited+" / ("+limited+" + ("+authorized+" or 0 * "+limited+"))) > 0.5 and "+limited+" > 0.01",
			"More than half of the calls on route {{ $labels.limitador_namespace }} are over a limit",
			"Callers of route {{ $labels.limitador_namespace }} get 429 more often than an answer."),
	}
}

// authenticationAlerts are about what Authorino decides.
func authenticationAlerts() []values.Alert {
	status := func(matchers ...string) string {
		return fmt.Sprintf(`sum(rate(%s[5m]))`, counter("auth_server_authconfig_response_status", matchers...))
	}
	return []values.Alert{
		alert("MaaSAuthorinoAuthenticationHighFailureRate", warning("5m"), status(`status="UNAUTHENTICATED"`)+" / ("+status()+" > "+traffic+") > 0.1",
			"More than a tenth of the callers are not who they say",
			"Authorino answers more than 10 percent of the requests with UNAUTHENTICATED: keys or tokens are wrong or ended, or cannot be checked."),
		// The largest bucket of this histogram is 0.951 s: no quantile is ever larger.
		alert("MaaSAuthorinoAuthenticationHighLatency", warning("5m"),
			`histogram_quantile(0.95, sum by (le) (rate(auth_server_authconfig_duration_seconds_bucket[5m]))) > 0.15`,
			"Authorino takes long to decide",
			"More than 5 percent of the decisions take 150 ms and longer; Kuadrant gives Authorino 200 ms, unless its operator was told otherwise, and then refuses the caller."),
	}
}

// metadataAlerts are about the calls of maas-api by Authorino. It counts a call as
// denied when it failed, and as cancelled when there was no time left to begin it.
func metadataAlerts() []values.Alert {
	const those = `evaluator_type="METADATA_GENERIC_HTTP",evaluator_name=~"apiKeyValidation|subscription-info"`
	rate := func(selector string) string { return fmt.Sprintf(`sum by (evaluator_name) (rate(%s[5m]))`, selector) }
	total := rate("auth_server_evaluator_total{" + those + "}")
	of := func(name string) string { return "(" + rate(counter(name, those)) + " or 0 * " + total + ")" }
	return []values.Alert{
		alert("MaaSAuthorinoMetadataEvaluatorHighFailureRate", warning("5m"),
			"("+of("auth_server_evaluator_cancelled")+" + "+of("auth_server_evaluator_denied")+") / ("+total+" > "+traffic+") > 0.1",
			"Authorino cannot ask maas-api: {{ $labels.evaluator_name }}",
			"More than 10 percent of the questions {{ $labels.evaluator_name }} of Authorino to maas-api fail or come too late, and their callers are refused."),
	}
}
