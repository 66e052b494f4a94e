// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/test/internal/samples"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

func sampleObjects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	objects, err := samples.Load(filepath.Join(testenv.RepoRoot(), "config", "samples"))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestTheDefaultTenantHasTheSamplesAsTheyAre(t *testing.T) {
	t.Parallel()
	objects := sampleObjects(t)
	site, err := newSite(defaultTenant, objects)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(objects, site.objects); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
	if site.service() != "maas-api" || site.route() != "maas-api-route" || site.gatewayProcess() != "gateway-standin" {
		t.Errorf("names: %s, %s, %s", site.service(), site.route(), site.gatewayProcess())
	}
}

func TestAnotherTenantSharesNoObjectWithTheDefaultOne(t *testing.T) {
	t.Parallel()
	objects := sampleObjects(t)
	taken := map[string]bool{}
	for _, o := range objects {
		taken[o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()] = true
	}
	red, err := newSite("red", objects)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range red.objects {
		if name := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName(); taken[name] {
			t.Errorf("%s is the default tenant's too", name)
		}
		if o.GetKind() == kindModelRef {
			if tenant, _, _ := unstructured.NestedString(o.Object, "spec", "tenantRef"); tenant != "red" {
				t.Errorf("the model is tenant %q's, not red's", tenant)
			}
		}
	}
	want := sampleModel{
		Ref: types.NamespacedName{Namespace: "llm-red", Name: "granite"}, Served: "granite",
		Service: "llm-red/granite-kserve-workload-svc", Hostname: "red.maas.example.com",
	}
	if diff := cmp.Diff(want, red.model); diff != "" {
		t.Errorf("model (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sampleObjects(t), objects); diff != "" {
		t.Errorf("the samples themselves changed (-want +got):\n%s", diff)
	}
}
