// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package values

// Monitor feeds the monitors that tell Prometheus where metrics are read without a
// certificate: observability/servicemonitor-limitador-metrics,
// observability/servicemonitor-authorino-server-metrics,
// observability/podmonitor-istio-gateway-metrics and observability/podmonitor-maas-api.
// The port and the path are those of the program, and stand in the templates.
type Monitor struct {
	// Meta is the monitor's metadata.
	Meta Meta
	// Namespaces are those that Services or Pods are looked for in. Empty means all.
	Namespaces []string
	// Selector are the labels of the Services or Pods, where they are told by those.
	Selector map[string]string
	// Interval is how often Prometheus reads, as a duration of Prometheus.
	Interval string
}

// ControllerMonitor feeds observability/servicemonitor-maas-controller-metrics: the
// operator tells its metrics over TLS, and only to those who may read them.
type ControllerMonitor struct {
	// Meta is the monitor's metadata.
	Meta Meta
	// Namespace is that of the operator's Service.
	Namespace string
	// Selector are the labels of the Service.
	Selector map[string]string
	// Interval is how often Prometheus reads, as a duration of Prometheus.
	Interval string
	// ServerName is the name in the operator's certificate.
	ServerName string
	// Authority holds one element where a ConfigMap has the certificate that the
	// operator's was issued with. Without one the certificate is not checked.
	Authority []MonitorAuthority
}

// MonitorAuthority is a certificate in a ConfigMap of the monitor's namespace.
type MonitorAuthority struct {
	// ConfigMap is its name.
	ConfigMap string
	// Key is the key that holds the certificate.
	Key string
}

// AlertRules feeds the PrometheusRules, observability/prometheusrule-*: alerts for those
// who run the installation.
type AlertRules struct {
	// Meta is the rules' metadata.
	Meta Meta
	// Group is the name of the group they are in.
	Group string
	// Alerts are the rules. There is at least one.
	Alerts []Alert
}

// Alert is one alerting rule.
type Alert struct {
	// Name is the alert's.
	Name string
	// Expr is the PromQL expression that yields what is wrong.
	Expr string
	// For is how long that has to last, as a duration of Prometheus.
	For string
	// Severity is critical, warning or info.
	Severity string
	// Summary says in one line what is wrong.
	Summary string
	// Description says what that means, and where it is read what to do.
	Description string
}

// UsageDashboard feeds observability/persesdashboard-dashboard-3-maas-usage-admin: who
// used which models how much. The queries contain variables of the dashboard.
type UsageDashboard struct {
	// Meta is the dashboard's metadata.
	Meta Meta
	// Datasource is the PersesDatasource that is asked.
	Datasource string
	// Variables are the labels whose values are chosen from.
	Variables []string
	// Series selects the series that have the values of the variables as labels.
	Series string
	// Totals are the numbers at the top, from left to right.
	Totals []UsagePanel
	// TokensOverTime is the query of the chart: tokens by the variable view_by.
	TokensOverTime string
	// Step is the distance of two points of the chart, as a duration of Prometheus.
	Step string
	// Table are the columns of the table behind user, subscription and model.
	Table []UsagePanel
}

// UsagePanel is one number, or one column of numbers.
type UsagePanel struct {
	// Key is the name of the panel in the dashboard, or the name that Perses gives the
	// column.
	Key string
	// Title is what people read.
	Title string
	// Query is the PromQL expression.
	Query string
	// Unit is a unit of Perses: decimal or percent-decimal.
	Unit string
}
