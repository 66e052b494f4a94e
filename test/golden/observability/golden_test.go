// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package observability_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/monitoring"
	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/test/golden"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// input is the shape of a case's in.yaml.
type input struct {
	ControllerNamespace     string   `json:"controllerNamespace"`
	InfraNamespace          string   `json:"infraNamespace"`
	GatewayNamespace        string   `json:"gatewayNamespace"`
	MonitoringNamespace     string   `json:"monitoringNamespace"`
	AuthorinoNamespaces     []string `json:"authorinoNamespaces"`
	LimitadorScrapeInterval string   `json:"limitadorScrapeInterval"`
	Stacks                  bool     `json:"stacks"`
}

func platforms() []string { return []string{platform.OpenShift, platform.Kubernetes} }

func build(t *testing.T, name, on string) monitoring.Output {
	t.Helper()
	in := golden.Load[input](t, filepath.Join("testdata", name, "in.yaml"))
	out, err := monitoring.Build(monitoring.Input{
		Platform: on, ControllerNamespace: in.ControllerNamespace, InfraNamespace: in.InfraNamespace, GatewayNamespace: in.GatewayNamespace,
		MonitoringNamespace: in.MonitoringNamespace, AuthorinoNamespaces: in.AuthorinoNamespaces, LimitadorInterval: in.LimitadorScrapeInterval, Stacks: in.Stacks,
	})
	if err != nil {
		t.Fatalf("Build() error = %v", err)
	}
	return out
}

func rendered(t *testing.T, requests []render.Request) []*unstructured.Unstructured {
	t.Helper()
	objects, err := parts.Engine(t).RenderAll(requests)
	if err != nil {
		t.Fatalf("RenderAll() error = %v", err)
	}
	return objects
}

// Monitors are compared in each case, on each platform. Alerts and dashboards depend on
// less: they are in the first case, and the next test wants them to be the same in others
// but for the namespaces.
func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, name := range golden.Cases(t, "testdata") {
		for _, on := range platforms() {
			t.Run(name+" on "+on, func(t *testing.T) {
				t.Parallel()
				out := build(t, name, on)
				objects := rendered(t, out.Requests)
				if name != "defaults" || on != platform.OpenShift {
					objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return !strings.HasSuffix(o.GetKind(), "Monitor") })
				}
				golden.YAML(t, filepath.Join("testdata", name, "out."+on+".yaml"), golden.Documents(objects)...)
				if len(out.Warnings) > 0 {
					golden.Text(t, filepath.Join("testdata", name, "warnings.txt"), []byte(strings.Join(out.Warnings, "\n")+"\n"))
				}
			})
		}
	}
}

// TestAlertsAndDashboardsDependOnNamespacesOnly writes the objects of every case with the
// namespaces of the first, and the group of its rules: a MonitoringStack is told the same.
func TestAlertsAndDashboardsDependOnNamespacesOnly(t *testing.T) {
	t.Parallel()
	text := func(name, on string) string {
		in := golden.Load[input](t, filepath.Join("testdata", name, "in.yaml"))
		var others []any
		for _, o := range rendered(t, build(t, name, on).Requests) {
			if !strings.HasSuffix(o.GetKind(), "Monitor") {
				others = append(others, o)
			}
		}
		content, err := golden.Marshal(others...)
		if err != nil {
			t.Fatal(err)
		}
		group := "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\n"
		stack := strings.ReplaceAll(group, ".coreos.com", ".rhobs")
		if strings.Contains(string(content), stack) != in.Stacks || in.Stacks && strings.Contains(string(content), group) {
			t.Errorf("%s on %s has rules of the wrong group", name, on)
		}
		names := []string{stack, group, "namespace: " + in.MonitoringNamespace + "\n", "namespace: MONITORING\n", `="` + in.GatewayNamespace + `"`, `="GATEWAYS"`}
		return strings.NewReplacer(names...).Replace(string(content))
	}
	want := text("defaults", platform.OpenShift)
	if !strings.Contains(want, "MONITORING") || !strings.Contains(want, "GATEWAYS") {
		t.Fatal("the first case names no namespaces")
	}
	for _, name := range golden.Cases(t, "testdata") {
		for _, on := range platforms() {
			if got := text(name, on); name != "no-monitoring" && got != want {
				t.Errorf("%s on %s has other alerts or dashboards than the first case", name, on)
			}
		}
	}
}

// TestTheCasesShowEveryTemplate makes sure that no template has no golden file.
func TestTheCasesShowEveryTemplate(t *testing.T) {
	t.Parallel()
	shown := map[render.ID]bool{}
	for _, name := range golden.Cases(t, "testdata") {
		for _, request := range build(t, name, platform.OpenShift).Requests {
			shown[request.ID] = true
		}
	}
	templates := slices.DeleteFunc(desired.Components(), func(e render.Entry) bool { return !strings.HasPrefix(string(e.ID), "observability/") })
	for _, template := range templates {
		if !shown[template.ID] {
			t.Errorf("no case shows %s", template.ID)
		}
	}
	if len(templates) == 0 {
		t.Error("there are no templates")
	}
}
