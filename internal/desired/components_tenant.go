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
	row := func(id render.ID, gvk schema.GroupVersionKind, v any, wanted string) Component {
		return Component{Entry: render.Entry{ID: id, Stage: stageRights, GVK: gvk, Values: v}, WantedWhen: wanted}
	}
	return []Component{
		row(tenant.ServiceAccountTemplate, corev1.SchemeGroupVersion.WithKind("ServiceAccount"), values.MaaSAPIServiceAccount{}, everyTenant),
		row(tenant.ClusterRoleBindingTemplate, rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"), values.MaaSAPIBinding{}, everyTenant),
		row(tenant.SubscriptionsRoleTemplate, role, values.MaaSAPIRole{}, everyTenant),
		row(tenant.SubscriptionsRoleBindingTemplate, binding, values.MaaSAPIBinding{}, everyTenant),
		row(tenant.DatabaseRoleTemplate, role, values.MaaSAPIRole{}, everyTenant),
		row(tenant.DatabaseRoleBindingTemplate, binding, values.MaaSAPIBinding{}, everyTenant),
		row(tenant.GatewayRoleTemplate, role, values.MaaSAPIGatewayRole{}, tenantGateway),
		row(tenant.GatewayRoleBindingTemplate, binding, values.MaaSAPIBinding{}, tenantGateway),
		row(tenant.TenantAdminRoleTemplate, role, values.TenantAdminRole{}, tenantAdmins),
		row(tenant.ObjectAdminRoleTemplate, role, values.ObjectAdminRole{}, tenantAdmins),
	}
}

func tenantWorkload() []Component {
	return []Component{
		{
			Entry: render.Entry{
				ID: tenant.CertificateTemplate, Stage: stageRights,
				GVK: schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}, Values: values.MaaSAPICertificate{},
			},
			WantedWhen: tenantCertified, Requires: tenant.CertificateCRD, Optional: true,
		},
		{
			Entry: render.Entry{
				ID: tenant.BackendTLSTemplate, Stage: stageNetwork,
				GVK: schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1", Kind: "DestinationRule"}, Values: values.MaaSAPIBackendTLS{},
			},
			WantedWhen: tenantOnIstio, Requires: tenant.DestinationRuleCRD, Optional: true,
		},
		{
			Entry: render.Entry{
				ID: tenant.ServiceTemplate, Stage: stageNetwork,
				GVK: corev1.SchemeGroupVersion.WithKind("Service"), Values: values.MaaSAPIService{},
			},
			WantedWhen: everyTenant,
		},
		{
			Entry: render.Entry{
				ID: tenant.DeploymentTemplate, Stage: stageWorkload,
				GVK: appsv1.SchemeGroupVersion.WithKind("Deployment"), Values: values.MaaSAPIDeployment{},
			},
			WantedWhen: everyTenant,
		},
		{
			Entry: render.Entry{
				ID: tenant.KeyCleanupTemplate, Stage: stageWorkload,
				GVK: batchv1.SchemeGroupVersion.WithKind("CronJob"), Values: values.MaaSAPIKeyCleanup{},
			},
			WantedWhen: everyTenant,
		},
		{
			Entry: render.Entry{
				ID: tenant.RevocationJobTemplate, Stage: stageWorkload,
				GVK: batchv1.SchemeGroupVersion.WithKind("Job"), Values: values.KeyRevocationJob{},
			},
			WantedWhen: tenantRevoked,
		},
		{
			Entry: render.Entry{
				ID: tenant.RouteTemplate, Stage: stageRoute,
				GVK: schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}, Values: values.MaaSAPIRoute{},
			},
			WantedWhen: everyTenant, Requires: tenant.RouteCRD,
		},
	}
}
