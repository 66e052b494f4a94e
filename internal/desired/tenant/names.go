// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"maps"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// Ids of the templates.
const (
	ServiceAccountTemplate           render.ID = "tenant/serviceaccount-maas-api"
	ClusterRoleBindingTemplate       render.ID = "tenant/clusterrolebinding-maas-api"
	SubscriptionsRoleTemplate        render.ID = "tenant/role-maas-api-subscriptions"
	SubscriptionsRoleBindingTemplate render.ID = "tenant/rolebinding-maas-api-subscriptions"
	GatewayRoleTemplate              render.ID = "tenant/role-maas-api-gateway"
	GatewayRoleBindingTemplate       render.ID = "tenant/rolebinding-maas-api-gateway"
	DatabaseRoleTemplate             render.ID = "tenant/role-maas-api-database"
	DatabaseRoleBindingTemplate      render.ID = "tenant/rolebinding-maas-api-database"
	DeploymentTemplate               render.ID = "tenant/deployment-maas-api"
	ServiceTemplate                  render.ID = "tenant/service-maas-api"
	RouteTemplate                    render.ID = "tenant/httproute-maas-api-route"
	KeyCleanupTemplate               render.ID = "tenant/cronjob-maas-api-key-cleanup"
	CertificateTemplate              render.ID = "tenant/certificate-maas-api-serving-cert"
	BackendTLSTemplate               render.ID = "gateway/destinationrule-maas-api-backend-tls"
	TenantAdminRoleTemplate          render.ID = "tenant/role-tenant-admin"
	ObjectAdminRoleTemplate          render.ID = "tenant/role-object-admin"
	RevocationJobTemplate            render.ID = "tenant/job-maas-api-revoke-keys"
)

// The CustomResourceDefinitions of kinds that not every cluster serves.
const (
	RouteCRD           = "httproutes.gateway.networking.k8s.io"
	CertificateCRD     = "certificates.cert-manager.io"
	DestinationRuleCRD = "destinationrules.networking.istio.io"
)

// ClusterRole is the name of the ClusterRole that every tenant's maas-api is bound
// to. It is one of the shared objects.
const ClusterRole = "maas-api"

// servingCertAnnotation has OpenShift put a serving certificate for a Service into
// the Secret of that name.
const servingCertAnnotation = "service.beta.openshift.io/serving-cert-secret-name"

// serviceCA is the ConfigMap that OpenShift publishes in every namespace, with the
// authority of its serving certificates.
const (
	serviceCA    = "openshift-service-ca.crt"
	serviceCAKey = "service-ca.crt"
	// certificateCAKey is where cert-manager puts the authority of a certificate.
	certificateCAKey = "ca.crt"
)

// instanceLabels select the pods of one tenant's maas-api.
func instanceLabels(t tenancy.Context) map[string]string {
	return with(tenancy.PodLabels(v1alpha1.ComponentAPI), v1alpha1.LabelTenantInstance, t.MaaSAPI())
}

// deploymentSelector is the selector of a tenant's Deployment, which cannot be
// changed. Earlier releases gave all tenants the same one, which selects the pods of
// all tenants: the hash that each ReplicaSet adds keeps them apart. Deployments of
// theirs keep it, and so does the default tenant's for good.
func deploymentSelector(t tenancy.Context, live map[string]string) map[string]string {
	former := tenancy.PodLabels(v1alpha1.ComponentAPI)
	if t.ID == "" || maps.Equal(live, former) {
		return former
	}
	return instanceLabels(t)
}

// Labels are the labels of the objects of a tenant, without the component.
func Labels(t tenancy.Context, tenantNamespace string) map[string]string {
	labels := map[string]string{
		v1alpha1.LabelManagedBy:        v1alpha1.ManagedByValue,
		v1alpha1.LabelPartOf:           v1alpha1.PartOfMaaS,
		v1alpha1.LabelName:             v1alpha1.NameMaaSAPI,
		v1alpha1.LabelModelsAsAService: "true",
	}
	maps.Copy(labels, tenancy.Tracking(t.Name, tenantNamespace))
	return labels
}

func with(labels map[string]string, key, value string) map[string]string {
	out := maps.Clone(labels)
	out[key] = value
	return out
}
