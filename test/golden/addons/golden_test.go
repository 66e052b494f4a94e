// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package addons_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/payload"
	"github.com/opendatahub-io/maas-operator/internal/desired/telemetry"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/golden"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// input is the shape of a case's in.yaml.
type input struct {
	// Config is the MaasTenantConfig.
	Config v1alpha1.MaasTenantConfig `json:"config"`
	// Tenant is whose it is.
	Tenant tenancy.Context `json:"tenant"`
	// PluginsManaged is set when somebody handed the configuration of plugins back.
	PluginsManaged bool `json:"pluginsManaged"`
	// MonitoringNamespace is that of the platform's monitoring, if it has one.
	MonitoringNamespace string `json:"monitoringNamespace"`
}

func platforms() []string { return []string{tenant.OpenShift, tenant.Kubernetes} }

// outcome is what comes of a case.
type outcome struct {
	telemetry, payload []*unstructured.Unstructured
	ids                []render.ID
	warnings           []string
}

func build(t *testing.T, name, on string) outcome {
	t.Helper()
	in := golden.Load[input](t, filepath.Join("testdata", name, "in.yaml"))
	settings := tenant.Settings{Platform: on, InfraNamespace: "odh-ai-gateway-infra", MonitoringNamespace: in.MonitoringNamespace}
	labels := tenant.Labels(in.Tenant, in.Config.Namespace)
	metrics, err := telemetry.Build(telemetry.Input{Tenant: in.Tenant, Spec: in.Config.Spec.Telemetry, Labels: labels})
	if err != nil {
		t.Fatalf("telemetry.Build() error = %v", err)
	}
	out := payload.Build(payload.Input{Config: &in.Config, Tenant: in.Tenant, PluginsManaged: in.PluginsManaged, Labels: labels, Settings: settings.Payload()})
	processing := append(slices.Clone(out.Requests), out.Filter)
	result := outcome{warnings: out.Warnings}
	for _, r := range slices.Concat(metrics, processing) {
		result.ids = append(result.ids, r.ID)
	}
	e := parts.Engine(t)
	if result.telemetry, err = e.RenderAll(metrics); err != nil {
		t.Fatalf("RenderAll() error = %v", err)
	}
	if result.payload, err = e.RenderAll(processing); err != nil {
		t.Fatalf("RenderAll() error = %v", err)
	}
	return result
}

// Every case is there once for each platform. What is about telemetry is the same on
// both, and what is about payload processing is left out of cases about telemetry.
func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, name := range golden.Cases(t, "testdata") {
		for _, on := range platforms() {
			t.Run(name+" on "+on, func(t *testing.T) {
				t.Parallel()
				dir, got := filepath.Join("testdata", name), build(t, name, on)
				if len(got.telemetry) > 0 {
					golden.YAML(t, filepath.Join(dir, "telemetry.yaml"), golden.Documents(got.telemetry)...)
				}
				if len(got.warnings) > 0 {
					golden.Text(t, filepath.Join(dir, "warnings.txt"), []byte(strings.Join(got.warnings, "\n")+"\n"))
				}
				if !strings.HasPrefix(name, "telemetry-") {
					golden.YAML(t, filepath.Join(dir, "payload."+on+".yaml"), golden.Documents(got.payload)...)
				}
			})
		}
	}
}

// TestTheCasesShowEveryTemplate makes sure that no template has no golden file.
func TestTheCasesShowEveryTemplate(t *testing.T) {
	t.Parallel()
	shown := map[render.ID]bool{}
	for _, name := range golden.Cases(t, "testdata") {
		for _, id := range build(t, name, tenant.OpenShift).ids {
			shown[id] = true
		}
	}
	count := 0
	for _, entry := range desired.Components() {
		if id := string(entry.ID); strings.HasPrefix(id, "payload/") || strings.HasPrefix(id, "gateway/telemetry") {
			count++
			if !shown[entry.ID] {
				t.Errorf("no case shows %s", entry.ID)
			}
		}
	}
	if count != len(shown) {
		t.Errorf("%d templates, and cases show %d", count, len(shown))
	}
}

func TestTelemetryThatIsOffHasNoObjects(t *testing.T) {
	t.Parallel()
	if got := build(t, "telemetry-off", tenant.OpenShift).telemetry; len(got) > 0 {
		t.Errorf("%d objects", len(got))
	}
}
