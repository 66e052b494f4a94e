// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

const (
	everyTenant     = "There is a MaasTenantConfig of a tenant, and it is not Removed."
	tenantGateway   = "The same, and the tenant's Gateway exists."
	tenantAdmins    = "There is an AITenant, and its namespace exists."
	tenantOnIstio   = "The same as for the Gateway's Role, and the cluster serves Istio's API."
	tenantRevoked   = "An AITenant is being deleted and its keys are not revoked yet. It is removed five minutes after it ended."
	tenantCertified = "There is a MaasTenantConfig of a tenant, the platform is Kubernetes, and the cluster serves cert-manager's API."
)

// tenantComponents are the objects of one tenant: its maas-api with the rights,
// certificate and route it needs, and the Roles of its administrators.
func tenantComponents() []Component {
	return slices.Concat(tenantRights(), tenantWorkload())
}

func tenantRights() []Component {
	role, binding := rbacv1.SchemeGroupVersion.WithKind("Role"), rbacv1.SchemeGroupVersion.WithKind("RoleBinding")
	account, all := corev1.SchemeGroupVersion.WithKind("ServiceAccount"), rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding")
	rights := func(id render.ID, kind schema.GroupVersionKind, v any, wanted string) Component {
		return row(stageRights, id, kind, v, wanted)
	}
	return []Component{
		rights(tenant.ServiceAccountTemplate, account, values.MaaSAPIServiceAccount{}, everyTenant),
		rights(tenant.ClusterRoleBindingTemplate, all, values.MaaSAPIBinding{}, everyTenant),
		rights(tenant.SubscriptionsRoleTemplate, role, values.MaaSAPIRole{}, everyTenant),
		rights(tenant.SubscriptionsRoleBindingTemplate, binding, values.MaaSAPIBinding{}, everyTenant),
		rights(tenant.DatabaseRoleTemplate, role, values.MaaSAPIRole{}, everyTenant),
		rights(tenant.DatabaseRoleBindingTemplate, binding, values.MaaSAPIBinding{}, everyTenant),
		rights(tenant.GatewayRoleTemplate, role, values.MaaSAPIGatewayRole{}, tenantGateway),
		rights(tenant.GatewayRoleBindingTemplate, binding, values.MaaSAPIBinding{}, tenantGateway),
		rights(tenant.TenantAdminRoleTemplate, role, values.TenantAdminRole{}, tenantAdmins),
		rights(tenant.ObjectAdminRoleTemplate, role, values.ObjectAdminRole{}, tenantAdmins),
	}
}

func tenantWorkload() []Component {
	kind := func(group, kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}
	}
	return []Component{
		row(stageRights, tenant.CertificateTemplate, kind("cert-manager.io", "Certificate"), values.MaaSAPICertificate{}, tenantCertified).optionally(tenant.CertificateCRD),
		row(stageNetwork, tenant.BackendTLSTemplate, kind("networking.istio.io", "DestinationRule"), values.MaaSAPIBackendTLS{}, tenantOnIstio).optionally(tenant.DestinationRuleCRD),
		row(stageNetwork, tenant.ServiceTemplate, kind(corev1.GroupName, "Service"), values.MaaSAPIService{}, everyTenant),
		row(stageWorkload, tenant.DeploymentTemplate, kind(appsv1.GroupName, "Deployment"), values.MaaSAPIDeployment{}, everyTenant),
		row(stageWorkload, tenant.KeyCleanupTemplate, kind(batchv1.GroupName, "CronJob"), values.MaaSAPIKeyCleanup{}, everyTenant),
		row(stageWorkload, tenant.RevocationJobTemplate, kind(batchv1.GroupName, "Job"), values.KeyRevocationJob{}, tenantRevoked),
		row(stageRoute, tenant.RouteTemplate, kind("gateway.networking.k8s.io", "HTTPRoute"), values.MaaSAPIRoute{}, everyTenant).requires(tenant.RouteCRD),
	}
}
