// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenantstatus"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// controllerAlerts are about what the operator does. Metrics of controller-runtime are
// those of many operators, and are told apart by what the monitor adds; the lease by its
// name.
func controllerAlerts() []values.Alert {
	lease := fmt.Sprintf(`leader_election_master_status{name=%q}`, v1alpha1.LeaderElectionID)
	return []values.Alert{
		alert("MaaSControllerDown", critical("10m"), silent(`maas_limit_sets`),
			"Nobody sees metrics of maas-controller",
			"maas-controller does not run, or its metrics are not read: changes of models, subscriptions and policies have no effect. What the gateway enforces stays as it is."),
		alert("MaaSControllerNotLeading", critical("10m"), `max(`+lease+`) == 0`,
			"No maas-controller is the leader",
			"maas-controller runs and waits for the lease: changes of models, subscriptions and policies have no effect."),
		alert("MaaSReconcileErrors", warning("30m"), `sum by (controller) (increase(maas_reconcile_total{outcome="error"}[30m])) > 0`,
			"Reconciles of controller {{ $labels.controller }} keep failing",
			"Something that controller {{ $labels.controller }} looks after is not brought up to date, and is tried again each time."),
		alert("MaaSReconcileHangs", warning("10m"), `max by (name) (workqueue_longest_running_processor_seconds{maas_component="maas-controller"}) > 300`,
			"A reconcile of controller {{ $labels.name }} does not end",
			"A reconcile of controller {{ $labels.name }} has run for more than five minutes, although two should end it; what waits behind it has no effect."),
		alert("MaaSApplyFailures", warning("30m"), `sum by (kind) (increase(maas_apply_total{outcome="failed"}[30m])) > 0`,
			"The API server keeps refusing objects of kind {{ $labels.kind }}",
			"Generated objects of kind {{ $labels.kind }} are not as they should be."),
		alert("MaaSGeneratedObjectsContested", warning("30m"), `sum by (kind) (increase(maas_drift_repairs_total[30m])) > 30`,
			"Somebody keeps changing objects of kind {{ $labels.kind }} that maas-controller keeps",
			"Objects of kind {{ $labels.kind }} are written again more than once a minute: another program changes them each time, and in between its state holds."),
		alert("MaaSEntriesRefused", warning("30m"), `max by (kind, reason) (maas_refused_entries) > 0`,
			"Models named by objects of kind {{ $labels.kind }} are left out: {{ $labels.reason }}",
			"Objects of kind {{ $labels.kind }} name models for which they have no effect, for reason {{ $labels.reason }}; callers are refused until somebody acts."),
		alert("MaaSEnforcementSlow", info("30m"), `histogram_quantile(0.9, sum by (kind, le) (rate(maas_enforcement_delay_seconds_bucket[30m]))) > 120`,
			"Changes of objects of kind {{ $labels.kind }} take minutes until they are enforced",
			"More than a tenth of the changes of kind {{ $labels.kind }} took two minutes and more until the gateway enforced them."),
	}
}

// sizeAlerts are about bounds beyond which something is left out.
func sizeAlerts() []values.Alert {
	bytes := `max by (gateway_namespace, gateway_name) (maas_gateway_configuration_bytes)`
	share := func(of string, percent, bound int) string { return fmt.Sprintf(`%s >= %d`, of, bound/100*percent) }
	return []values.Alert{
		alert("MaaSGatewayConfigurationLarge", warning("15m"), share(bytes, 50, tenantstatus.MaxConfiguration),
			"Kuadrant's configuration of Gateway {{ $labels.gateway_namespace }}/{{ $labels.gateway_name }} has half the size that a cluster stores",
			"Beyond 1.5 MiB Kuadrant cannot change it any more, and still calls policies enforced: new models would be open to everybody."),
		alert("MaaSGatewayConfigurationFull", critical("5m"), share(bytes, 80, tenantstatus.MaxConfiguration),
			"Kuadrant's configuration of Gateway {{ $labels.gateway_namespace }}/{{ $labels.gateway_name }} is about to become too large",
			"Beyond 1.5 MiB Kuadrant cannot change it any more, and still calls policies enforced: new models would be open to everybody."),
		alert("MaaSLimitPredicateNearBound", warning("15m"), share(`max(maas_limit_predicate_largest_characters)`, 80, model.MaxPredicate),
			"A model has almost as many subscriptions of equal rates as fit into a limit",
			"Beyond the bound the newest subscriptions are left out, and their callers are refused."),
		alert("MaaSSubjectsNearBound", info("15m"), fmt.Sprintf(`max(maas_auth_policy_largest_subjects) >= %d`, model.MaxSubjects*8/10),
			"A model has almost as many users and groups as its AuthPolicy holds",
			"Beyond the bound access to the model is decided by maas-api alone, for each request that is not remembered."),
	}
}
