// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/netpol"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

const (
	infra   = "odh-ai-gateway-infra"
	ctrl    = "opendatahub"
	gateway = "openshift-ingress"
	mon     = "redhat-ods-monitoring"
)

func input(on string) platform.Input {
	return platform.Input{Platform: on, ControllerNamespace: ctrl, InfraNamespace: infra, GatewayNamespace: gateway, MonitoringNamespace: mon}
}

// configured is the input with a Config whose spec is given as YAML.
func configured(tb testing.TB, on, spec string) platform.Input {
	tb.Helper()
	in := input(on)
	in.Config = &v1alpha1.Config{}
	if err := yaml.UnmarshalStrict([]byte(spec), &in.Config.Spec); err != nil {
		tb.Fatal(err)
	}
	return in
}

func build(tb testing.TB, in platform.Input) platform.Output {
	tb.Helper()
	out, err := platform.Build(in)
	if err != nil {
		tb.Fatalf("Build() error = %v", err)
	}
	return out
}

func rendered(tb testing.TB, requests []render.Request) []*unstructured.Unstructured {
	tb.Helper()
	objects, err := parts.Engine(tb).RenderAll(requests)
	if err != nil {
		tb.Fatalf("RenderAll() error = %v", err)
	}
	return objects
}

// as converts an object to its Go type, which must have all its fields.
func as[T any](tb testing.TB, object *unstructured.Unstructured) *T {
	tb.Helper()
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, out, true); err != nil {
		tb.Fatalf("convert %s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return out
}

// policies are the NetworkPolicies of an installation by name.
func policies(tb testing.TB, in platform.Input) map[string]*networkingv1.NetworkPolicy {
	tb.Helper()
	byName := map[string]*networkingv1.NetworkPolicy{}
	for _, object := range rendered(tb, build(tb, in).Requests) {
		if object.GetKind() == "NetworkPolicy" {
			byName[object.GetName()] = as[networkingv1.NetworkPolicy](tb, object)
		}
	}
	return byName
}

// cluster holds the policies of an installation.
func cluster(tb testing.TB, in platform.Input) netpol.Cluster {
	tb.Helper()
	var c netpol.Cluster
	for _, policy := range policies(tb, in) {
		c.Policies = append(c.Policies, *policy)
	}
	return c
}

// tenantPods are the Pods of two tenants as their templates make them: maas-api of
// the default tenant and of another, its cleanup Job and its revocation Job.
func tenantPods(tb testing.TB, on string) map[string]netpol.End {
	tb.Helper()
	pods := map[string]netpol.End{}
	settings := tenant.Settings{
		Platform: on, ControllerNamespace: ctrl, InfraNamespace: infra, AITenantNamespace: "ai-tenants", MonitoringNamespace: mon,
		Access: access.Settings{InfraNamespace: infra, Audience: "https://kubernetes.default.svc"},
	}
	for name, t := range map[string]tenancy.Context{
		"default": {Name: tenancy.DefaultName, Gateway: types.NamespacedName{Namespace: gateway, Name: "maas-default-gateway"}},
		"red":     {Name: "red", ID: "red", Gateway: types.NamespacedName{Namespace: gateway, Name: "red"}},
	} {
		config := &v1alpha1.MaasTenantConfig{}
		config.Namespace, config.Name = "ai-tenant-"+t.Name, v1alpha1.DefaultTenantConfigName
		out, err := tenant.Build(tenant.Input{Config: config, Tenant: t, TenantUID: "uid", GatewayExists: true, Settings: settings})
		if err != nil {
			tb.Fatalf("tenant.Build() error = %v", err)
		}
		job := tenant.RevocationJob(tenant.JobInput{AITenant: types.NamespacedName{Namespace: "ai-tenants", Name: t.Name}, UID: "uid", Tenant: t, Settings: settings})
		for _, object := range rendered(tb, append(out.Workload, job)) {
			switch object.GetKind() {
			case "Deployment":
				pods[name] = netpol.End{Namespace: infra, Labels: as[appsv1.Deployment](tb, object).Spec.Template.Labels}
			case "CronJob":
				pods[name+" cleanup"] = netpol.End{Namespace: infra, Labels: as[batchv1.CronJob](tb, object).Spec.JobTemplate.Spec.Template.Labels}
			case "Job":
				pods[name+" revocation"] = netpol.End{Namespace: infra, Labels: as[batchv1.Job](tb, object).Spec.Template.Labels}
			}
		}
	}
	return pods
}
