// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// Ids of the templates.
const (
	CollectorTemplate          render.ID = "usage/opentelemetrycollector-usage-logs"
	CollectorAuthorityTemplate render.ID = "usage/configmap-usage-logs-service-ca"
	CollectorIngressTemplate   render.ID = "usage/networkpolicy-usage-logs-collector-allow-gateway"
	CollectorEgressTemplate    render.ID = "usage/networkpolicy-usage-logs-collector-egress-restrict"
	CollectorRoleTemplate      render.ID = "usage/clusterrole-usage-collector-application-logs-write"
	CollectorBindingTemplate   render.ID = "usage/clusterrolebinding-usage-collector-application-logs-write"
	ProxyAccountTemplate       render.ID = "usage/serviceaccount-usage-tenancy-proxy"
	ProxyPodLogRoleTemplate    render.ID = "usage/clusterrole-usage-tenancy-proxy-pods-log-read"
	ProxyPodLogBindingTemplate render.ID = "usage/rolebinding-usage-tenancy-proxy-pods-log-read"
	ProxyLogsRoleTemplate      render.ID = "usage/clusterrole-usage-tenancy-proxy-application-logs-read"
	ProxyLogsBindingTemplate   render.ID = "usage/rolebinding-usage-tenancy-proxy-application-logs-read"
	ProxyReviewRoleTemplate    render.ID = "usage/clusterrole-usage-tenancy-proxy-tokenreview"
	ProxyReviewBindingTemplate render.ID = "usage/clusterrolebinding-usage-tenancy-proxy-tokenreview"
	ProxyDeploymentTemplate    render.ID = "usage/deployment-usage-logs-tenancy-proxy"
	ProxyServiceTemplate       render.ID = "usage/service-usage-logs-tenancy-proxy"
	ProxyAuthorityTemplate     render.ID = "usage/configmap-usage-logs-tenancy-proxy-ca-bundle"
	ProxyIngressTemplate       render.ID = "usage/networkpolicy-usage-tenancy-proxy-allow-perses"
	ProxyEgressTemplate        render.ID = "usage/networkpolicy-usage-tenancy-proxy-egress-restrict"
	AllDatasourceTemplate      render.ID = "usage/persesdatasource-usage-logs-all"
	PersonalDatasourceTemplate render.ID = "usage/persesdatasource-usage-logs-multi-tenancy"
	AllDashboardTemplate       render.ID = "usage/persesdashboard-dashboard-4-maas-usage-logs-admin"
	PersonalDashboardTemplate  render.ID = "usage/persesdashboard-dashboard-5-maas-usage-logs"
	AccessLogTemplate          render.ID = "gateway/envoyfilter-maas-model-access-logs"
)

// The CustomResourceDefinitions of kinds that not every cluster serves.
const (
	CollectorCRD   = "opentelemetrycollectors.opentelemetry.io"
	DatasourceCRD  = "persesdatasources.perses.dev"
	DashboardCRD   = "persesdashboards.perses.dev"
	EnvoyFilterCRD = "envoyfilters.networking.istio.io"
)

// Names of the objects. Those of what the collector's operator makes follow from the
// collector's, and those of the log store are an administrator's: see the documents.
const (
	collector        = "usage-logs"
	collectorRuntime = "usage-logs-collector" // Its Service, ServiceAccount and Pods.
	collectorPort    = 4317

	proxy         = "usage-logs-tenancy-proxy"
	proxyIdentity = "usage-tenancy-proxy"
	proxyPort     = 8443

	collectorAuthority = "usage-logs-service-ca"
	proxyAuthority     = "usage-logs-tenancy-proxy-ca-bundle"
	serviceCAKey       = "service-ca.crt"
	// gatewayAuthority is made by the operator of the log store.
	gatewayAuthority = "usage-gateway-ca-bundle"

	logStore        = "usage"
	logStoreGateway = "usage-gateway-http"
	logStorePort    = 8080
	logStorePath    = "/api/logs/v1/application"
	// platformLogStore is that of the platform's own logs. The proxy asks the other one,
	// unless an administrator has it run with another --upstream-url.
	platformLogStore = "data-science-lokistack"

	allDatasource      = "usage-logs-all"
	personalDatasource = "usage-logs-multi-tenancy"
	allDashboard       = "dashboard-4-maas-usage-logs-admin"
	personalDashboard  = "dashboard-5-maas-usage-logs"

	accessLog = "maas-model-access-logs"
)

// Annotations that OpenShift acts upon.
const (
	injectAuthority = "service.beta.openshift.io/inject-cabundle"
	servingCert     = "service.beta.openshift.io/serving-cert-secret-name"
)

// AccessLog is the name of the EnvoyFilter of a tenant's Gateway.
func AccessLog(t tenancy.Context) string {
	if t.ID == "" {
		return accessLog
	}
	return accessLog + "-" + t.ID
}
