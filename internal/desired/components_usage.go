// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opendatahub-io/maas-operator/internal/desired/usage"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

const (
	usageLogged          = "The Config's usageLogging is true, its managementState is not Removed, and the namespace of --monitoring-namespace exists."
	usageLoggedOpenShift = "The same, and the platform is OpenShift."
	usageCollected       = "The same, and the cluster serves OpenTelemetryCollectors."
	usageRecorded        = "The tenant's Gateway exists, and the Config's usageLogging is true."
)

// usageComponents are the objects of usage logging: those of the whole installation,
// and the EnvoyFilter of each tenant's Gateway.
func usageComponents() []Component {
	role, clusterBinding, binding := rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"), rbacv1.SchemeGroupVersion.WithKind("RoleBinding")
	config, policy := corev1.SchemeGroupVersion.WithKind("ConfigMap"), networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy")
	collector := schema.GroupVersionKind{Group: "opentelemetry.io", Version: "v1beta1", Kind: "OpenTelemetryCollector"}
	datasource := schema.GroupVersionKind{Group: "perses.dev", Version: "v1alpha1", Kind: "PersesDatasource"}
	dashboard := schema.GroupVersionKind{Group: "perses.dev", Version: "v1alpha1", Kind: "PersesDashboard"}
	filter := schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1alpha3", Kind: "EnvoyFilter"}
	return []Component{
		row(stageRights, usage.CollectorRoleTemplate, role, values.UsageRole{}, usageLogged),
		row(stageRights, usage.CollectorBindingTemplate, clusterBinding, values.UsageBinding{}, usageCollected),
		row(stageRights, usage.ProxyAccountTemplate, corev1.SchemeGroupVersion.WithKind("ServiceAccount"), values.UsageServiceAccount{}, usageLogged),
		row(stageRights, usage.ProxyPodLogRoleTemplate, role, values.UsageRole{}, usageLogged),
		row(stageRights, usage.ProxyPodLogBindingTemplate, binding, values.UsageBinding{}, usageLogged),
		row(stageRights, usage.ProxyLogsRoleTemplate, role, values.UsageRole{}, usageLogged),
		row(stageRights, usage.ProxyLogsBindingTemplate, binding, values.UsageBinding{}, usageLogged),
		row(stageRights, usage.ProxyReviewRoleTemplate, role, values.UsageReviewRole{}, usageLogged),
		row(stageRights, usage.ProxyReviewBindingTemplate, clusterBinding, values.UsageBinding{}, usageLogged),
		row(stageRights, usage.CollectorAuthorityTemplate, config, values.UsageAuthority{}, usageLoggedOpenShift),
		row(stageRights, usage.ProxyAuthorityTemplate, config, values.UsageAuthority{}, usageLoggedOpenShift),
		row(stageNetwork, usage.CollectorIngressTemplate, policy, values.UsageIngress{}, usageLogged),
		row(stageNetwork, usage.CollectorEgressTemplate, policy, values.UsageEgress{}, usageLogged),
		row(stageNetwork, usage.ProxyIngressTemplate, policy, values.UsageIngress{}, usageLogged),
		row(stageNetwork, usage.ProxyEgressTemplate, policy, values.UsageEgress{}, usageLogged),
		row(stageWorkload, usage.CollectorTemplate, collector, values.UsageCollector{}, usageLogged).optionally(usage.CollectorCRD),
		row(stageWorkload, usage.ProxyDeploymentTemplate, appsv1.SchemeGroupVersion.WithKind("Deployment"), values.UsageProxyDeployment{}, usageLogged),
		row(stageWorkload, usage.ProxyServiceTemplate, corev1.SchemeGroupVersion.WithKind("Service"), values.UsageProxyService{}, usageLogged),
		row(stageWorkload, usage.AllDatasourceTemplate, datasource, values.UsageDatasource{}, usageLogged).optionally(usage.DatasourceCRD),
		row(stageWorkload, usage.PersonalDatasourceTemplate, datasource, values.UsageDatasource{}, usageLogged).optionally(usage.DatasourceCRD),
		row(stageWorkload, usage.AllDashboardTemplate, dashboard, values.UsageLogsDashboard{}, usageLogged).optionally(usage.DashboardCRD),
		row(stageWorkload, usage.PersonalDashboardTemplate, dashboard, values.UsageLogsDashboard{}, usageLogged).optionally(usage.DashboardCRD),
		row(stageTelemetry, usage.AccessLogTemplate, filter, values.UsageAccessLog{}, usageRecorded).optionally(usage.EnvoyFilterCRD),
	}
}
