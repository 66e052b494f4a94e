// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
	"github.com/opendatahub-io/maas-operator/internal/desired/telemetry"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/desired/usage"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/golden"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// input is the shape of a case's in.yaml: either what is shared, or a tenant.
type input struct {
	Shared              *usage.Input                  `json:"shared"`
	Tenant              tenancy.Context               `json:"tenant"`
	MonitoringNamespace string                        `json:"monitoringNamespace"`
	Logs                *v1alpha1.TelemetryLogsConfig `json:"logs"`
}

// build returns the objects of a case by the name of the file that shows them.
func build(t *testing.T, name string) map[string][]render.Request {
	t.Helper()
	in := golden.Load[input](t, filepath.Join("testdata", name, "in.yaml"))
	if in.Shared == nil {
		switches := telemetry.SwitchesOf(&v1alpha1.TenantTelemetryConfig{Logs: in.Logs})
		return map[string][]render.Request{"out.yaml": {usage.TenantFilter(usage.TenantInput{
			Tenant: in.Tenant, Labels: tenant.Labels(in.Tenant, "ai-tenant-"+in.Tenant.Name), MonitoringNamespace: in.MonitoringNamespace, Logs: switches.Logs,
		})}}
	}
	out := map[string][]render.Request{}
	for _, on := range []string{platform.OpenShift, platform.Kubernetes} {
		shared := *in.Shared
		shared.Platform = on
		requests, err := usage.Build(shared)
		if err != nil {
			t.Fatalf("Build() error = %v", err)
		}
		out["out."+on+".yaml"] = requests
	}
	return out
}

func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, name := range golden.Cases(t, "testdata") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for file, requests := range build(t, name) {
				rendered, err := parts.Engine(t).RenderAll(requests)
				if err != nil {
					t.Fatalf("RenderAll() error = %v", err)
				}
				golden.YAML(t, filepath.Join("testdata", name, file), golden.Documents(rendered)...)
			}
		})
	}
}

// TestTheCasesShowEveryTemplate makes sure that no template has no golden file.
func TestTheCasesShowEveryTemplate(t *testing.T) {
	t.Parallel()
	shown := map[render.ID]bool{}
	for _, name := range golden.Cases(t, "testdata") {
		for _, requests := range build(t, name) {
			for _, request := range requests {
				shown[request.ID] = true
			}
		}
	}
	templates := slices.DeleteFunc(desired.Components(), func(e render.Entry) bool {
		return !strings.HasPrefix(string(e.ID), "usage/") && e.ID != usage.AccessLogTemplate
	})
	if len(templates) != len(shown) {
		t.Errorf("%d templates, %d of them shown", len(templates), len(shown))
	}
	for _, template := range templates {
		if !shown[template.ID] {
			t.Errorf("no case shows %s", template.ID)
		}
	}
}
