// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package arch_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/test/arch"
)

func TestImportsOfTheModulePointOneWay(t *testing.T) {
	t.Parallel()
	g := loadGraph(t)
	if len(g) < 3 {
		t.Fatalf("go list found only %d packages", len(g))
	}
	for _, violation := range arch.CheckImports(g) {
		t.Error(violation)
	}
}

// loadGraph asks the go command for the imports of every package; -e because
// a package that does not build is for the build to report.
func loadGraph(t *testing.T) arch.Graph {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports", "./...")
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	g := arch.Graph{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return g
		}
		if err != nil {
			t.Fatalf("decode go list: %v", err)
		}
		g[strings.TrimPrefix(p.ImportPath, arch.Module+"/")] = p.Imports
	}
}

func TestCheckImports(t *testing.T) {
	t.Parallel()
	const own = arch.Module + "/"
	tests := map[string]struct {
		graph arch.Graph
		want  []string // Each a part of one violation, in order.
	}{
		"the arrows of the design are allowed": {
			graph: arch.Graph{
				"cmd/maas-controller":  {"os", own + "controllers/modelref", own + "internal/version"},
				"controllers/modelref": {own + "internal/desired/model", own + "internal/apply", "sigs.k8s.io/controller-runtime"},
				"internal/desired":     {own + "templates/values", own + "internal/entitlement", own + "api/v1alpha1"},
				"internal/entitlement": {own + "api/v1alpha1", "slices"},
				"internal/apply":       {"sigs.k8s.io/controller-runtime/pkg/client"},
				"internal/render":      {own + "templates", "github.com/Masterminds/sprig/v3"},
				"templates/values":     {"strings"},
				"api/v1alpha1":         {"k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/api/core/v1", "sigs.k8s.io/gateway-api/apis/v1"},
				"test/e2e":             {own + "controllers/modelref", own + "test/testenv"},
			},
		},
		"the API imports nothing of ours": {
			graph: arch.Graph{"api/v1alpha1": {own + "internal/version"}},
			want:  []string{"api/v1alpha1 imports " + own + "internal/version"},
		},
		"the API imports no controller-runtime": {
			graph: arch.Graph{"api/v1alpha1": {"sigs.k8s.io/controller-runtime/pkg/scheme"}},
			want:  []string{"api/v1alpha1 imports sigs.k8s.io/controller-runtime/pkg/scheme"},
		},
		"a path that only starts like an allowed one is not allowed": {
			graph: arch.Graph{"api/v1alpha1": {"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"}},
			want:  []string{"api/v1alpha1 imports k8s.io/apiextensions-apiserver"},
		},
		"templates import only the standard library": {
			graph: arch.Graph{"templates/values": {"sigs.k8s.io/yaml"}},
			want:  []string{"templates/values imports sigs.k8s.io/yaml"},
		},
		"templates do not import the API": {
			graph: arch.Graph{"templates": {own + "api/v1alpha1"}},
			want:  []string{"templates imports " + own + "api/v1alpha1"},
		},
		"decisions hold no client": {
			graph: arch.Graph{"internal/entitlement": {"k8s.io/client-go/rest"}},
			want:  []string{"internal/entitlement imports k8s.io/client-go/rest"},
		},
		"decisions read no files": {
			graph: arch.Graph{"internal/desired/model": {"os"}},
			want:  []string{"internal/desired/model imports os"},
		},
		"rendering knows no HTTP": {
			graph: arch.Graph{"internal/render": {"net/http"}},
			want:  []string{"internal/render imports net/http"},
		},
		"a client reached through another package counts": {
			graph: arch.Graph{
				"internal/desired": {own + "internal/tenancy"},
				"internal/tenancy": {own + "internal/names"},
				"internal/names":   {"sigs.k8s.io/controller-runtime/pkg/client"},
			},
			want: []string{"internal/desired -> internal/tenancy -> internal/names imports sigs.k8s.io/controller-runtime/pkg/client"},
		},
		"controllers do not import maas-api": {
			graph: arch.Graph{"controllers/aitenant": {own + "internal/maasapi/store"}},
			want:  []string{"controllers/aitenant imports " + own + "internal/maasapi/store"},
		},
		"maas-api does not import controllers": {
			graph: arch.Graph{"internal/maasapi/httpapi": {own + "controllers/modelref"}},
			want:  []string{"internal/maasapi/httpapi imports " + own + "controllers/modelref"},
		},
		"nothing imports test": {
			graph: arch.Graph{"cmd/maas-controller": {own + "test/testenv"}},
			want:  []string{"cmd/maas-controller imports test/testenv"},
		},
		"nothing below imports controllers": {
			graph: arch.Graph{"internal/apply": {own + "controllers/modelref"}},
			want:  []string{"internal/apply imports controllers/modelref"},
		},
		"entitlement does not import what builds on it": {
			graph: arch.Graph{"internal/entitlement": {own + "internal/tenancy"}},
			want:  []string{"internal/entitlement imports internal/tenancy"},
		},
		"a new top-level directory needs a layer": {
			graph: arch.Graph{"pkg/extra": nil},
			want:  []string{"pkg/extra belongs to no layer"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := arch.CheckImports(tc.graph)
			for i, v := range got {
				if i < len(tc.want) && strings.HasPrefix(v, tc.want[i]) {
					got[i] = tc.want[i]
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}
