// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
	"github.com/opendatahub-io/maas-operator/internal/desired/telemetry"
	"github.com/opendatahub-io/maas-operator/internal/desired/usage"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/netpol"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

const (
	mon     = "redhat-ods-monitoring"
	ingress = "openshift-ingress"
)

func input(on string) usage.Input {
	return usage.Input{Platform: on, GatewayNamespace: ingress, MonitoringNamespace: mon, CollectorServed: true}
}

// objects are those of an installation by kind and name.
func objects(tb testing.TB, in usage.Input) map[string]*unstructured.Unstructured {
	tb.Helper()
	requests, err := usage.Build(in)
	if err != nil {
		tb.Fatalf("Build() error = %v", err)
	}
	return rendered(tb, requests...)
}

func rendered(tb testing.TB, requests ...render.Request) map[string]*unstructured.Unstructured {
	tb.Helper()
	all, err := parts.Engine(tb).RenderAll(requests)
	if err != nil {
		tb.Fatalf("RenderAll() error = %v", err)
	}
	byName := map[string]*unstructured.Unstructured{}
	for _, object := range all {
		byName[object.GetKind()+" "+object.GetName()] = object
	}
	return byName
}

func TestNobodyGetsTheRightsOfACollectorThatCannotBe(t *testing.T) {
	t.Parallel()
	const binding = "ClusterRoleBinding usage-collector-application-logs-write"
	for _, served := range []bool{true, false} {
		in := input(platform.OpenShift)
		in.CollectorServed = served
		if got := objects(t, in)[binding] != nil; got != served {
			t.Errorf("served %t: bound %t", served, got)
		}
	}
}

func TestBrokenInputIsRefused(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*usage.Input){
		func(in *usage.Input) { in.Platform = "other" }, func(in *usage.Input) { in.MonitoringNamespace = "" }, func(in *usage.Input) { in.GatewayNamespace = "" },
	} {
		in := input(platform.OpenShift)
		change(&in)
		if _, err := usage.Build(in); err == nil {
			t.Errorf("%+v is accepted", in)
		}
	}
}

// OpenShift's own things are asked for on OpenShift only.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	for _, on := range []string{platform.OpenShift, platform.Kubernetes} {
		for name, object := range objects(t, input(on)) {
			text, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			if on == platform.Kubernetes && strings.Contains(string(text), "openshift.io") {
				t.Errorf("%s names OpenShift on Kubernetes: %s", name, text)
			}
		}
	}
	if got := len(objects(t, input(platform.OpenShift))) - len(objects(t, input(platform.Kubernetes))); got != 2 {
		t.Errorf("OpenShift has %d objects more, want the two ConfigMaps", got)
	}
}

// Addresses of other Pods are full ones: a dashboard is looked at from elsewhere.
func TestAddressesAreFull(t *testing.T) {
	t.Parallel()
	all := objects(t, input(platform.OpenShift))
	for name, want := range map[string]string{
		"PersesDatasource usage-logs-all":           "https://usage-gateway-http." + mon + ".svc:8080/api/logs/v1/application",
		"PersesDatasource usage-logs-multi-tenancy": "https://usage-logs-tenancy-proxy." + mon + ".svc:8443",
	} {
		got, _, err := unstructured.NestedString(all[name].Object, "spec", "config", "plugin", "spec", "proxy", "spec", "url")
		if err != nil || got != want {
			t.Errorf("%s has URL %q, error %v", name, got, err)
		}
	}
}

// policies are the NetworkPolicies of an installation.
func policies(tb testing.TB, on string) netpol.Cluster {
	tb.Helper()
	var c netpol.Cluster
	for _, object := range objects(tb, input(on)) {
		if object.GetKind() != "NetworkPolicy" {
			continue
		}
		var policy networkingv1.NetworkPolicy
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &policy, true); err != nil {
			tb.Fatal(err)
		}
		c.Policies = append(c.Policies, policy)
	}
	return c
}

func TestEveryPolicySelectsPodsThatThereAre(t *testing.T) {
	t.Parallel()
	pods := []map[string]string{
		{"app.kubernetes.io/name": "usage-logs-collector", "app.kubernetes.io/component": "opentelemetry-collector"},
		{"app": "usage-tenancy-proxy"},
	}
	for _, policy := range policies(t, platform.OpenShift).Policies {
		if !slices.ContainsFunc(pods, func(p map[string]string) bool {
			return fmt.Sprint(p) == fmt.Sprint(policy.Spec.PodSelector.MatchLabels)
		}) {
			t.Errorf("%s selects %v", policy.Name, policy.Spec.PodSelector)
		}
	}
}

// tenants are the default one and the one with the longest name.
func tenants() []tenancy.Context {
	longest := strings.Repeat("a", 41)
	return []tenancy.Context{
		{Name: tenancy.DefaultName, Gateway: types.NamespacedName{Namespace: ingress, Name: "maas-default-gateway"}},
		{Name: longest, ID: longest, Gateway: types.NamespacedName{Namespace: ingress, Name: "longest"}},
	}
}

func filter(tb testing.TB, t tenancy.Context, logs telemetry.Logs) *unstructured.Unstructured {
	tb.Helper()
	for _, object := range rendered(tb, usage.TenantFilter(usage.TenantInput{Tenant: t, MonitoringNamespace: mon, Logs: logs})) {
		return object
	}
	tb.Fatal("there is no EnvoyFilter")
	return nil
}

// texts are all strings in an object.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case map[string]any:
		var all []string
		for _, member := range v {
			all = append(all, texts(member)...)
		}
		return all
	case []any:
		var all []string
		for _, member := range v {
			all = append(all, texts(member)...)
		}
		return all
	default:
		return nil
	}
}

func TestIdentityIsRecordedByTheSwitches(t *testing.T) {
	t.Parallel()
	for _, tenant := range tenants() {
		for _, logs := range []telemetry.Logs{{}, {User: true}, {Organization: true}, {User: true, Organization: true}} {
			all := texts(filter(t, tenant, logs).Object)
			for attribute, want := range map[string]bool{
				"user_id": logs.User, "groups": logs.User, "key_id": logs.User, "key_name": logs.User, "organization_id": logs.Organization,
				"subscription": true, "model": true, "response_code": true, "tokens_total": true,
			} {
				if slices.Contains(all, attribute) != want {
					t.Errorf("%s with %+v: attribute %s, want %t", tenant.Name, logs, attribute, want)
				}
			}
			for property, want := range map[string]bool{"userid": logs.User, "groups_str": logs.User, "keyId": logs.User, "subject": false, "organizationId": logs.Organization} {
				got := slices.ContainsFunc(all, func(s string) bool { return regexp.MustCompile(`identity\.(\w+\.)?` + property + `:`).MatchString(s) })
				if got != want {
					t.Errorf("%s with %+v: property %s, want %t", tenant.Name, logs, property, want)
				}
			}
		}
	}
}

// A header of the name of a user can be written by anybody.
func TestNoAttributeIsTakenFromAHeader(t *testing.T) {
	t.Parallel()
	for _, text := range texts(filter(t, tenants()[0], telemetry.Logs{User: true, Organization: true}).Object) {
		if strings.Contains(text, "%REQ(") || strings.Contains(strings.ToLower(text), "x-maas-") {
			t.Errorf("there is %q", text)
		}
	}
}

func TestEachGatewayHasAFilterOfItsOwn(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, tenant := range tenants() {
		object := filter(t, tenant, telemetry.Logs{})
		got, _, err := unstructured.NestedString(object.Object, "spec", "workloadSelector", "labels", "gateway.networking.k8s.io/gateway-name")
		if err != nil || got != tenant.Gateway.Name || object.GetNamespace() != ingress || len(object.GetName()) > 253 {
			t.Errorf("%s/%s selects %q, error %v", object.GetNamespace(), object.GetName(), got, err)
		}
		names[object.GetName()] = true
	}
	if len(names) != len(tenants()) || !names["maas-model-access-logs"] {
		t.Errorf("names %v", names)
	}
}

func TestPathsThatUseTokens(t *testing.T) {
	t.Parallel()
	var expressions []string
	for _, text := range texts(filter(t, tenants()[0], telemetry.Logs{}).Object) {
		if strings.Contains(text, "completions(") {
			expressions = append(expressions, text)
		}
	}
	if len(expressions) != 2 || expressions[0] != expressions[1] {
		t.Fatalf("expressions %q", expressions)
	}
	paths := regexp.MustCompile(expressions[0])
	for path, want := range map[string]bool{
		"/v1/chat/completions": true, "/v1/completions": true, "/llm/m/v1/chat/completions": true, "/llm/m/v1/completions?a=b": true,
		"/v1/models": false, "/v1/chat/completions/x": false, "/x?/v1/completions": false, "/v1/completionsx": false, "/maas-api/v1/api-keys": false,
	} {
		if paths.MatchString(path) != want {
			t.Errorf("%s: want %t", path, want)
		}
	}
}

// Names of namespaces and Gateways change nothing but where they are written.
func TestNamesStayInTheirPlaces(t *testing.T) {
	t.Parallel()
	name := rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,60}[a-z0-9])?`)
	rapid.Check(t, func(rt *rapid.T) {
		in := input(rapid.SampledFrom([]string{platform.OpenShift, platform.Kubernetes}).Draw(rt, "platform"))
		in.MonitoringNamespace, in.GatewayNamespace = name.Draw(rt, "monitoring"), name.Draw(rt, "gateways")
		for key, object := range objects(t, in) {
			if ns := object.GetNamespace(); ns != "" && ns != in.MonitoringNamespace {
				rt.Errorf("%s is in %s", key, ns)
			}
			for _, text := range texts(object.Object) {
				if !strings.HasPrefix(text, "https://") {
					continue
				}
				if address, err := url.Parse(text); err != nil || !strings.HasSuffix(address.Hostname(), "."+in.MonitoringNamespace+".svc") {
					rt.Errorf("%s has address %s", key, text)
				}
			}
		}
	})
}
