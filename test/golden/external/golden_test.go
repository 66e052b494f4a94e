// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
	"github.com/opendatahub-io/maas-operator/internal/desired/opening"
	"github.com/opendatahub-io/maas-operator/test/golden"
	"github.com/opendatahub-io/maas-operator/test/internal/apiserver"
	"github.com/opendatahub-io/maas-operator/test/parts"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// input is the shape of a case's in.yaml.
type input struct {
	// Gateway is that of the default tenant.
	Gateway types.NamespacedName `json:"gateway"`
	// OpenedRoute is the UID of the routes that lead to their providers; empty when they
	// lead nowhere.
	OpenedRoute types.UID `json:"openedRoute"`
	// Ungoverned are the models, as <namespace>/<name>, that no policy is about.
	Ungoverned []string `json:"ungoverned"`
	// Models are all there are.
	Models []v1alpha1.ExternalModel `json:"models"`
}

// rendered are the objects of all models of a case, as the operator would apply them,
// but for who owns them.
func rendered(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	in := golden.Load[input](t, filepath.Join(dir, "in.yaml"))
	var claims []external.Claim
	for i := range in.Models {
		m := &in.Models[i]
		provider, err := external.ProviderOf(m)
		if err != nil {
			t.Fatalf("ProviderOf(%s) error = %v", m.Name, err)
		}
		if refused := (external.Hosts{}).Refuse(m.Spec.Endpoint, provider.TLS); refused != "" {
			t.Fatalf("the host of %s %s", m.Name, refused)
		}
		claims = append(claims, external.Claim{
			Model: client.ObjectKeyFromObject(m), Created: m.CreationTimestamp.Time, Provider: provider, Target: m.Spec.TargetModel, Leaving: m.DeletionTimestamp != nil, Governed: !slices.Contains(in.Ungoverned, m.Namespace+"/"+m.Name),
		})
	}
	var objects []*unstructured.Unstructured
	for _, c := range claims {
		out := external.Build(external.Input{
			Model: c.Model, Target: c.Target, Provider: c.Provider, Gateway: in.Gateway, Claims: claims, Leads: opening.Leads{Route: in.OpenedRoute, All: in.OpenedRoute != ""},
		})
		of, err := parts.Engine(t).RenderAll(out.Requests())
		if err != nil {
			t.Fatalf("RenderAll() error = %v", err)
		}
		objects = append(objects, of...)
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

// What the templates make of a route is what the decision about its rules takes them for:
// else no rule would stay open.
func TestRulesHaveTheNamesTheyAreOpenedBy(t *testing.T) {
	t.Parallel()
	opened := 0
	for _, name := range golden.Cases(t, "testdata") {
		dir := filepath.Join("testdata", name)
		in := golden.Load[input](t, filepath.Join(dir, "in.yaml"))
		if in.OpenedRoute == "" {
			continue
		}
		for _, object := range rendered(t, dir) {
			if object.GetKind() != "HTTPRoute" {
				continue
			}
			opened++
			object.SetUID(in.OpenedRoute)
			route := routeOf(t, object)
			kept := opening.Kept(route, in.Gateway)
			for i := range in.Models {
				m := &in.Models[i]
				if external.Name(m.Name) != object.GetName() || m.Namespace != object.GetNamespace() {
					continue
				}
				provider, err := external.ProviderOf(m)
				if err != nil {
					t.Fatal(err)
				}
				if external.Addresses(route, m.Spec.TargetModel) != (len(route.Rules) > 1) {
					t.Errorf("%s: the rules of %s are %v, and whether they are for its target is not known", name, object.GetName(), route.Rules)
				}
				claim := external.Claim{Model: client.ObjectKeyFromObject(m), Provider: provider, Target: m.Spec.TargetModel, Governed: true}
				out := external.Build(external.Input{Model: claim.Model, Target: claim.Target, Provider: provider, Gateway: in.Gateway, Claims: []external.Claim{claim}, Leads: kept})
				for _, rule := range out.Route.Rules {
					if !rule.Leads {
						t.Errorf("%s: rule %s of %s is closed again", name, rule.Path, object.GetName())
					}
				}
			}
		}
	}
	if opened == 0 {
		t.Error("no case has an open route")
	}
}

// TestTheRealCRDsAccept applies each case twice: nothing in it is refused, not even as a
// field nobody knows, and the second time nothing is left to do.
func TestTheRealCRDsAccept(t *testing.T) {
	t.Parallel()
	admin := apiserver.Admin(t, testenv.GatewayAPI, testenv.Istio)
	for _, name := range golden.Cases(t, "testdata") {
		for _, object := range rendered(t, filepath.Join("testdata", name)) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: object.GetNamespace()}}
			if err := admin.Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
				t.Fatalf("create namespace: %v", err)
			}
			if err := admin.Create(t.Context(), object.DeepCopy(), client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
				t.Errorf("%s: the API server refuses %s %s: %v", name, object.GetKind(), object.GetName(), err)
				continue
			}
			applier := apply.New(admin, apply.Options{})
			if _, err := applier.Apply(t.Context(), object); err != nil {
				t.Errorf("%s: apply %s %s: %v", name, object.GetKind(), object.GetName(), err)
				continue
			}
			if again, err := applier.Apply(t.Context(), object); err != nil || again.Outcome != apply.Unchanged {
				t.Errorf("%s: %s %s applied again: %s, %v", name, object.GetKind(), object.GetName(), again.Outcome, err)
			}
			if err := admin.Delete(t.Context(), object); err != nil {
				t.Errorf("%s: delete %s %s: %v", name, object.GetKind(), object.GetName(), err)
			}
		}
	}
}
