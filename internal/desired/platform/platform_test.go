// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/render/rendertest"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates/values"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

func TestAnUnknownPlatformIsRefused(t *testing.T) {
	t.Parallel()
	if out, err := platform.Build(input("auto")); err == nil {
		t.Errorf("Build() = %v, want an error", out)
	}
}

// W-9: the operator may grant only what it holds, and holds that right on OpenShift
// only.
func TestOnlyOnOpenShiftMaaSAPIReadsTheTLSProfile(t *testing.T) {
	t.Parallel()
	for on, want := range map[string]bool{platform.OpenShift: true, platform.Kubernetes: false} {
		for _, object := range rendered(t, build(t, input(on)).Requests) {
			if object.GetKind() != "ClusterRole" {
				continue
			}
			got := false
			for _, rule := range as[rbacv1.ClusterRole](t, object).Rules {
				got = got || rule.APIGroups[0] == "config.openshift.io"
			}
			if got != want {
				t.Errorf("%s: rule for config.openshift.io = %v, want %v", on, got, want)
			}
		}
	}
}

func TestTheJobsAboutKeysHaveNoToken(t *testing.T) {
	t.Parallel()
	found := 0
	for _, object := range rendered(t, build(t, input(platform.Kubernetes)).Requests) {
		if object.GetKind() == "ServiceAccount" && object.GetName() == tenancy.CleanupServiceAccount {
			found++
			if mounts := as[corev1.ServiceAccount](t, object).AutomountServiceAccountToken; mounts == nil || *mounts {
				t.Error("the ServiceAccount mounts its token")
			}
		}
	}
	if found != 1 {
		t.Errorf("%d ServiceAccounts, want 1", found)
	}
}

func TestEveryObjectIsMarkedAsShared(t *testing.T) {
	t.Parallel()
	for _, object := range rendered(t, build(t, input(platform.OpenShift)).Requests) {
		got := object.GetLabels()
		component := got[v1alpha1.LabelComponent]
		delete(got, v1alpha1.LabelComponent)
		want := map[string]string{
			v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, v1alpha1.LabelPartOf: v1alpha1.PartOfMaaS, v1alpha1.LabelName: v1alpha1.NameMaaSAPI,
			v1alpha1.LabelModelsAsAService: "true", v1alpha1.LabelConfig: v1alpha1.ConfigName,
		}
		if diff := cmp.Diff(want, got); diff != "" || component == "" {
			t.Errorf("%s %s: labels (-want +got), component %q:\n%s", object.GetKind(), object.GetName(), component, diff)
		}
	}
}

// requests are ordinary ones, one of every template.
func requests(tb testing.TB) map[string]render.Request {
	tb.Helper()
	byTemplate := map[string]render.Request{}
	for _, request := range build(tb, input(platform.OpenShift)).Requests {
		byTemplate[string(request.ID)] = request
	}
	return byTemplate
}

// fields are those of which not every text is a good name or label.
func fields(request render.Request) rendertest.Option {
	refused := []string{"Meta.Name", "Meta.Labels{}"}
	if request.Namespace != "" {
		refused = append(refused, "Meta.Namespace")
	}
	switch request.Values.(type) {
	case values.MaaSAPIIngress:
		refused = append(refused, "Pods{}")
	case values.KeyCleanupNetwork:
		refused = append(refused, "Pods{}", "PeerPods{}")
	case values.MaaSAPIEgress:
		refused = append(refused, "Pods{}", "Defaults[].DNSPods{}")
	}
	return rendertest.Refused(refused...)
}

func TestHostileTexts(t *testing.T) {
	t.Parallel()
	for id, request := range requests(t) {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			if _, ok := request.Values.(values.MaaSAPIClusterRole); ok {
				request.Values = values.MaaSAPIClusterRole{Meta: request.Values.(values.MaaSAPIClusterRole).Meta}
			}
			rendertest.Hostile(t, parts.Engine(t), request, fields(request), clusterScoped(request))
		})
	}
}

// clusterScoped are the fields that an object of the whole cluster has no place for.
func clusterScoped(request render.Request) rendertest.Option {
	if request.Namespace != "" {
		return rendertest.Derived()
	}
	return rendertest.Derived("Meta.Namespace")
}

func FuzzHostileTexts(f *testing.F) {
	rendertest.Fuzz(f, parts.Engine(f), requests(f)[string(platform.RestrictEgressTemplate)], fields(requests(f)[string(platform.RestrictEgressTemplate)]))
}

// TestAnAdministratorsRulesArriveAsTheyAre draws rules with any text in them.
func TestAnAdministratorsRulesArriveAsTheyAre(t *testing.T) {
	t.Parallel()
	e := parts.Engine(t)
	rapid.Check(t, func(rt *rapid.T) {
		drawn := rapid.SliceOfN(rule(), 1, 4).Draw(rt, "rules")
		in := input(platform.Kubernetes)
		in.Config = &v1alpha1.Config{}
		in.Config.Spec.NetworkPolicyEgressRules = drawn
		out, err := platform.Build(in)
		if err != nil {
			rt.Fatalf("Build() error = %v", err)
		}
		for _, request := range out.Requests {
			if request.ID != platform.RestrictEgressTemplate {
				continue
			}
			object, err := e.Render(request)
			if err != nil {
				rt.Fatalf("Render() error = %v", err)
			}
			if diff := cmp.Diff(throughJSON(rt, drawn), throughJSON(rt, object.Object["spec"].(map[string]any)["egress"])); diff != "" {
				rt.Errorf("rules (-want +got):\n%s", diff)
			}
		}
	})
}

// rule draws an egress rule. The API server has only seen that its text is UTF-8.
func rule() *rapid.Generator[networkingv1.NetworkPolicyEgressRule] {
	text := rapid.OneOf(rapid.SampledFrom([]string{"yes", "null", "0x10", "a: b", "- a", "\n---\n", "{{ .Meta }}", "#", "\"", "1e3"}), rapid.String())
	return rapid.Custom(func(rt *rapid.T) networkingv1.NetworkPolicyEgressRule {
		port := intstr.FromInt32(rapid.Int32Range(1, 65535).Draw(rt, "port"))
		if rapid.Bool().Draw(rt, "named") {
			port = intstr.FromString(text.Draw(rt, "port name"))
		}
		out := networkingv1.NetworkPolicyEgressRule{}
		if rapid.Bool().Draw(rt, "ports") {
			out.Ports = []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP), Port: &port}}
		}
		if rapid.Bool().Draw(rt, "peers") {
			out.To = []networkingv1.NetworkPolicyPeer{
				{IPBlock: &networkingv1.IPBlock{CIDR: text.Draw(rt, "cidr")}},
				{
					PodSelector:       &metav1.LabelSelector{},
					NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{text.Draw(rt, "key"): text.Draw(rt, "value")}},
				},
			}
		}
		return out
	})
}

func throughJSON(rt *rapid.T, v any) any {
	content, err := json.Marshal(v)
	if err != nil {
		rt.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(content, &out); err != nil {
		rt.Fatal(err)
	}
	return out
}

func TestTheSameInputGivesTheSameRequests(t *testing.T) {
	t.Parallel()
	spec := rules("networkPolicyAdditionalEgressRules", ownRule+anotherRule)
	want := build(t, configured(t, platform.OpenShift, spec))
	for range 100 {
		if diff := cmp.Diff(want, build(t, configured(t, platform.OpenShift, spec))); diff != "" {
			t.Fatalf("Build() (-first +later):\n%s", diff)
		}
	}
}
