// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rights_test

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/desired/monitoring"
	"github.com/opendatahub-io/maas-operator/internal/desired/payload"
	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
	"github.com/opendatahub-io/maas-operator/internal/desired/telemetry"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/desired/usage"
	"github.com/opendatahub-io/maas-operator/internal/images"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates"
	"github.com/opendatahub-io/maas-operator/test/rights"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	infra   = "odh-ai-gateway-infra"
	ctrl    = "opendatahub"
	gateway = "openshift-ingress"
	tenants = "ai-tenants"
)

var engine = sync.OnceValues(func() (*render.Engine, error) {
	return render.New(templates.FS, desired.Components(), render.WithImages(images.Development()))
})

// tenantNames are the default tenant, another, and one with the longest name.
func tenantNames() []string {
	return []string{tenancy.DefaultName, "red", strings.Repeat("t", 41)}
}

func contextOf(name string) tenancy.Context {
	if name == tenancy.DefaultName {
		return tenancy.Context{Name: name, Gateway: types.NamespacedName{Namespace: gateway, Name: "maas-default-gateway"}}
	}
	return tenancy.Context{Name: name, ID: name, Gateway: types.NamespacedName{Namespace: gateway, Name: name}}
}

// requested are all objects of an installation with these tenants, those of models
// apart.
func requested(t *testing.T, on string) []render.Request {
	t.Helper()
	shared, err := platform.Build(platform.Input{
		Platform: on, ControllerNamespace: ctrl, InfraNamespace: infra, GatewayNamespace: gateway, MonitoringNamespace: ctrl,
		PayloadProcessing: true,
	})
	if err != nil {
		t.Fatalf("platform.Build() error = %v", err)
	}
	monitored, err := monitoring.Build(monitoring.Input{
		Platform: on, ControllerNamespace: ctrl, InfraNamespace: infra, GatewayNamespace: gateway, MonitoringNamespace: ctrl,
	})
	if err != nil {
		t.Fatalf("monitoring.Build() error = %v", err)
	}
	stacked, err := monitoring.Build(monitoring.Input{
		Platform: on, ControllerNamespace: ctrl, InfraNamespace: infra, GatewayNamespace: gateway, MonitoringNamespace: ctrl, Stacks: true,
	})
	if err != nil {
		t.Fatalf("monitoring.Build() error = %v", err)
	}
	logged, err := usage.Build(usage.Input{Platform: on, GatewayNamespace: gateway, MonitoringNamespace: ctrl, CollectorServed: true})
	if err != nil {
		t.Fatalf("usage.Build() error = %v", err)
	}
	requests := slices.Concat(shared.Requests, monitored.Requests, rulesOf(stacked.Requests), logged)
	settings := tenant.Settings{
		Platform: on, ControllerNamespace: ctrl, InfraNamespace: infra, AITenantNamespace: tenants, MonitoringNamespace: ctrl,
		Access: access.Settings{InfraNamespace: infra, Audience: "https://kubernetes.default.svc"},
	}
	served := map[string]bool{}
	for _, component := range desired.Table() {
		served[component.Requires] = true
	}
	for _, name := range tenantNames() {
		config := &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "ai-tenant-" + name, Name: v1alpha1.DefaultTenantConfigName}}
		ait := types.NamespacedName{Namespace: tenants, Name: name}
		out, err := tenant.Build(tenant.Input{Config: config, Tenant: contextOf(name), TenantUID: "uid", GatewayExists: true, Served: served, Settings: settings})
		if err != nil {
			t.Fatalf("tenant.Build() error = %v", err)
		}
		requests = slices.Concat(requests, out.Guard, out.Workload, addOns(t, contextOf(name), config, settings),
			tenant.AdminRoles(tenant.RolesInput{AITenant: ait, TenantNamespace: config.Namespace}),
			[]render.Request{tenant.RevocationJob(tenant.JobInput{AITenant: ait, UID: "uid", Tenant: contextOf(name), Settings: settings})})
	}
	return requests
}

// rulesOf are the rules that a MonitoringStack is told; its other objects are as elsewhere.
func rulesOf(requests []render.Request) []render.Request {
	return slices.DeleteFunc(requests, func(r render.Request) bool { return r.ID != monitoring.StackAlertsTemplate })
}

// addOns are the objects of a tenant that it works without.
func addOns(t *testing.T, of tenancy.Context, config *v1alpha1.MaasTenantConfig, settings tenant.Settings) []render.Request {
	t.Helper()
	labels := tenant.Labels(of, config.Namespace)
	metrics, err := telemetry.Build(telemetry.Input{Tenant: of, Labels: labels})
	if err != nil {
		t.Fatalf("telemetry.Build() error = %v", err)
	}
	scaled := config.DeepCopy()
	scaled.Spec.PayloadProcessing = &v1alpha1.PayloadProcessingConfig{Autoscaling: &v1alpha1.PayloadAutoscalingConfig{}}
	out := payload.Build(payload.Input{Config: scaled, Tenant: of, Labels: labels, Settings: settings.Payload()})
	logs := usage.TenantFilter(usage.TenantInput{Tenant: of, Labels: labels, MonitoringNamespace: "monitoring"})
	return slices.Concat(metrics, out.Requests, []render.Request{out.Filter, logs})
}

// rendered are the objects of an installation in the order they are applied in. No
// two of them are the same object.
func rendered(t *testing.T, on string) []*unstructured.Unstructured {
	t.Helper()
	e, err := engine()
	if err != nil {
		t.Fatalf("render.New() error = %v", err)
	}
	objects, err := e.RenderAll(requested(t, on))
	if err != nil {
		t.Fatalf("RenderAll() error = %v", err)
	}
	return objects
}

// golden are the objects of all golden files.
func golden(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testenv.RepoRoot(), "test", "golden", "*", "testdata", "*", "out*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("find golden files: %d, %v", len(files), err)
	}
	var out []*unstructured.Unstructured
	for _, file := range files {
		objects, err := testenv.ReadObjects(file)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, objects...)
	}
	return out
}

// held are the rights an installation gives the operator.
func held(t *testing.T) []rights.Right {
	t.Helper()
	manifests, err := rights.Manifests("config/rbac")
	if err != nil {
		t.Fatal(err)
	}
	held, err := rights.Held(manifests, testenv.OperatorNamespace, testenv.OperatorServiceAccount)
	if err != nil || len(held) == 0 {
		t.Fatalf("Held() = %v, %v", held, err)
	}
	return held
}

// C29: what the operator lacks it must not grant, or writing the role fails.
func TestTheOperatorHoldsWhatItGrants(t *testing.T) {
	t.Parallel()
	for name, objects := range map[string][]*unstructured.Unstructured{
		platform.OpenShift: rendered(t, platform.OpenShift), platform.Kubernetes: rendered(t, platform.Kubernetes), "golden files": golden(t),
	} {
		granted, err := rights.Granted(objects)
		if err != nil || len(granted) == 0 {
			t.Fatalf("%s: Granted() = %v, %v", name, granted, err)
		}
		for _, missing := range rights.Missing(granted, held(t)) {
			t.Errorf("%s: a role grants %q, which the operator does not hold: add a marker in controllers/tenantconfig/rbac.go", name, missing)
		}
	}
}

// protected are the kinds of which the applier takes over what others own, which is
// an update. See package apply.
func protected(kind string) bool {
	return slices.Contains([]string{
		"AuthPolicy", "TokenRateLimitPolicy", "HTTPRoute", "NetworkPolicy", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding",
	}, kind)
}

// needed are the rights to write an object of a kind, watch it, and remove it.
func needed(gvk schema.GroupVersionKind, namespace, name string) []rights.Right {
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	right := func(verb string) rights.Right {
		return rights.Right{Group: gvk.Group, Resource: resource.Resource, Verb: verb, Namespace: namespace, Name: name}
	}
	out := []rights.Right{right("get"), right("create"), right("patch"), right("delete")}
	if protected(gvk.Kind) {
		out = append(out, right("update"))
	}
	all := right("")
	all.Name, all.Namespace = "", ""
	for _, verb := range []string{"list", "watch"} {
		all.Verb = verb
		out = append(out, all)
	}
	return out
}

// C30: for every kind that is written there are the rights to write it.
func TestTheOperatorMayWriteWhatItRenders(t *testing.T) {
	t.Parallel()
	have := held(t)
	seen := map[rights.Right]bool{}
	for _, object := range slices.Concat(rendered(t, platform.OpenShift), rendered(t, platform.Kubernetes), golden(t)) {
		for _, missing := range rights.Missing(needed(object.GroupVersionKind(), object.GetNamespace(), object.GetName()), have) {
			if kind := (rights.Right{Group: missing.Group, Resource: missing.Resource, Verb: missing.Verb}); !seen[kind] {
				seen[kind] = true
				t.Errorf("the operator writes %s %s and may not %q", object.GetKind(), object.GetName(), missing)
			}
		}
	}
}

// The right to update is for taking over what others have a part in, which the applier
// does with protected kinds only. Of this project's own kinds administrators of tenants
// are granted it. Whoever makes objects that hold up the deletion of their owner needs it
// of the owner's finalizers: those of ExternalModels, of either group, do.
func TestTheOperatorUpdatesOnlyWhatIsProtected(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{"leases": true, "externalmodels/finalizers": true}
	for _, object := range slices.Concat(rendered(t, platform.OpenShift), rendered(t, platform.Kubernetes), golden(t)) {
		if protected(object.GetKind()) {
			resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
			allowed[resource.Resource] = true
		}
	}
	for _, right := range held(t) {
		if right.Verb == "update" && !allowed[right.Resource] && right.Group != v1alpha1.GroupVersion.Group {
			t.Errorf("the operator may %q, and has no use for it", right)
		}
	}
}

// C32: a right that another one covers says less than it seems to.
func TestTheOperatorHoldsNoRightTwice(t *testing.T) {
	t.Parallel()
	for _, right := range rights.Repeated(held(t)) {
		t.Errorf("the operator holds %q, and another right covers it", right)
	}
}

// TestNothingRenderedIsLeftOut keeps the other tests complete when a template is
// added.
func TestNothingRenderedIsLeftOut(t *testing.T) {
	t.Parallel()
	shown := map[string]bool{}
	for _, object := range golden(t) {
		shown[object.GroupVersionKind().String()] = true
	}
	ids := map[render.ID]bool{}
	for _, on := range []string{platform.OpenShift, platform.Kubernetes} {
		for _, request := range requested(t, on) {
			ids[request.ID] = true
		}
	}
	for _, component := range desired.Table() {
		model := strings.HasPrefix(string(component.ID), "model/") || strings.HasPrefix(string(component.ID), "external/")
		if model && !shown[component.GVK.String()] || !model && !ids[component.ID] {
			t.Errorf("no test of rights sees an object of template %s", component.ID)
		}
	}
}

// C33: no role of ours makes its subject an administrator of the cluster.
func TestNoRoleGrantsTheWayToMore(t *testing.T) {
	t.Parallel()
	for _, on := range []string{platform.OpenShift, platform.Kubernetes} {
		granted, err := rights.Granted(rendered(t, on))
		if err != nil {
			t.Fatalf("Granted() error = %v", err)
		}
		for _, right := range granted {
			writes := !slices.Contains([]string{"get", "list", "watch"}, right.Verb)
			switch {
			case slices.Contains([]string{"bind", "escalate", "impersonate"}, right.Verb),
				right.Group == "operators.coreos.com",
				right.Group == "rbac.authorization.k8s.io" && writes,
				right.Group == "" && right.Resource == "secrets" && (right.Name == "" || right.Namespace == "" || writes),
				right.Group == "" && (right.Resource == "pods" || strings.Contains(right.Resource, "/")) && writes,
				(right.Group == "apps" || right.Group == "batch") && writes:
				t.Errorf("%s: a role grants %q", on, right)
			}
		}
	}
}

// The operator must not hold what lets it take any right, or read any Secret.
func TestTheOperatorHoldsNoWayToMore(t *testing.T) {
	t.Parallel()
	for _, right := range held(t) {
		if slices.Contains([]string{"bind", "escalate", "impersonate"}, right.Verb) ||
			right.Resource == "secrets" && right.Name == "" && right.Namespace == "" {
			t.Errorf("the operator holds %q", right)
		}
	}
}
