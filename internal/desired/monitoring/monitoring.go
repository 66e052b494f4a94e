// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"maps"
	"slices"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// Ids of the templates.
const (
	LimitadorTemplate        render.ID = "observability/servicemonitor-limitador-metrics"
	AuthorinoTemplate        render.ID = "observability/servicemonitor-authorino-server-metrics"
	ControllerTemplate       render.ID = "observability/servicemonitor-maas-controller-metrics"
	MaaSAPITemplate          render.ID = "observability/podmonitor-maas-api"
	GatewayTemplate          render.ID = "observability/podmonitor-istio-gateway-metrics"
	ControllerAlertsTemplate render.ID = "observability/prometheusrule-maas-controller-alerts"
	MaaSAPIAlertsTemplate    render.ID = "observability/prometheusrule-maas-api-alerts"
	GatewayAlertsTemplate    render.ID = "observability/prometheusrule-maas-gateway-alerts"
	LimitadorAlertsTemplate  render.ID = "observability/prometheusrule-limitador-maas-alerts"
	AuthorinoAlertsTemplate  render.ID = "observability/prometheusrule-authorino-maas-authentication-alerts"
	MetadataAlertsTemplate   render.ID = "observability/prometheusrule-authorino-maas-metadata-evaluator-high-failure-rate"
	// StackAlertsTemplate is of all alerts where a MonitoringStack evaluates them.
	StackAlertsTemplate render.ID = "observability/prometheusrule-rhobs"
	UsageTemplate       render.ID = "observability/persesdashboard-dashboard-3-maas-usage-admin"
)

// Names of the CustomResourceDefinitions of the kinds.
const (
	ServiceMonitorCRD  = "servicemonitors.monitoring.coreos.com"
	PodMonitorCRD      = "podmonitors.monitoring.coreos.com"
	PrometheusRuleCRD  = "prometheusrules.monitoring.coreos.com"
	PersesDashboardCRD = "persesdashboards.perses.dev"
	// StackRuleCRD is that of the Cluster Observability Operator.
	StackRuleCRD = "prometheusrules.monitoring.rhobs"
)

const (
	// scrapeLabel has the collector of Open Data Hub and OpenShift AI read a monitor.
	scrapeLabel = "monitoring.opendatahub.io/scrape"
	// component is the value of the recommended label on all of these objects.
	component = "monitoring"

	warningInterval = "spec.limitadorScrapeInterval of the Config is no interval of 1ms or more: the metrics of the rate limiter are read every " + defaultInterval + "."
)

// Input is everything the objects depend on.
type Input struct {
	// Platform is [platform.OpenShift] or [platform.Kubernetes].
	Platform string
	// ControllerNamespace is where the operator runs, InfraNamespace where maas-api
	// does, GatewayNamespace where the Gateways are.
	ControllerNamespace, InfraNamespace, GatewayNamespace string
	// MonitoringNamespace is where the objects go; empty means that there are none.
	MonitoringNamespace string
	// AuthorinoNamespaces are those Authorino may run in; empty means the usual ones.
	AuthorinoNamespaces []string
	// Stacks holds when the cluster serves the rules of MonitoringStacks, which the
	// Cluster Observability Operator runs. The monitoring of Open Data Hub and OpenShift AI
	// is one, and takes no other rules; a Prometheus that takes the others does not hold
	// the series there.
	Stacks bool
	// LimitadorInterval is the Config's setting; empty means the default.
	LimitadorInterval string
}

// Output are the objects that are wanted.
type Output struct {
	// Requests are to be rendered and applied, where their kinds are served.
	Requests []render.Request
	// Warnings are sentences about settings that were left out. Each is constant.
	Warnings []string
}

// Build returns the objects of the installation. An error means that the input is
// broken, which no user can cause.
func Build(in Input) (Output, error) {
	if in.Platform != platform.OpenShift && in.Platform != platform.Kubernetes {
		return Output{}, fmt.Errorf("choose objects of monitoring: platform is %q, want %q or %q", in.Platform, platform.OpenShift, platform.Kubernetes)
	}
	if in.MonitoringNamespace == "" {
		return Output{}, nil
	}
	var out Output
	every, ok := interval(in.LimitadorInterval)
	if !ok {
		out.Warnings = append(out.Warnings, warningInterval)
	}
	out.Requests = slices.Concat(in.monitors(every), in.rules(), []render.Request{in.usage()})
	return out, nil
}

// monitors say where metrics are read.
func (in Input) monitors(limitadorInterval string) []render.Request {
	authorino := in.AuthorinoNamespaces
	if len(authorino) == 0 {
		authorino = platform.DefaultAuthorinoNamespaces()
	}
	authorino = slices.Compact(slices.Sorted(slices.Values(authorino)))
	monitor := func(id render.ID, name, interval string, selector map[string]string, namespaces ...string) render.Request {
		m := in.scraped(name)
		return request(id, m, values.Monitor{Meta: m, Namespaces: namespaces, Selector: selector, Interval: interval})
	}
	limitador := in.scraped("limitador-metrics")
	limitador.Labels["app"] = "limitador"
	return []render.Request{
		request(LimitadorTemplate, limitador, values.Monitor{Meta: limitador, Selector: map[string]string{"app": "limitador"}, Interval: limitadorInterval}),
		monitor(AuthorinoTemplate, "authorino-server-metrics", defaultInterval, nil, authorino...),
		monitor(MaaSAPITemplate, "maas-api", defaultInterval, tenancy.PodLabels(v1alpha1.ComponentAPI), in.InfraNamespace),
		monitor(GatewayTemplate, "istio-gateway-metrics", "15s", nil, in.GatewayNamespace),
		in.controller(),
	}
}

// controller is the monitor of the operator itself. On OpenShift the service CA issues
// the certificate, and puts its own into a ConfigMap of every namespace.
func (in Input) controller() render.Request {
	m := in.scraped("maas-controller-metrics")
	v := values.ControllerMonitor{
		Meta: m, Namespace: in.ControllerNamespace, Interval: defaultInterval,
		Selector:   map[string]string{v1alpha1.LabelName: v1alpha1.ControllerDeploymentName},
		ServerName: "maas-controller-metrics." + in.ControllerNamespace + ".svc",
	}
	if in.Platform == platform.OpenShift {
		v.Authority = []values.MonitorAuthority{{ConfigMap: "openshift-service-ca.crt", Key: "service-ca.crt"}}
	}
	return request(ControllerTemplate, m, v)
}

// rules are the alerts.
func (in Input) rules() []render.Request {
	rule := func(id render.ID, name, group string, alerts []values.Alert) render.Request {
		m := in.meta(name)
		if in.Stacks {
			id = StackAlertsTemplate
		}
		return request(id, m, values.AlertRules{Meta: m, Group: group, Alerts: alerts})
	}
	return []render.Request{
		rule(ControllerAlertsTemplate, "maas-controller-alerts", "maas-controller", slices.Concat(controllerAlerts(), sizeAlerts())),
		rule(MaaSAPIAlertsTemplate, "maas-api-alerts", "maas-api", slices.Concat(serviceAlerts(), databaseAlerts())),
		rule(GatewayAlertsTemplate, "maas-gateway-alerts", "maas-gateway", gatewayAlerts(in.GatewayNamespace)),
		rule(LimitadorAlertsTemplate, "limitador-maas-alerts", "limitador-maas", limitadorAlerts()),
		rule(AuthorinoAlertsTemplate, "authorino-maas-authentication-alerts", "authorino-maas-authentication", authenticationAlerts()),
		rule(MetadataAlertsTemplate, "authorino-maas-metadata-evaluator-high-failure-rate", "authorino-maas-metadata", metadataAlerts()),
	}
}

func request(id render.ID, m values.Meta, v any) render.Request {
	return render.Request{ID: id, Namespace: m.Namespace, Name: m.Name, Values: v}
}

// meta returns the metadata of an object. They belong to the installation.
func (in Input) meta(name string) values.Meta {
	labels := map[string]string{
		v1alpha1.LabelManagedBy:        v1alpha1.ManagedByValue,
		v1alpha1.LabelPartOf:           v1alpha1.PartOfMaaS,
		v1alpha1.LabelComponent:        component,
		v1alpha1.LabelModelsAsAService: "true",
	}
	maps.Copy(labels, tenancy.SharedTracking())
	return values.Meta{Name: name, Namespace: in.MonitoringNamespace, Labels: labels}
}

// scraped is meta for a monitor.
func (in Input) scraped(name string) values.Meta {
	m := in.meta(name)
	m.Labels[scrapeLabel] = "true"
	return m
}
