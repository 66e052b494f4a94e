// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opendatahub-io/maas-operator/internal/desired/monitoring"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

const (
	monitored     = "There is a Config, its managementState is not Removed, the namespace of --monitoring-namespace exists, and the cluster serves the kind."
	unlessStacked = "There is a Config, its managementState is not Removed, the namespace of --monitoring-namespace exists, and the cluster serves the kind, but not that of the group monitoring.rhobs."
)

// observabilityComponents are what the platform's monitoring is told about the
// installation.
func observabilityComponents() []Component {
	operated := func(kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: kind}
	}
	optional := func(kind schema.GroupVersionKind, crd string, v any, ids ...render.ID) []Component {
		rows := make([]Component, 0, len(ids))
		for _, id := range ids {
			wanted := monitored
			if crd == monitoring.PrometheusRuleCRD {
				wanted = unlessStacked
			}
			rows = append(rows, row(stageWorkload, id, kind, v, wanted).optionally(crd))
		}
		return rows
	}
	services := optional(operated("ServiceMonitor"), monitoring.ServiceMonitorCRD, values.Monitor{}, monitoring.LimitadorTemplate, monitoring.AuthorinoTemplate)
	own := optional(operated("ServiceMonitor"), monitoring.ServiceMonitorCRD, values.ControllerMonitor{}, monitoring.ControllerTemplate)
	pods := optional(operated("PodMonitor"), monitoring.PodMonitorCRD, values.Monitor{}, monitoring.MaaSAPITemplate, monitoring.GatewayTemplate)
	rules := optional(operated("PrometheusRule"), monitoring.PrometheusRuleCRD, values.AlertRules{},
		monitoring.ControllerAlertsTemplate, monitoring.MaaSAPIAlertsTemplate, monitoring.GatewayAlertsTemplate,
		monitoring.LimitadorAlertsTemplate, monitoring.AuthorinoAlertsTemplate, monitoring.MetadataAlertsTemplate)
	stacks := optional(schema.GroupVersionKind{Group: "monitoring.rhobs", Version: "v1", Kind: "PrometheusRule"}, monitoring.StackRuleCRD,
		values.AlertRules{}, monitoring.StackAlertsTemplate)
	dashboards := optional(schema.GroupVersionKind{Group: "perses.dev", Version: "v1alpha1", Kind: "PersesDashboard"}, monitoring.PersesDashboardCRD,
		values.UsageDashboard{}, monitoring.UsageTemplate)
	return slices.Concat(services, own, pods, rules, stacks, dashboards)
}
