// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenant_test

import (
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/opening"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/images"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates"
	"github.com/opendatahub-io/maas-operator/test/golden"
)

// input is the shape of a case's in.yaml.
type input struct {
	// Config is the MaasTenantConfig.
	Config v1alpha1.MaasTenantConfig `json:"config"`
	// Tenant is the default tenant when left out.
	Tenant *tenancy.Context `json:"tenant"`
	// AITenant names the AITenant, if there is one.
	AITenant types.NamespacedName `json:"aiTenant"`
	// The other facts.
	TenantUID             types.UID       `json:"tenantUID"`
	GatewayExists         bool            `json:"gatewayExists"`
	DatabaseSecretVersion string          `json:"databaseSecretVersion"`
	Served                []string        `json:"served"`
	AcceptKeyHeader       bool            `json:"acceptKeyHeader"`
	OpenedRoute           types.UID       `json:"openedRoute"`
	Settings              tenant.Settings `json:"settings"`
}

func load(t *testing.T, name string) input {
	t.Helper()
	in := golden.Load[input](t, filepath.Join("testdata", name, "in.yaml"))
	if in.Tenant == nil {
		in.Tenant = &tenancy.Context{
			Name: tenancy.DefaultName, Gateway: types.NamespacedName{Namespace: "openshift-ingress", Name: "maas-default-gateway"},
		}
	}
	return in
}

// facts are what the builders take.
func (in *input) facts() tenant.Input {
	served := map[string]bool{}
	for _, crd := range in.Served {
		served[crd] = true
	}
	return tenant.Input{
		Config: &in.Config, Tenant: *in.Tenant, TenantUID: in.TenantUID, GatewayExists: in.GatewayExists,
		DatabaseSecretVersion: in.DatabaseSecretVersion, Served: served, AcceptKeyHeader: in.AcceptKeyHeader, Settings: in.Settings,
		Leads: opening.Leads{Route: in.OpenedRoute, All: true},
	}
}

func (in *input) retention() int32 {
	if keys := in.Config.Spec.APIKeys; keys != nil && keys.DeletionRetentionDays != nil {
		return *keys.DeletionRetentionDays
	}
	return 0
}

// outcome is what comes of a case.
type outcome struct {
	// tenant are the objects of the MaasTenantConfig, aiTenant those of the AITenant.
	tenant, aiTenant []*unstructured.Unstructured
	warnings         []tenant.Warning
}

func engine(t *testing.T) *render.Engine {
	t.Helper()
	e, err := render.New(templates.FS, desired.Components(), render.WithImages(images.Development()), render.WithScheme(clientgoscheme.Scheme))
	if err != nil {
		t.Fatalf("render.New() error = %v", err)
	}
	return e
}

func build(t *testing.T, name string) outcome {
	t.Helper()
	in := load(t, name)
	out, err := tenant.Build(in.facts())
	if err != nil {
		t.Fatalf("Build() error = %v", err)
	}
	var others []render.Request
	if in.AITenant.Name != "" {
		others = ofAITenant(in)
	}
	e := engine(t)
	result := outcome{warnings: out.Warnings}
	if result.tenant, err = e.RenderAll(slices.Concat(out.Guard, out.Workload)); err != nil {
		t.Fatalf("RenderAll() error = %v", err)
	}
	if result.aiTenant, err = e.RenderAll(others); err != nil {
		t.Fatalf("RenderAll() error = %v", err)
	}
	return result
}

func ofAITenant(in input) []render.Request {
	return append(
		tenant.AdminRoles(tenant.RolesInput{AITenant: in.AITenant, TenantNamespace: in.Config.Namespace}),
		tenant.RevocationJob(tenant.JobInput{AITenant: in.AITenant, UID: in.TenantUID, Tenant: *in.Tenant, Settings: in.Settings, RetentionDays: in.retention()}),
	)
}

// TestGoldenFiles compares all but the access policies, which are long, and are tested
// by what they do.
func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, name := range golden.Cases(t, "testdata") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, got := filepath.Join("testdata", name), build(t, name)
			own := slices.DeleteFunc(slices.Clone(got.tenant), func(o *unstructured.Unstructured) bool {
				return o.GroupVersionKind().Group == kuadrant.AuthPolicy.Group
			})
			golden.YAML(t, filepath.Join(dir, "out.yaml"), golden.Documents(own)...)
			if len(got.aiTenant) > 0 {
				golden.YAML(t, filepath.Join(dir, "aitenant.yaml"), golden.Documents(got.aiTenant)...)
			}
			golden.YAML(t, filepath.Join(dir, "warnings.yaml"), map[string]any{"warnings": got.warnings})
		})
	}
}
