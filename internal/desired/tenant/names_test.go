// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenant_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// limits are the lengths of names by kind, where they are not 63: controllers append
// to the names of some, and those of roles are no labels.
func limits() map[string]int {
	roles := validation.DNS1123SubdomainMaxLength
	return map[string]int{"CronJob": 52, "Job": 57, "Role": roles, "RoleBinding": roles, "ClusterRoleBinding": roles}
}

// hostile are names of tenants that look like parts of other names.
func hostile() []string {
	return []string{
		"route", "api", "maas-api", "auth-policy", "gateway", "subscriptions", "database", "backend-tls", "key-cleanup", "serving-cert", "revoke-keys",
		"route-a", "a-serving-cert", "default-auth", "default", "tenant-admin", "a-tenant-admin", "0", "9a", "x-object-admin", "models",
		strings.Repeat("a", 41), strings.Repeat("a", 40) + "b", strings.Repeat("a", 40), strings.Repeat("a", 39) + "-b", "route-" + strings.Repeat("r", 35),
	}
}

func names() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.Just(tenancy.DefaultName), rapid.SampledFrom(hostile()),
		rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,39}[a-z0-9])?`),
	).Filter(func(name string) bool { return !tenancy.Reserved(name) })
}

// TestNamesStayWithinTheirLimits has weakness W-3.
func TestNamesStayWithinTheirLimits(t *testing.T) {
	t.Parallel()
	e := parts.Engine(t)
	rapid.Check(t, func(rt *rapid.T) {
		in := input(rapid.SampledFrom(platforms()).Draw(rt, "platform"), names().Draw(rt, "name"))
		objects, err := e.RenderAll(requests(t, in))
		if err != nil {
			rt.Fatalf("RenderAll() error = %v", err)
		}
		for _, o := range objects {
			limit := validation.DNS1123LabelMaxLength
			if l, differs := limits()[o.GetKind()]; differs {
				limit = l
			}
			if name := o.GetName(); len(name) > limit || len(validation.IsDNS1123Subdomain(name)) > 0 {
				rt.Errorf("%s %s: %d characters of %d", o.GetKind(), name, len(name), limit)
			}
			if o.GetKind() == "Service" && len(validation.IsDNS1035Label(o.GetName())) > 0 {
				rt.Errorf("Service %s has no name for a Service", o.GetName())
			}
		}
	})
}

// TestNoTwoTenantsShareAnObject takes any two tenants, those with confusing names
// most of all.
func TestNoTwoTenantsShareAnObject(t *testing.T) {
	t.Parallel()
	keys := map[string]map[string]bool{}
	of := func(name string) map[string]bool {
		if keys[name] == nil {
			keys[name] = objectKeys(t, name)
		}
		return keys[name]
	}
	compare := func(fail func(string, ...any), a, b string) {
		for key := range of(a) {
			if a != b && of(b)[key] {
				fail("tenants %s and %s both have %s", a, b, key)
			}
		}
	}
	all := append(hostile(), tenancy.DefaultName)
	for _, a := range all {
		for _, b := range all {
			compare(t.Errorf, a, b)
		}
	}
	rapid.Check(t, func(rt *rapid.T) { compare(rt.Errorf, names().Draw(rt, "one"), names().Draw(rt, "other")) })
}

// objectKeys are the identities of a tenant's objects. The Gateway's namespace is
// also that of maas-api here, so that no namespace keeps names apart.
func objectKeys(t *testing.T, name string) map[string]bool {
	t.Helper()
	in := input(tenant.Kubernetes, name)
	in.Tenant.Gateway.Namespace = infra
	keys := map[string]bool{}
	for _, r := range requests(t, in) {
		kind, _, _ := strings.Cut(strings.SplitN(string(r.ID), "/", 2)[1], "-")
		key := kind + " " + r.Namespace + "/" + r.Name
		if keys[key] {
			t.Errorf("tenant %s has %s twice", name, key)
		}
		keys[key] = true
	}
	return keys
}

func TestASharedNameIsReserved(t *testing.T) {
	t.Parallel()
	if !tenancy.Reserved("cleanup") || find(t, input(tenant.OpenShift, "cleanup"), tenant.ServiceAccountTemplate).Name != tenancy.CleanupServiceAccount {
		t.Error("the ServiceAccount of tenant cleanup is not the one that is shared")
	}
}

// TestLabelsTellWhoseAnObjectIs: everything a MaasTenantConfig has can be found by
// its labels, and only that.
func TestLabelsTellWhoseAnObjectIs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{tenancy.DefaultName, "redteam"} {
		in := input(tenant.Kubernetes, name)
		out := build(t, in)
		objects, err := parts.Engine(t).RenderAll(slices.Concat(out.Guard, out.Workload))
		if err != nil {
			t.Fatalf("RenderAll() error = %v", err)
		}
		want := map[string]string{
			v1alpha1.LabelManagedBy: "maas-controller", v1alpha1.LabelPartOf: "models-as-a-service", v1alpha1.LabelName: "maas-api",
			v1alpha1.LabelModelsAsAService: "true", v1alpha1.LabelTenantName: name, v1alpha1.LabelTenantNamespace: namespaceOf(name),
		}
		for _, o := range objects {
			got := o.GetLabels()
			if got[v1alpha1.LabelComponent] == "" {
				t.Errorf("%s %s has no component", o.GetKind(), o.GetName())
			}
			delete(got, v1alpha1.LabelComponent)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s: labels (-want +got):\n%s", o.GetKind(), o.GetName(), diff)
			}
		}
	}
}

func TestRolesOfAdministratorsCarryTheStamp(t *testing.T) {
	t.Parallel()
	for _, name := range []string{tenancy.DefaultName, longest} {
		stamp := tenancy.StampOf(aiTenant(name), namespaceOf(name))
		for _, r := range tenant.AdminRoles(tenant.RolesInput{AITenant: aiTenant(name), TenantNamespace: namespaceOf(name)}) {
			o, err := parts.Engine(t).Render(r)
			if err != nil {
				t.Fatalf("Render() error = %v", err)
			}
			if !maps.Equal(stamp.Labels, o.GetLabels()) || !maps.Equal(stamp.Annotations, o.GetAnnotations()) {
				t.Errorf("%s: labels %v, annotations %v", o.GetName(), o.GetLabels(), o.GetAnnotations())
			}
		}
	}
}

// TestRightsOfAdministrators has the table of section 2.9: named verbs, the one
// config, the one AITenant, and nothing that hands rights on.
func TestRightsOfAdministrators(t *testing.T) {
	t.Parallel()
	in := input(tenant.OpenShift, "redteam")
	rule := func(resources []any, names []any, verbs ...any) map[string]any {
		r := map[string]any{"apiGroups": []any{"maas.opendatahub.io"}, "resources": resources, "verbs": verbs}
		if names != nil {
			r["resourceNames"] = names
		}
		return r
	}
	for name, tc := range map[string]struct {
		id              render.ID
		namespace, role string
		want            []any
	}{
		"in the tenant's namespace": {tenant.TenantAdminRoleTemplate, "ai-tenant-redteam", "aitenant-redteam-tenant-admin", []any{
			rule([]any{"maasauthpolicies", "maassubscriptions"}, nil, "get", "list", "watch", "create", "update", "patch", "delete"),
			rule([]any{"maastenantconfigs"}, []any{"default-tenant"}, "get", "update", "patch"),
			rule([]any{"maasmodelrefs"}, nil, "get", "list", "watch"),
		}},
		"among the AITenants": {tenant.ObjectAdminRoleTemplate, "ai-tenants", "aitenant-redteam-object-admin", []any{rule([]any{"aitenants"}, []any{"redteam"}, "get")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := parts.Engine(t).Render(find(t, in, tc.id))
			if err != nil {
				t.Fatalf("Render() error = %v", err)
			}
			rules, _, err := unstructured.NestedSlice(o.Object, "rules")
			if diff := cmp.Diff(tc.want, rules); diff != "" || err != nil {
				t.Errorf("rules (-want +got):\n%s%v", diff, err)
			}
			if o.GetNamespace() != tc.namespace || o.GetName() != tc.role {
				t.Errorf("Role %s/%s, want %s/%s", o.GetNamespace(), o.GetName(), tc.namespace, tc.role)
			}
		})
	}
}

// TestTheGatewayVerifiesWhatItCan has weakness W-8 for the gateway.
func TestTheGatewayVerifiesWhatItCan(t *testing.T) {
	t.Parallel()
	host := "maas-api-redteam." + infra + ".svc"
	for name, tc := range map[string]struct {
		file string
		want map[string]any
	}{
		"no authority in its pods": {"", map[string]any{"mode": "SIMPLE", "insecureSkipVerify": true}},
		"an authority": {"/etc/ca/service-ca.crt", map[string]any{
			"mode": "SIMPLE", "caCertificates": "/etc/ca/service-ca.crt", "subjectAltNames": []any{host, host + ".cluster.local"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(tenant.OpenShift, "redteam")
			in.Settings.GatewayCAFile = tc.file
			o, err := parts.Engine(t).Render(find(t, in, tenant.BackendTLSTemplate))
			if err != nil {
				t.Fatalf("Render() error = %v", err)
			}
			want := map[string]any{
				"host":          host + ".cluster.local",
				"trafficPolicy": map[string]any{"portLevelSettings": []any{map[string]any{"port": map[string]any{"number": int64(8443)}, "tls": tc.want}}},
			}
			if diff := cmp.Diff(want, o.Object["spec"]); diff != "" || o.GetNamespace() != "openshift-ingress" {
				t.Errorf("namespace %s, spec (-want +got):\n%s", o.GetNamespace(), diff)
			}
		})
	}
}

func TestRenderingIsDeterministic(t *testing.T) {
	t.Parallel()
	for _, platform := range platforms() {
		first := rendered(t, input(platform, "redteam"))
		for range 20 {
			if diff := cmp.Diff(first, rendered(t, input(platform, "redteam"))); diff != "" {
				t.Fatalf("%s: rendered again (-first +now):\n%s", platform, diff)
			}
		}
	}
}
