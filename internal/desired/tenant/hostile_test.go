// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenant_test

import (
	"reflect"
	"testing"

	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/render/rendertest"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates/values"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// identity must be what was asked for, and labels cannot be any text.
func identity(more ...string) rendertest.Option {
	return rendertest.Refused(append([]string{"Meta.Name", "Meta.Namespace", "Meta.Labels{}"}, more...)...)
}

// trial is a template with an object that has all it can have.
type trial struct {
	request render.Request
	options []rendertest.Option
}

func trials(tb testing.TB) map[render.ID]trial {
	tb.Helper()
	in := input(tenant.Kubernetes, "redteam")
	openshift := input(tenant.OpenShift, tenancy.DefaultName)
	verified := input(tenant.OpenShift, "redteam")
	verified.Settings.GatewayCAFile = "/etc/ca.crt"
	all := map[render.ID]trial{}
	add := func(in tenant.Input, id render.ID, options ...rendertest.Option) {
		request := find(tb, in, id)
		request.Values = short(request.Values)
		all[id] = trial{request, options}
	}
	for _, id := range []render.ID{
		tenant.ServiceAccountTemplate, tenant.SubscriptionsRoleTemplate, tenant.SubscriptionsRoleBindingTemplate, tenant.DatabaseRoleTemplate,
		tenant.DatabaseRoleBindingTemplate, tenant.GatewayRoleTemplate, tenant.GatewayRoleBindingTemplate, tenant.TenantAdminRoleTemplate,
		tenant.ObjectAdminRoleTemplate, tenant.RouteTemplate, tenant.CertificateTemplate,
	} {
		add(in, id, identity())
	}
	add(in, tenant.ClusterRoleBindingTemplate, rendertest.Refused("Meta.Name", "Meta.Labels{}"))
	add(in, tenant.DeploymentTemplate, identity("Selector{}", "PodLabels{}"))
	add(openshift, tenant.ServiceTemplate, identity("Selector{}"))
	add(verified, tenant.BackendTLSTemplate, identity())
	add(in, tenant.KeyCleanupTemplate, identity("PodLabels{}"))
	add(in, tenant.RevocationJobTemplate, identity("PodLabels{}"))
	return all
}

// short leaves one entry of each map and two of each list: more of the same would
// only take time.
func short(v any) any {
	out := reflect.New(reflect.TypeOf(v)).Elem()
	out.Set(reflect.ValueOf(v))
	shorten(out)
	return out.Interface()
}

func shorten(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			shorten(field)
		}
	case reflect.Slice:
		if n := v.Len(); n > 2 {
			v.Set(v.Slice(n-2, n))
		}
	case reflect.Map:
		for _, key := range v.MapKeys()[:max(v.Len()-1, 0)] {
			v.SetMapIndex(key, reflect.Value{})
		}
	}
}

func TestNoTextChangesAnObject(t *testing.T) {
	t.Parallel()
	for id, trial := range trials(t) {
		t.Run(string(id), func(t *testing.T) {
			t.Parallel()
			rendertest.Hostile(t, parts.Engine(t), trial.request, trial.options...)
		})
	}
}

// TestEveryTemplateIsTried keeps the list above complete.
func TestEveryTemplateIsTried(t *testing.T) {
	t.Parallel()
	tried := trials(t)
	for _, platform := range platforms() {
		for _, r := range requests(t, input(platform, "redteam")) {
			switch r.Values.(type) {
			case values.MaaSAPIServiceAccount, values.MaaSAPIBinding, values.MaaSAPIRole, values.MaaSAPIGatewayRole, values.TenantAdminRole, values.ObjectAdminRole,
				values.MaaSAPIDeployment, values.MaaSAPIService, values.MaaSAPIRoute, values.MaaSAPICertificate, values.MaaSAPIBackendTLS,
				values.MaaSAPIKeyCleanup, values.KeyRevocationJob:
				if _, ok := tried[r.ID]; !ok {
					t.Errorf("%s is not tried", r.ID)
				}
			}
		}
	}
}

func FuzzDeploymentTemplate(f *testing.F) {
	trial := trials(f)[tenant.DeploymentTemplate]
	rendertest.Fuzz(f, parts.Engine(f), trial.request, trial.options...)
}

func FuzzRouteTemplate(f *testing.F) {
	trial := trials(f)[tenant.RouteTemplate]
	rendertest.Fuzz(f, parts.Engine(f), trial.request, trial.options...)
}

func FuzzRevocationJobTemplate(f *testing.F) {
	trial := trials(f)[tenant.RevocationJobTemplate]
	rendertest.Fuzz(f, parts.Engine(f), trial.request, trial.options...)
}
