// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/opening"
	"github.com/opendatahub-io/maas-operator/internal/desired/publicpath"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

func (b builder) deployment() (render.Request, []Warning) {
	t := b.Tenant
	meta := b.meta(b.Settings.InfraNamespace, t.MaaSAPI())
	count, warnings := replicas(b.Config)
	v := values.MaaSAPIDeployment{
		Meta: meta, Replicas: count,
		Selector: deploymentSelector(t, b.Selector), PodLabels: instanceLabels(t),
		ServiceAccount: t.MaaSAPI(), RunAsUser: b.Settings.runAsUser(),
		Tenant: values.MaaSAPITenant{
			Name: t.Name, UID: string(b.TenantUID), Namespace: b.Config.Namespace,
			GatewayName: t.Gateway.Name, GatewayNamespace: t.Gateway.Namespace,
		},
		APIKeys: keyDays(b.Config.Spec.APIKeys), Resources: apiResources(),
		ServingCertificate: t.MaaSAPIServingCert(), Authority: b.Settings.authority(t.MaaSAPIServingCert()),
	}
	if b.DatabaseSecretVersion != "" {
		v.PodAnnotations = map[string]string{v1alpha1.AnnotationDatabaseSecretVersion: b.DatabaseSecretVersion}
	}
	return request(DeploymentTemplate, meta, v), warnings
}

func (b builder) service() render.Request {
	meta := b.meta(b.Settings.InfraNamespace, b.Tenant.MaaSAPIService())
	if b.Settings.Platform == OpenShift {
		meta.Annotations = map[string]string{servingCertAnnotation: b.Tenant.MaaSAPIServingCert()}
	}
	return request(ServiceTemplate, meta, values.MaaSAPIService{Meta: meta, Selector: instanceLabels(b.Tenant), Port: tenancy.MaaSAPIPort})
}

func (b builder) route() render.Request {
	meta := b.meta(b.Settings.InfraNamespace, b.Tenant.MaaSAPIRoute())
	meta.Annotations = map[string]string{v1alpha1.AnnotationOpenedRoute: string(cmp.Or(b.Leads.Route, opening.NotOpened))}
	return request(RouteTemplate, meta, values.MaaSAPIRoute{
		Meta: meta, GatewayName: b.Tenant.Gateway.Name, GatewayNamespace: b.Tenant.Gateway.Namespace,
		Service: b.Tenant.MaaSAPIService(), Port: tenancy.MaaSAPIPort, Paths: routePaths(publicpath.Paths(), b.Leads),
	})
}

// routePaths are the rules of the HTTPRoute, in the order of the list.
func routePaths(paths []publicpath.Path, leads opening.Leads) []values.RoutePath {
	rules := make([]values.RoutePath, 0, len(paths))
	for _, p := range paths {
		rule := values.RoutePath{Type: "PathPrefix", Path: p.Path}
		if p.Exact {
			rule.Type = "Exact"
		}
		if p.Target != "" {
			rule.Rewrite = []values.PathRewrite{{Full: p.Exact, Target: p.Target}}
		}
		rule.Leads = leads.To(opening.PathRule(rule.Type, rule.Path))
		rules = append(rules, rule)
	}
	return rules
}

func (b builder) certificate() render.Request {
	name := b.Tenant.MaaSAPIServingCert()
	meta := b.meta(b.Settings.InfraNamespace, name)
	issuer := b.Settings.CertIssuer.orDefault()
	return request(CertificateTemplate, meta, values.MaaSAPICertificate{
		Meta: meta, Secret: name, DNSNames: b.serviceNames(), IssuerKind: issuer.Kind, IssuerName: issuer.Name,
	})
}

// serviceNames are the names by which others reach maas-api.
func (b builder) serviceNames() []string {
	short := fmt.Sprintf("%s.%s.svc", b.Tenant.MaaSAPIService(), b.Settings.InfraNamespace)
	return []string{short, short + ".cluster.local"}
}

func (b builder) backendTLS() render.Request {
	meta := b.meta(b.Tenant.Gateway.Namespace, b.Tenant.MaaSAPIBackendTLS())
	names := b.serviceNames()
	v := values.MaaSAPIBackendTLS{Meta: meta, Host: names[len(names)-1], Port: tenancy.MaaSAPIPort}
	if file := b.Settings.GatewayCAFile; file != "" {
		v.Verify = []values.BackendVerification{{CAFile: file, Names: names}}
	}
	return request(BackendTLSTemplate, meta, v)
}

func (b builder) keyCleanup() render.Request {
	meta := b.meta(b.Settings.InfraNamespace, b.Tenant.KeyCleanup())
	meta.Labels = with(meta.Labels, v1alpha1.LabelComponent, tenancy.ComponentKeyCleanup)
	return request(KeyCleanupTemplate, meta, values.MaaSAPIKeyCleanup{
		Meta: meta, PodLabels: tenancy.KeyCleanupPodLabels(),
		ServiceAccount: tenancy.CleanupServiceAccount, RunAsUser: b.Settings.runAsUser(),
		URL:       fmt.Sprintf("https://%s:%d", b.serviceNames()[0], tenancy.MaaSAPIPort),
		Resources: jobResources(), Authority: b.Settings.authority(b.Tenant.MaaSAPIServingCert()),
	})
}

// AdminRoles are the Role for a tenant's administrators in the tenant's namespace,
// and the one by which they may read their AITenant. The operator binds neither.
func AdminRoles(in RolesInput) []render.Request {
	stamp := tenancy.StampOf(in.AITenant, in.TenantNamespace)
	meta := func(namespace, name string) values.Meta {
		return values.Meta{Namespace: namespace, Name: name, Labels: maps.Clone(stamp.Labels), Annotations: maps.Clone(stamp.Annotations)}
	}
	admin := meta(in.TenantNamespace, tenancy.TenantAdminRole(in.AITenant.Name))
	object := meta(in.AITenant.Namespace, tenancy.ObjectAdminRole(in.AITenant.Name))
	return []render.Request{
		request(TenantAdminRoleTemplate, admin, values.TenantAdminRole{Meta: admin, Config: v1alpha1.DefaultTenantConfigName}),
		request(ObjectAdminRoleTemplate, object, values.ObjectAdminRole{Meta: object, AITenant: in.AITenant.Name}),
	}
}

// RevocationJob revokes the keys of a tenant that is being deleted. It needs nothing
// of the tenant but the database. It lacks the label with the tenant's namespace, so
// that it does not go with the tenant's other objects.
func RevocationJob(in JobInput) render.Request {
	retention := int64(in.RetentionDays)
	if retention < 1 {
		retention = defaultKeyDays
	}
	meta := values.Meta{
		Namespace: in.Settings.InfraNamespace, Name: tenancy.KeyRevocation(in.AITenant.Name),
		Labels: map[string]string{
			v1alpha1.LabelManagedBy:        v1alpha1.ManagedByValue,
			v1alpha1.LabelModelsAsAService: "true",
			v1alpha1.LabelTenantName:       in.AITenant.Name,
		},
		Annotations: map[string]string{
			v1alpha1.AnnotationAITenantName:      in.AITenant.Name,
			v1alpha1.AnnotationAITenantNamespace: in.AITenant.Namespace,
			v1alpha1.AnnotationAITenantUID:       string(in.UID),
		},
	}
	maps.Copy(meta.Labels, tenancy.PodLabels(tenancy.ComponentKeyRevocation))
	return request(RevocationJobTemplate, meta, values.KeyRevocationJob{
		Meta: meta, PodLabels: with(tenancy.KeyRevocationPodLabels(), v1alpha1.LabelTenantInstance, in.Tenant.MaaSAPI()),
		ServiceAccount: tenancy.CleanupServiceAccount, RunAsUser: in.Settings.runAsUser(),
		TenantName: in.Tenant.Name, TenantUID: string(in.UID), RetentionDays: retention,
		DatabaseSecret: v1alpha1.DatabaseSecretName, DatabaseKey: v1alpha1.DatabaseSecretKey,
		Resources: jobResources(), Authority: in.Settings.authority(in.Tenant.MaaSAPIServingCert()),
	})
}
