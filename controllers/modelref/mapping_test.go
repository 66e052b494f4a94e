// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
)

// names prints keys, sorted.
func names(keys []types.NamespacedName) []string {
	var out []string
	for _, key := range keys {
		out = append(out, key.String())
	}
	slices.Sort(out)
	return out
}

// Rows 9.1.7–9.1.10, 9.1.18 and 9.1.26 of policies.md, and W-40: each event concerns
// exactly the models it can change.
func TestMappings(t *testing.T) {
	t.Parallel()
	routed := model("routed", v1alpha1.BackendLLMInferenceService)
	routed.Status.HTTPRouteNamespace, routed.Status.HTTPRouteName = "llm", "custom"
	routed.Status.HTTPRouteGatewayNamespace, routed.Status.HTTPRouteGatewayName = "ingress", "maas"
	elsewhere := model("elsewhere", v1alpha1.BackendLLMInferenceService)
	elsewhere.Namespace = "other"
	elsewhere.Spec.ModelRef.Name = "granite"
	second := model("second", v1alpha1.BackendLLMInferenceService)
	second.Spec.ModelRef.Name = "granite"
	second.Status.HTTPRouteNamespace, second.Status.HTTPRouteName = "llm", "granite-kserve-route"
	first := model("granite", v1alpha1.BackendLLMInferenceService)
	first.Status.HTTPRouteNamespace, first.Status.HTTPRouteName = "llm", "granite-kserve-route"
	external := model("external", v1alpha1.BackendExternalModel)
	external.Spec.ModelRef.Name = "granite"
	external.Status.HTTPRouteNamespace, external.Status.HTTPRouteName = "llm", "maas-granite"
	waiting := model("waiting", v1alpha1.BackendLLMInferenceService)
	theirs := &inferencev1alpha1.ExternalModel{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "granite"}}
	theirs.Status.HTTPRouteName = "theirs"
	r := reconciler(t, everyAPI, interceptor.Funcs{}, routed, elsewhere, first, second, external, waiting, theirs)

	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "llm", Name: name} }
	service := kserve.New(kserve.GroupKind.WithVersion("v1alpha1"))
	service.SetNamespace("llm")
	service.SetName("granite")
	labelled := &gwapiv1.HTTPRoute{ObjectMeta: in("granite-new")}
	labelled.Labels = kserve.RouteLabels("granite")

	for name, tc := range map[string]struct {
		models trigger.Concerned
		object client.Object
		want   []string
	}{
		"a service concerns the models that publish it, in its namespace":  {r.modelsOfService, service, []string{"llm/granite", "llm/second"}},
		"an ExternalModel concerns its models":                             {r.modelsOfExternalModel, &v1alpha1.ExternalModel{ObjectMeta: in("granite")}, []string{"llm/external"}},
		"a route concerns those it serves and those without one":           {r.modelsOfRoute, &gwapiv1.HTTPRoute{ObjectMeta: in("custom")}, []string{"llm/routed", "llm/waiting"}},
		"a route that an ExternalModel names concerns the ExternalModel's": {r.modelsOfRoute, &gwapiv1.HTTPRoute{ObjectMeta: in("theirs")}, []string{"llm/external", "llm/waiting"}},
		"a route made for a service concerns the service's models":         {r.modelsOfRoute, labelled, []string{"llm/granite", "llm/second", "llm/waiting"}},
		"a gateway concerns the models whose route it serves":              {r.modelsOfGateway, &gwapiv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "ingress", Name: "maas"}}, []string{"llm/routed"}},
		"another gateway concerns nobody":                                  {r.modelsOfGateway, &gwapiv1.Gateway{ObjectMeta: in("maas")}, nil},
		"a subscription concerns its distinct models": {modelsOf, &v1alpha1.MaaSSubscription{Spec: v1alpha1.MaaSSubscriptionSpec{
			ModelRefs: []v1alpha1.ModelSubscription{{Namespace: "llm", Name: "a"}, {Namespace: "llm", Name: "b"}, {Namespace: "llm", Name: "a"}},
		}}, []string{"llm/a", "llm/b"}},
		"another kind concerns nobody": {modelsOf, &v1alpha1.AITenant{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys, err := tc.models(t.Context(), tc.object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, names(keys)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Row 9.1.19 and W-22: an event whose models cannot be listed is tried again, not
// lost.
func TestAMappingThatCannotListSaysSo(t *testing.T) {
	t.Parallel()
	r := reconciler(t, everyAPI, failList(&v1alpha1.MaaSModelRefList{}))
	aliased := model("a", v1alpha1.BackendLLMInferenceService)
	aliased.Status.ResolvedModelAlias = "a"
	service := kserve.New(kserve.GroupKind.WithVersion("v1alpha1"))
	for name, tc := range map[string]struct {
		models trigger.Concerned
		object client.Object
	}{
		"of a service":         {r.modelsOfService, service},
		"of an ExternalModel":  {r.modelsOfExternalModel, &v1alpha1.ExternalModel{}},
		"of a route":           {r.modelsOfRoute, &gwapiv1.HTTPRoute{}},
		"of a service's route": {r.modelsOfRoute, &gwapiv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Labels: kserve.RouteLabels("granite")}}},
		"of a gateway":         {r.modelsOfGateway, &gwapiv1.Gateway{}},
		"of an alias":          {r.siblings, aliased},
		"of a tenant":          {r.allModels, &v1alpha1.AITenant{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := tc.models(t.Context(), tc.object); !errors.Is(err, errDown) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

// Row 9.1.31.
func TestSiblings(t *testing.T) {
	t.Parallel()
	aliased := func(name, alias string) *v1alpha1.MaaSModelRef {
		m := model(name, v1alpha1.BackendLLMInferenceService)
		m.Status.ResolvedModelAlias = alias
		return m
	}
	elsewhere := aliased("a3", "a")
	elsewhere.Namespace = "other"
	r := reconciler(t, everyAPI, interceptor.Funcs{}, aliased("a1", "a"), aliased("a2", "a"), aliased("b1", "b"), aliased("none", ""), elsewhere)

	for name, tc := range map[string]struct {
		model *v1alpha1.MaaSModelRef
		want  []string
	}{
		"those with the same alias in the same namespace": {aliased("a1", "a"), []string{"llm/a2"}},
		"also of a model that is not listed":              {aliased("x", "b"), []string{"llm/b1"}},
		"a model without an alias has none":               {aliased("none", ""), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys, err := r.siblings(t.Context(), tc.model)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, names(keys)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
