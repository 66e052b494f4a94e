// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/golden"
	"github.com/opendatahub-io/maas-operator/test/internal/apiserver"
	"github.com/opendatahub-io/maas-operator/test/parts"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// input is the shape of a case's in.yaml.
type input struct {
	// Model and Route name the MaaSModelRef and its HTTPRoute.
	Model types.NamespacedName `json:"model"`
	Route string               `json:"route"`
	// Tenant is the model's; the default tenant when left out.
	Tenant *tenancy.Context `json:"tenant"`
	// AcceptKeyHeader, External, Live and Settings are the other facts.
	AcceptKeyHeader bool           `json:"acceptKeyHeader"`
	External        bool           `json:"external"`
	Live            model.Live     `json:"live"`
	Settings        model.Settings `json:"settings"`
	// AuthPolicies and Subscriptions are the custom resources.
	AuthPolicies  []v1alpha1.MaaSAuthPolicy   `json:"authPolicies"`
	Subscriptions []v1alpha1.MaaSSubscription `json:"subscriptions"`
}

func load(t *testing.T, file string) model.Input {
	t.Helper()
	in := golden.Load[input](t, file)
	tenant := tenancy.Context{Name: tenancy.DefaultName}
	if in.Tenant != nil {
		tenant = *in.Tenant
	}
	out := model.Input{Model: in.Model, Route: in.Route, Tenant: tenant, AcceptKeyHeader: in.AcceptKeyHeader, External: in.External, Live: in.Live, Settings: in.Settings}
	for i := range in.AuthPolicies {
		out.AuthPolicies = append(out.AuthPolicies, model.AuthPolicy{Object: &in.AuthPolicies[i], Tenant: tenant.Name})
	}
	for i := range in.Subscriptions {
		out.Subscriptions = append(out.Subscriptions, model.Subscription{Object: &in.Subscriptions[i], Tenant: tenant.Name})
	}
	return out
}

// rendered are the objects of a case, as the operator would apply them.
func rendered(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	out, err := model.Build(load(t, filepath.Join(dir, "in.yaml")))
	if err != nil {
		t.Fatalf("Build() error = %v", err)
	}
	objects, err := parts.Engine(t).RenderAll(out.Requests())
	if err != nil {
		t.Fatalf("RenderAll() error = %v", err)
	}
	return objects
}

func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, name := range golden.Cases(t, "testdata") {
		dir := filepath.Join("testdata", name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden.YAML(t, filepath.Join(dir, "out.yaml"), golden.Documents(rendered(t, dir))...)
		})
	}
}

// TestTheRealCRDsAccept starts one API server for all that is asked of it.
func TestTheRealCRDsAccept(t *testing.T) {
	t.Parallel()
	admin := apiserver.Admin(t, testenv.Kuadrant)
	if err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "llm"}}); err != nil {
		t.Fatalf("create namespace: %v", err)
	}
	accept := func(t *testing.T, name string, object *unstructured.Unstructured) {
		t.Helper()
		if err := admin.Create(t.Context(), object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
			t.Errorf("%s: the API server refuses %s %s: %v", name, object.GetKind(), object.GetName(), err)
		}
	}
	t.Run("every case", func(t *testing.T) {
		t.Parallel()
		for _, name := range golden.Cases(t, "testdata") {
			for _, object := range rendered(t, filepath.Join("testdata", name)) {
				accept(t, name, object)
			}
		}
	})
	t.Run("every combination of features", func(t *testing.T) {
		t.Parallel()
		for name, object := range renderedCombinations(t) {
			accept(t, name, object)
		}
	})
}

// What counts the limits of a policy leaves out the one of nobody by its name.
func TestEveryTokenRateLimitPolicyHasTheLimitOfNobody(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, name := range golden.Cases(t, "testdata") {
		for _, object := range rendered(t, filepath.Join("testdata", name)) {
			if object.GetKind() != kuadrant.TokenRateLimitPolicy.Kind {
				continue
			}
			seen++
			rates, _, err := unstructured.NestedSlice(object.Object, "spec", "limits", kuadrant.NobodysLimit, "rates")
			if want := []any{map[string]any{"limit": int64(0), "window": "1m"}}; err != nil || !cmp.Equal(rates, want) {
				t.Errorf("%s: rates of limit %s of %s = %v, %v, want %v", name, kuadrant.NobodysLimit, object.GetName(), rates, err, want)
			}
		}
	}
	if seen == 0 {
		t.Error("no case has a TokenRateLimitPolicy")
	}
}
