// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
)

// enqueued drains a queue into sorted names.
func enqueued(q queue) []string {
	var names []string
	for q.Len() > 0 {
		item, _ := q.Get()
		names = append(names, item.String())
		q.Done(item)
	}
	slices.Sort(names)
	return names
}

func newQueue() queue {
	return workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](0, 0))
}

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
	r := reconciler(t, everyAPI, interceptor.Funcs{}, routed, elsewhere, first, second, external, waiting)

	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "llm", Name: name} }
	service := kserve.New(kserve.GroupKind.WithVersion("v1alpha1"))
	service.SetNamespace("llm")
	service.SetName("granite")
	labelled := &gwapiv1.HTTPRoute{ObjectMeta: in("granite-new")}
	labelled.Labels = kserve.RouteLabels("granite")

	for name, tc := range map[string]struct {
		models mapFunc
		object client.Object
		want   []string
	}{
		"a service concerns the models that publish it, in its namespace": {r.modelsOfService, service, []string{"llm/granite", "llm/second"}},
		"an ExternalModel concerns its models":                            {r.modelsOfExternalModel, &v1alpha1.ExternalModel{ObjectMeta: in("granite")}, []string{"llm/external"}},
		"a route concerns those it serves and those without one":          {r.modelsOfRoute, &gwapiv1.HTTPRoute{ObjectMeta: in("custom")}, []string{"llm/routed", "llm/waiting"}},
		"a route made for a service concerns the service's models":        {r.modelsOfRoute, labelled, []string{"llm/granite", "llm/second", "llm/waiting"}},
		"a gateway concerns the models whose route it serves":             {r.modelsOfGateway, &gwapiv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "ingress", Name: "maas"}}, []string{"llm/routed"}},
		"another gateway concerns nobody":                                 {r.modelsOfGateway, &gwapiv1.Gateway{ObjectMeta: in("maas")}, nil},
		"a subscription concerns its distinct models": {modelsOf, &v1alpha1.MaaSSubscription{Spec: v1alpha1.MaaSSubscriptionSpec{
			ModelRefs: []v1alpha1.ModelSubscription{{Namespace: "llm", Name: "a"}, {Namespace: "llm", Name: "b"}, {Namespace: "llm", Name: "a"}},
		}}, []string{"llm/a", "llm/b"}},
		"another kind concerns nobody": {modelsOf, &v1alpha1.AITenant{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newQueue()
			r.mapped(tc.models).Create(t.Context(), event.CreateEvent{Object: tc.object}, q)
			if diff := cmp.Diff(tc.want, enqueued(q)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnUpdateConcernsTheModelsBeforeAndAfter(t *testing.T) {
	t.Parallel()
	of := func(name string) *v1alpha1.MaaSAuthPolicy {
		return &v1alpha1.MaaSAuthPolicy{Spec: v1alpha1.MaaSAuthPolicySpec{ModelRefs: []v1alpha1.ModelReference{{Namespace: "llm", Name: name}}}}
	}
	r, q := reconciler(t, everyAPI, interceptor.Funcs{}), newQueue()
	r.mapped(modelsOf).Update(t.Context(), event.UpdateEvent{ObjectOld: of("a"), ObjectNew: of("b")}, q)
	if diff := cmp.Diff([]string{"llm/a", "llm/b"}, enqueued(q)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAChangeThatCannotBeMappedIsNotLost(t *testing.T) {
	t.Parallel()
	broken := true
	r := reconciler(t, everyAPI, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if broken {
			return errDown
		}
		return c.List(ctx, list, opts...)
	}}, model("a", v1alpha1.BackendLLMInferenceService), model("b", v1alpha1.BackendLLMInferenceService))
	q := newQueue()
	r.mapped(r.allModels).Delete(t.Context(), event.DeleteEvent{Object: &v1alpha1.AITenant{}}, q)
	item, _ := q.Get()
	if item != everything {
		t.Fatalf("enqueued %v", item)
	}
	if _, err := r.Reconcile(t.Context(), item); !errors.Is(err, errDown) {
		t.Errorf("the failure is not tried again: err = %v", err)
	}
	broken = false
	if _, err := r.Reconcile(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	got := []string{(<-r.resyncs).Object.GetName(), (<-r.resyncs).Object.GetName()}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSiblings(t *testing.T) {
	t.Parallel()
	aliased := func(name, alias string) *v1alpha1.MaaSModelRef {
		m := model(name, v1alpha1.BackendLLMInferenceService)
		m.Status.ResolvedModelAlias = alias
		return m
	}
	r := reconciler(t, everyAPI, interceptor.Funcs{}, aliased("a1", "a"), aliased("a2", "a"), aliased("b1", "b"), aliased("none", ""))
	leaving := aliased("a1", "a")
	leaving.DeletionTimestamp = new(metav1.Now())

	for name, tc := range map[string]struct {
		before, after *v1alpha1.MaaSModelRef
		want          []string
	}{
		"a new alias concerns those with the old and the new one": {aliased("a1", "a"), aliased("a1", "b"), []string{"llm/a2", "llm/b1"}},
		"a first alias concerns those who have it":                {aliased("x", ""), aliased("x", "b"), []string{"llm/b1"}},
		"another change concerns nobody":                          {aliased("a1", "a"), aliased("a1", "a"), nil},
		"a model that leaves concerns those with its alias":       {aliased("a1", "a"), leaving, []string{"llm/a2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newQueue()
			r.siblingUpdated(t.Context(), event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after}, q)
			if diff := cmp.Diff(tc.want, enqueued(q)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
