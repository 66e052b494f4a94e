// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenant_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/test/golden"
	"github.com/opendatahub-io/maas-operator/test/internal/apiserver"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// TestARealAPIServerTakesEveryCase applies each case twice: nothing in it is refused,
// not even as a field nobody knows, and the second time nothing is left to do.
func TestARealAPIServerTakesEveryCase(t *testing.T) {
	t.Parallel()
	admin := apiserver.Admin(t, testenv.GatewayAPI, testenv.Kuadrant, testenv.Istio, testenv.CertManager)
	for _, name := range golden.Cases(t, "testdata") {
		got := build(t, name)
		for _, o := range slices.Concat(got.tenant, got.aiTenant) {
			if err := apiserver.Settles(t.Context(), admin, o); err != nil {
				t.Errorf("%s: %s %s: %v", name, o.GetKind(), o.GetName(), err)
			}
		}
	}
	checkRequirements(t)
}

// checkRequirements finds what each row of the component table requires among the CRDs of
// all products. That of OpenTelemetry's collector is not at hand.
func checkRequirements(t *testing.T) {
	t.Helper()
	kinds := map[string]string{"opentelemetrycollectors.opentelemetry.io": "OpenTelemetryCollector"}
	for _, set := range testenv.CRDSets() {
		crds, err := testenv.LoadCRDs(set)
		if err != nil {
			t.Fatal(err)
		}
		for _, crd := range crds {
			if kinds[crd.GetName()], _, err = unstructured.NestedString(crd.Object, "spec", "names", "kind"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, component := range desired.Table() {
		if kind := kinds[component.Requires]; component.Requires != "" && kind != component.GVK.Kind {
			t.Errorf("%s requires %s, which is a %q, and renders a %s", component.ID, component.Requires, kind, component.GVK.Kind)
		}
	}
}
