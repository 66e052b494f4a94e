// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/test/golden"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// input is the shape of a case's in.yaml.
type input struct {
	Config              *v1alpha1.Config `json:"config"`
	ControllerNamespace string           `json:"controllerNamespace"`
	InfraNamespace      string           `json:"infraNamespace"`
	GatewayNamespace    string           `json:"gatewayNamespace"`
	MonitoringNamespace string           `json:"monitoringNamespace"`
	AuthorinoNamespaces []string         `json:"authorinoNamespaces"`
}

func load(t *testing.T, file, on string) platform.Input {
	t.Helper()
	in := golden.Load[input](t, file)
	return platform.Input{
		Config: in.Config, Platform: on, ControllerNamespace: in.ControllerNamespace, InfraNamespace: in.InfraNamespace,
		GatewayNamespace: in.GatewayNamespace, MonitoringNamespace: in.MonitoringNamespace, AuthorinoNamespaces: in.AuthorinoNamespaces,
	}
}

// Every case is there once for each platform.
func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, name := range golden.Cases(t, "testdata") {
		for _, on := range []string{platform.OpenShift, platform.Kubernetes} {
			t.Run(name+" on "+on, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join("testdata", name)
				out, err := platform.Build(load(t, filepath.Join(dir, "in.yaml"), on))
				if err != nil {
					t.Fatalf("Build() error = %v", err)
				}
				rendered, err := parts.Engine(t).RenderAll(out.Requests)
				if err != nil {
					t.Fatalf("RenderAll() error = %v", err)
				}
				golden.YAML(t, filepath.Join(dir, "out."+on+".yaml"), golden.Documents(rendered)...)
				if len(out.Warnings) > 0 {
					golden.Text(t, filepath.Join(dir, "warnings.txt"), []byte(strings.Join(out.Warnings, "\n")+"\n"))
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
		for _, on := range []string{platform.OpenShift, platform.Kubernetes} {
			out, err := platform.Build(load(t, filepath.Join("testdata", name, "in.yaml"), on))
			if err != nil {
				t.Fatalf("Build() error = %v", err)
			}
			for _, request := range out.Requests {
				shown[request.ID] = true
			}
		}
	}
	templates := slices.DeleteFunc(desired.Components(), func(e render.Entry) bool { return !strings.HasPrefix(string(e.ID), "platform/") })
	for _, template := range templates {
		if !shown[template.ID] {
			t.Errorf("no case shows %s", template.ID)
		}
	}
	if len(templates) == 0 {
		t.Error("there are no templates")
	}
}
