// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenant_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/desired/opening"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

const infra = "odh-ai-gateway-infra"

func settings(platform string) tenant.Settings {
	return tenant.Settings{
		Platform: platform, ControllerNamespace: "opendatahub", InfraNamespace: infra, AITenantNamespace: "ai-tenants",
		Access: access.Settings{InfraNamespace: infra, Audience: "https://kubernetes.default.svc"},
	}
}

// context is the tenant of an AITenant of that name.
func context(name string) tenancy.Context {
	if name == tenancy.DefaultName {
		return tenancy.Context{Name: name, Gateway: types.NamespacedName{Namespace: "openshift-ingress", Name: "maas-default-gateway"}}
	}
	return tenancy.Context{Name: name, ID: name, Gateway: types.NamespacedName{Namespace: "openshift-ingress", Name: name}}
}

func namespaceOf(name string) string {
	if name == tenancy.DefaultName {
		return name
	}
	return "ai-tenant-" + name
}

func input(platform, name string) tenant.Input {
	return tenant.Input{
		Config: &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(name), Name: v1alpha1.DefaultTenantConfigName}},
		Tenant: context(name), TenantUID: "uid-of-" + types.UID(name), GatewayExists: true, DatabaseSecretVersion: "7", Leads: opening.Leads{Route: "uid-of-route", All: true},
		Served:   map[string]bool{tenant.CertificateCRD: true, tenant.DestinationRuleCRD: true},
		Settings: settings(platform),
	}
}

func aiTenant(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ai-tenants", Name: name}
}

func build(tb testing.TB, in tenant.Input) tenant.Output {
	tb.Helper()
	out, err := tenant.Build(in)
	if err != nil {
		tb.Fatalf("Build() error = %v", err)
	}
	return out
}

// requests are all objects that exist at some time for a tenant.
func requests(tb testing.TB, in tenant.Input) []render.Request {
	tb.Helper()
	out := build(tb, in)
	all := append([]render.Request{}, out.Guard...)
	all = append(all, out.Workload...)
	all = append(all, tenant.AdminRoles(tenant.RolesInput{AITenant: aiTenant(in.Tenant.Name), TenantNamespace: in.Config.Namespace})...)
	return append(all, revocation(in))
}

func revocation(in tenant.Input) render.Request {
	return tenant.RevocationJob(tenant.JobInput{AITenant: aiTenant(in.Tenant.Name), UID: in.TenantUID, Tenant: in.Tenant, Settings: in.Settings})
}

// find returns the one request for a template.
func find(tb testing.TB, in tenant.Input, id render.ID) render.Request {
	tb.Helper()
	for _, r := range requests(tb, in) {
		if r.ID == id {
			return r
		}
	}
	tb.Fatalf("%s is not wanted", id)
	return render.Request{}
}

// object is the rendered object of a template, as a T.
func object[T any](tb testing.TB, in tenant.Input, id render.ID) T {
	tb.Helper()
	rendered, err := parts.Engine(tb).Render(find(tb, in, id))
	if err != nil {
		tb.Fatalf("Render() error = %v", err)
	}
	var typed T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(rendered.Object, &typed, true); err != nil {
		tb.Fatalf("decode %s: %v", id, err)
	}
	return typed
}

func rendered(tb testing.TB, in tenant.Input) []*unstructured.Unstructured {
	tb.Helper()
	objects, err := parts.Engine(tb).RenderAll(requests(tb, in))
	if err != nil {
		tb.Fatalf("RenderAll() error = %v", err)
	}
	return objects
}

func wanted(out tenant.Output, id render.ID) bool {
	for _, r := range append(append([]render.Request{}, out.Guard...), out.Workload...) {
		if r.ID == id {
			return true
		}
	}
	return false
}

func platforms() []string { return []string{tenant.OpenShift, tenant.Kubernetes} }

// longest is a name of the greatest length an AITenant may have.
var longest = strings.Repeat("n", 41)
