// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package samples holds requests for an object of every template, as a small
// installation of each platform has them: two tenants, a model of the cluster and one
// of a provider, with everything switched on. The requests come from the decisions
// themselves. What packagers change about templates is tried on them.
package samples

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/desired/monitoring"
	"github.com/opendatahub-io/maas-operator/internal/desired/opening"
	"github.com/opendatahub-io/maas-operator/internal/desired/payload"
	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
	"github.com/opendatahub-io/maas-operator/internal/desired/telemetry"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/desired/usage"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

const (
	controllerNamespace = "opendatahub"
	infraNamespace      = "odh-ai-gateway-infra"
	gatewayNamespace    = "openshift-ingress"
	monitoringNamespace = "opendatahub-monitoring"
	aiTenantNamespace   = "ai-tenants"
	modelNamespace      = "llm"
	audience            = "https://kubernetes.default.svc"
)

// Requests returns the requests of both platforms.
func Requests() ([]render.Request, error) {
	var all []render.Request
	for _, on := range []string{platform.OpenShift, platform.Kubernetes} {
		shared, err := installation(on)
		if err != nil {
			return nil, err
		}
		all = append(all, shared...)
		for _, t := range tenants() {
			of, err := ofTenant(t, on)
			if err != nil {
				return nil, fmt.Errorf("sample tenant %s: %w", t.Name, err)
			}
			all = append(all, of...)
		}
	}
	return append(all, externalModel()...), nil
}

// tenants are the default tenant and one with an identity provider.
func tenants() []tenancy.Context {
	gateway := func(name string) types.NamespacedName {
		return types.NamespacedName{Namespace: gatewayNamespace, Name: name}
	}
	return []tenancy.Context{
		{Name: tenancy.DefaultName, Gateway: gateway("maas-default-gateway")},
		{
			Name: "red", ID: "red", Gateway: gateway("red-gateway"),
			OIDC: &tenancy.OIDC{IssuerURL: "https://idp.example.com/realms/red", ClientID: "maas", TTLSeconds: 300},
		},
	}
}

// installation are the objects there are once.
func installation(on string) ([]render.Request, error) {
	shared, err := platform.Build(platform.Input{
		Platform: on, ControllerNamespace: controllerNamespace, InfraNamespace: infraNamespace, GatewayNamespace: gatewayNamespace,
		MonitoringNamespace: monitoringNamespace, PayloadProcessing: true,
	})
	if err != nil {
		return nil, err
	}
	watched, err := monitoring.Build(monitoring.Input{
		Platform: on, ControllerNamespace: controllerNamespace, InfraNamespace: infraNamespace, GatewayNamespace: gatewayNamespace,
		MonitoringNamespace: monitoringNamespace,
	})
	if err != nil {
		return nil, err
	}
	logged, err := usage.Build(usage.Input{Platform: on, GatewayNamespace: gatewayNamespace, MonitoringNamespace: monitoringNamespace, CollectorServed: true})
	if err != nil {
		return nil, err
	}
	return slices.Concat(shared.Requests, watched.Requests, logged), nil
}

// ofTenant are the objects of a tenant and of a model of it.
func ofTenant(t tenancy.Context, on string) ([]render.Request, error) {
	namespace := "ai-tenant-" + t.Name
	settings := tenant.Settings{
		Platform: on, ControllerNamespace: controllerNamespace, InfraNamespace: infraNamespace, AITenantNamespace: aiTenantNamespace,
		MonitoringNamespace: monitoringNamespace, Access: access.Settings{InfraNamespace: infraNamespace, Audience: audience},
		CertIssuer: tenant.CertIssuer{Kind: "ClusterIssuer", Name: "internal"},
	}
	config := &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.DefaultTenantConfigName}}
	out, err := tenant.Build(tenant.Input{
		Config: config, Tenant: t, TenantUID: "11111111-2222-3333-4444-555555555555", GatewayExists: true, DatabaseSecretVersion: "1",
		Served:   map[string]bool{tenant.CertificateCRD: true, tenant.DestinationRuleCRD: true},
		Leads:    opening.Leads{All: true},
		Settings: settings,
	})
	if err != nil {
		return nil, err
	}
	labels := tenant.Labels(t, namespace)
	measured, err := telemetry.Build(telemetry.Input{Tenant: t, Labels: labels})
	if err != nil {
		return nil, err
	}
	processed := payload.Build(payload.Input{Config: autoscaled(config), Tenant: t, Labels: labels, Settings: settings.Payload()})
	logs := telemetry.SwitchesOf(nil).Logs
	filter := usage.TenantFilter(usage.TenantInput{Tenant: t, Labels: labels, MonitoringNamespace: monitoringNamespace, Logs: logs})
	governed, err := ofModel(t, namespace)
	if err != nil {
		return nil, err
	}
	key := types.NamespacedName{Namespace: aiTenantNamespace, Name: t.Name}
	return slices.Concat(
		out.Guard, out.Workload, measured, processed.Requests, []render.Request{processed.Filter, filter},
		tenant.AdminRoles(tenant.RolesInput{AITenant: key, TenantNamespace: namespace}),
		[]render.Request{tenant.RevocationJob(tenant.JobInput{AITenant: key, UID: "1", Tenant: t, Settings: settings})},
		governed,
	), nil
}

// ofModel are the policies of a model that one group may use within limits.
func ofModel(t tenancy.Context, namespace string) ([]render.Request, error) {
	ref := types.NamespacedName{Namespace: modelNamespace, Name: "granite"}
	refs := []v1alpha1.ModelReference{{Namespace: ref.Namespace, Name: ref.Name}}
	group := []v1alpha1.GroupReference{{Name: "data-scientists"}}
	policy := &v1alpha1.MaaSAuthPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "scientists"}}
	policy.Spec = v1alpha1.MaaSAuthPolicySpec{ModelRefs: refs, Subjects: v1alpha1.Subjects{Groups: group}}
	subscription := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gold"}}
	subscription.Spec = v1alpha1.MaaSSubscriptionSpec{
		Owner: v1alpha1.Owner{Groups: group},
		ModelRefs: []v1alpha1.ModelSubscription{{
			Namespace: ref.Namespace, Name: ref.Name, TokenRateLimits: []v1alpha1.TokenRateLimit{{Limit: 1000, Window: "1m"}},
		}},
	}
	subscription.Status.RateLimitIdentity = v1alpha1.RateLimitIdentityShort
	out, err := model.Build(model.Input{
		Model: ref, Route: "granite-route", Tenant: t,
		AuthPolicies:  []model.AuthPolicy{{Object: policy, Tenant: t.Name}},
		Subscriptions: []model.Subscription{{Object: subscription, Tenant: t.Name}},
		Settings:      model.Settings{InfraNamespace: infraNamespace, Audience: audience},
	})
	if err != nil {
		return nil, err
	}
	return out.Requests(), nil
}

// externalModel are the objects of a model of a provider that is spoken to over TLS.
func externalModel() []render.Request {
	claim := external.Claim{
		Model: types.NamespacedName{Namespace: modelNamespace, Name: "gpt"}, Target: "gpt-4o",
		Provider: external.Provider{Host: "api.example.com", Port: 443, TLS: true, PathPrefix: "/v1"},
	}
	out := external.Build(external.Input{
		Model: claim.Model, Target: claim.Target, Provider: claim.Provider, Gateway: tenants()[0].Gateway,
		Claims: []external.Claim{claim}, Leads: opening.Leads{All: true},
	})
	return out.Requests()
}

// autoscaled is the same configuration with payload processing that scales by itself.
func autoscaled(config *v1alpha1.MaasTenantConfig) *v1alpha1.MaasTenantConfig {
	scaled := config.DeepCopy()
	scaled.Spec.PayloadProcessing = &v1alpha1.PayloadProcessingConfig{Autoscaling: &v1alpha1.PayloadAutoscalingConfig{}}
	return scaled
}
