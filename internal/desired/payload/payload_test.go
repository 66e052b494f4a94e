// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package payload_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/payload"
	"github.com/opendatahub-io/maas-operator/internal/desired/publicpath"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

const (
	infra    = "odh-ai-gateway-infra"
	gateways = "openshift-ingress"
)

// longest is a name of the greatest length an AITenant may have.
var longest = strings.Repeat("n", 41)

func names() []string { return []string{tenancy.DefaultName, "red-team", longest} }

func input(name string, openshift bool) payload.Input {
	tenant := tenancy.Context{Name: name, ID: name, Gateway: types.NamespacedName{Namespace: gateways, Name: name}}
	if name == tenancy.DefaultName {
		tenant.ID, tenant.Gateway.Name = "", "maas-default-gateway"
	}
	return payload.Input{
		Config: &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "namespace-of-" + name, Name: v1alpha1.DefaultTenantConfigName}},
		Tenant: tenant, Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue},
		Settings: payload.Settings{OpenShift: openshift, InfraNamespace: infra, MonitoringNamespace: "monitoring"},
	}
}

func requests(in payload.Input) []render.Request {
	out := payload.Build(in)
	return append(slices.Clone(out.Requests), out.Filter)
}

// object is the rendered object of a template, as a T; the zero value when none is
// wanted.
func object[T any](t *testing.T, in payload.Input, id render.ID) (typed T) {
	t.Helper()
	for _, r := range requests(in) {
		if r.ID != id {
			continue
		}
		rendered, err := parts.Engine(t).Render(r)
		if err != nil {
			t.Fatalf("Render() error = %v", err)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(rendered.Object, &typed, true); err != nil {
			t.Fatalf("decode %s: %v", id, err)
		}
	}
	return typed
}

func filter(t *testing.T, in payload.Input) *unstructured.Unstructured {
	t.Helper()
	rendered, err := parts.Engine(t).Render(payload.Build(in).Filter)
	if err != nil {
		t.Fatalf("Render() error = %v", err)
	}
	return rendered
}

func at[T any](t *testing.T, o map[string]any, fields ...string) T {
	t.Helper()
	value, found, err := unstructured.NestedFieldNoCopy(o, fields...)
	typed, ok := value.(T)
	if err != nil || !found || !ok {
		t.Fatalf("%s is %T, %v", strings.Join(fields, "."), value, err)
	}
	return typed
}

// TestReplicas has rows E-128 to E-134, for payload processing.
func TestReplicas(t *testing.T) {
	t.Parallel()
	type scale struct{ Min, Max, CPU, Memory int32 }
	spec := func(replicas *int32, autoscaling *v1alpha1.PayloadAutoscalingConfig) *v1alpha1.PayloadProcessingConfig {
		return &v1alpha1.PayloadProcessingConfig{Replicas: replicas, Autoscaling: autoscaling}
	}
	for name, tc := range map[string]struct {
		spec       *v1alpha1.PayloadProcessingConfig
		annotation *string
		want       int32
		scale      *scale
		warns      string
	}{
		"nothing said":                    {want: 1},
		"an annotation":                   {annotation: new("3"), want: 3},
		"an annotation that is no number": {annotation: new("abc"), want: 1, warns: "payload-processing-replicas"},
		"none":                            {annotation: new("0"), want: 1, warns: "payload-processing-replicas"},
		"fewer than none":                 {annotation: new("-1"), want: 1, warns: "payload-processing-replicas"},
		"too many":                        {annotation: new("101"), want: 1, warns: "payload-processing-replicas"},
		"the spec":                        {spec: spec(new(int32(4)), nil), want: 4},
		"the spec wins":                   {spec: spec(new(int32(4)), nil), annotation: new("abc"), want: 4},
		"a stored number below one":       {spec: spec(new(int32(0)), nil), want: 1},
		"autoscaling":                     {spec: spec(nil, &v1alpha1.PayloadAutoscalingConfig{}), scale: &scale{1, 10, 70, 80}},
		"autoscaling from three":          {spec: spec(new(int32(3)), &v1alpha1.PayloadAutoscalingConfig{}), scale: &scale{3, 10, 70, 80}},
		"autoscaling, all said": {
			spec:  spec(nil, &v1alpha1.PayloadAutoscalingConfig{MaxReplicas: new(int32(7)), TargetCPUUtilization: new(int32(50)), TargetMemoryUtilization: new(int32(60))}),
			scale: &scale{1, 7, 50, 60},
		},
		"autoscaling to fewer than there are": {
			spec: spec(new(int32(8)), &v1alpha1.PayloadAutoscalingConfig{MaxReplicas: new(int32(5))}), scale: &scale{8, 8, 70, 80}, warns: "maxReplicas",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input("red-team", false)
			in.Config.Spec.PayloadProcessing = tc.spec
			if tc.annotation != nil {
				in.Config.Annotations = map[string]string{v1alpha1.AnnotationPayloadProcessingReplicas: *tc.annotation}
			}
			replicas := object[appsv1.Deployment](t, in, payload.DeploymentTemplate).Spec.Replicas
			hpa := object[autoscalingv2.HorizontalPodAutoscaler](t, in, payload.AutoscalerTemplate)
			if tc.scale == nil {
				if replicas == nil || *replicas != tc.want || hpa.Name != "" {
					t.Errorf("replicas = %v, autoscaler %q, want %d and none", replicas, hpa.Name, tc.want)
				}
			} else {
				got := scale{*hpa.Spec.MinReplicas, hpa.Spec.MaxReplicas, *hpa.Spec.Metrics[0].Resource.Target.AverageUtilization, *hpa.Spec.Metrics[1].Resource.Target.AverageUtilization}
				if diff := cmp.Diff(*tc.scale, got); diff != "" || replicas != nil {
					t.Errorf("replicas %v, scale (-want +got):\n%s", replicas, diff)
				}
				if hpa.Name != "payload-processing-red-team" || hpa.Spec.ScaleTargetRef.Name != hpa.Name {
					t.Errorf("autoscaler %s of %s", hpa.Name, hpa.Spec.ScaleTargetRef.Name)
				}
			}
			warnings := strings.Join(payload.Build(in).Warnings, " ")
			if (tc.warns == "") != (warnings == "") || !strings.Contains(warnings, tc.warns) {
				t.Errorf("warnings = %q", warnings)
			}
			if pre := object[appsv1.Deployment](t, in, payload.PreDeploymentTemplate).Spec.Replicas; pre == nil || *pre != 1 {
				t.Errorf("the pre-processor has %v replicas", pre)
			}
		})
	}
}

// TestManagementIsNotProcessed has failure A88 and row E-135: the processors are asked
// for no rule of the route to maas-api, whatever their number.
func TestManagementIsNotProcessed(t *testing.T) {
	t.Parallel()
	for _, name := range names() {
		in := input(name, true)
		o := filter(t, in)
		var disabled []string
		for _, p := range at[[]any](t, o.Object, "spec", "configPatches") {
			patch, ok := p.(map[string]any)
			if !ok || patch["applyTo"] != "HTTP_ROUTE" {
				continue
			}
			disabled = append(disabled, at[string](t, patch, "match", "routeConfiguration", "vhost", "route", "name"))
			config := at[map[string]any](t, patch, "patch", "value", "typed_per_filter_config")
			for _, processor := range []string{"ipp", "ipp-pre"} {
				if got := at[map[string]any](t, config, "envoy.filters.http.ext_proc."+processor); got["disabled"] != true {
					t.Errorf("%s: %v", name, got)
				}
			}
		}
		var want []string
		for i := range publicpath.Paths() {
			want = append(want, fmt.Sprintf("%s.%s.%d", infra, in.Tenant.MaaSAPIRoute(), i))
		}
		if diff := cmp.Diff(want, disabled); diff != "" {
			t.Errorf("%s: rules (-want +got):\n%s", name, diff)
		}
	}
}

// TestTheGatewayAsksBothProcessors has the rest of row E-135.
func TestTheGatewayAsksBothProcessors(t *testing.T) {
	t.Parallel()
	in := input("red-team", true)
	o := filter(t, in)
	if at[int64](t, o.Object, "spec", "priority") != 10 {
		t.Error("Kuadrant's EnvoyFilter would come later")
	}
	if diff := cmp.Diff(map[string]any{"labels": map[string]any{"gateway.networking.k8s.io/gateway-name": "red-team"}}, at[map[string]any](t, o.Object, "spec", "workloadSelector")); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
	for _, field := range []string{"targetRefs", "targetRef"} {
		if _, found, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", field); found {
			t.Errorf("%s beside the selector", field)
		}
	}
	type asked struct {
		Anchor, Operation, Name, Cluster string
		Open                             bool
	}
	var got []asked
	for _, p := range at[[]any](t, o.Object, "spec", "configPatches") {
		patch, ok := p.(map[string]any)
		if !ok || patch["applyTo"] != "HTTP_FILTER" {
			continue
		}
		config := at[map[string]any](t, patch, "patch", "value", "typed_config")
		got = append(got, asked{
			Anchor:    at[string](t, patch, "match", "listener", "filterChain", "filter", "subFilter", "name"),
			Operation: at[string](t, patch, "patch", "operation"), Name: at[string](t, patch, "patch", "value", "name"),
			Cluster: at[string](t, config, "grpc_service", "envoy_grpc", "cluster_name"), Open: at[bool](t, config, "failure_mode_allow"),
		})
	}
	const (
		pre    = "outbound|9004||payload-pre-processing-red-team.openshift-ingress.svc.cluster.local"
		post   = "outbound|9004||payload-processing-red-team.openshift-ingress.svc.cluster.local"
		plugin = "extensions.istio.io/wasmplugin/openshift-ingress.kuadrant-red-team"
		wasm   = "envoy.filters.http.wasm"
		ipp    = "envoy.filters.http.ext_proc.ipp"
	)
	want := []asked{
		{plugin, "INSERT_BEFORE", ipp + "-pre", pre, true},
		{plugin, "INSERT_AFTER", ipp, post, false},
		{wasm, "INSERT_BEFORE", ipp + "-pre", pre, true},
		{wasm, "INSERT_AFTER", ipp, post, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("filters (-want +got):\n%s", diff)
	}
}

// TestOnlyGatewaysReachTheProcessors has failure A88 and row E-147.
func TestOnlyGatewaysReachTheProcessors(t *testing.T) {
	t.Parallel()
	for _, name := range names() {
		for _, openshift := range []bool{true, false} {
			in := input(name, openshift)
			spec := object[networkingv1.NetworkPolicy](t, in, payload.NetworkTemplate).Spec
			selected, err := metav1.LabelSelectorAsSelector(&spec.PodSelector)
			if err != nil {
				t.Fatal(err)
			}
			for _, other := range names() {
				for _, id := range []render.ID{payload.DeploymentTemplate, payload.PreDeploymentTemplate} {
					pods := object[appsv1.Deployment](t, input(other, openshift), id).Spec.Template.Labels
					if got := selected.Matches(labels.Set(pods)); got != (name == other) {
						t.Errorf("the policy of %s selects %s of %s: %t", name, id, other, got)
					}
				}
			}
			from := networkingv1.NetworkPolicyPeer{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": gateways}},
				PodSelector:       &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "gateway.istio.io/managed", Operator: metav1.LabelSelectorOpExists}}},
			}
			if diff := cmp.Diff([]networkingv1.NetworkPolicyPeer{from}, spec.Ingress[0].From); diff != "" || len(spec.Ingress[0].Ports) != 1 || spec.Ingress[0].Ports[0].Port.IntValue() != 9004 {
				t.Errorf("%s: who reaches them (-want +got):\n%s", name, diff)
			}
			monitoring := []string{"monitoring"}
			if openshift {
				monitoring = []string{"openshift-monitoring", "openshift-user-workload-monitoring", "monitoring"}
			}
			if diff := cmp.Diff(monitoring, spec.Ingress[1].From[0].NamespaceSelector.MatchExpressions[0].Values); diff != "" {
				t.Errorf("%s: monitoring (-want +got):\n%s", name, diff)
			}
		}
	}
	alone := input("red-team", false)
	alone.Settings.MonitoringNamespace = ""
	if got := len(object[networkingv1.NetworkPolicy](t, alone, payload.NetworkTemplate).Spec.Ingress); got != 1 {
		t.Errorf("%d rules where nobody reads metrics", got)
	}
}

// TestNoProcessorMakesRoutes has failure A53: the operator alone writes the objects of
// external models. It goes further than row E-136, which leaves them to the processor of
// the default tenant.
func TestNoProcessorMakesRoutes(t *testing.T) {
	t.Parallel()
	for _, name := range names() {
		for _, id := range []render.ID{payload.DeploymentTemplate, payload.PreDeploymentTemplate} {
			env := map[string]string{}
			for _, e := range object[appsv1.Deployment](t, input(name, true), id).Spec.Template.Spec.Containers[0].Env {
				env[e.Name] = e.Value
			}
			if env["DISABLE_EXTERNAL_MODEL_CONTROLLER"] != "true" {
				t.Errorf("%s of %s: %v", id, name, env)
			}
		}
	}
}

// TestPluginsAreLeftToTheAdministrator has rows E-140 and E-141.
func TestPluginsAreLeftToTheAdministrator(t *testing.T) {
	t.Parallel()
	for managed, want := range map[bool]string{false: "false", true: "true"} {
		in := input("red-team", false)
		in.PluginsManaged = managed
		if got := object[corev1.ConfigMap](t, in, payload.PluginsTemplate).Annotations["opendatahub.io/managed"]; got != want {
			t.Errorf("annotation %q, want %q", got, want)
		}
	}
}

// TestPluginsAreConfigured reads the configurations as their program does, as far as is
// known: each profile names plugins that there are.
func TestPluginsAreConfigured(t *testing.T) {
	t.Parallel()
	type reference struct {
		PluginRef string `json:"pluginRef"`
	}
	type config struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Plugins    []struct {
			Type       string            `json:"type"`
			Name       string            `json:"name"`
			Parameters map[string]string `json:"parameters"`
		} `json:"plugins"`
		Profiles []struct {
			Name    string `json:"name"`
			Plugins struct {
				Request  []reference `json:"request"`
				Response []reference `json:"response"`
			} `json:"plugins"`
		} `json:"profiles"`
	}
	in := input("red-team", false)
	data := object[corev1.ConfigMap](t, in, payload.PluginsTemplate).Data
	for id, want := range map[render.ID][]string{
		payload.DeploymentTemplate:    {"maas-headers-guard", "stream-usage-enforcer", "model-provider-resolver", "api-translation", "apikey-injection"},
		payload.PreDeploymentTemplate: {"model-extractor", "model-provider-resolver"},
	} {
		args := object[appsv1.Deployment](t, in, id).Spec.Template.Spec.Containers[0].Args
		file := strings.TrimPrefix(args[1], "/config/")
		var parsed config
		if err := yaml.UnmarshalStrict([]byte(data[file]), &parsed); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var there, used []string
		for _, p := range parsed.Plugins {
			if p.Name == "" {
				p.Name = p.Type
			}
			there = append(there, p.Name)
		}
		for _, r := range parsed.Profiles[0].Plugins.Request {
			used = append(used, r.PluginRef)
		}
		if len(parsed.Profiles) != 1 || parsed.Kind != "PayloadProcessorConfig" || len(parsed.Profiles[0].Plugins.Response) > 0 {
			t.Errorf("%s: %+v", file, parsed)
		}
		if diff := cmp.Diff([][]string{want, want}, [][]string{there, used}); diff != "" {
			t.Errorf("%s: plugins there, and used (-want +got):\n%s", file, diff)
		}
	}
	if len(data) != 2 {
		t.Errorf("%d configurations", len(data))
	}
}
