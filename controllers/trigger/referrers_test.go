// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trigger_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

func in(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// referrers find subscriptions among the given ones.
func referrers(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) trigger.Referrers {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	b := fakecluster.Holding(scheme, objects...).WithInterceptorFuncs(funcs)
	for _, i := range index.All() {
		b = b.WithIndex(i.Object, i.Name, i.Extract)
	}
	return trigger.Referrers{
		Reader: b.Build(), List: func() client.ObjectList { return &v1alpha1.MaaSSubscriptionList{} }, Index: index.SubscriptionByModel,
	}
}

func subscription(namespace, name, model string) *v1alpha1.MaaSSubscription {
	s := &v1alpha1.MaaSSubscription{ObjectMeta: in(namespace, name)}
	s.Spec.ModelRefs = []v1alpha1.ModelSubscription{{Namespace: "llm", Name: model}}
	return s
}

// policy is a generated policy of a model of namespace llm.
func policy(change func(labels map[string]string)) client.Object {
	u := kuadrant.New(kuadrant.TokenRateLimitPolicy)
	u.SetNamespace("llm")
	labels := map[string]string{
		v1alpha1.LabelModel: "granite", v1alpha1.LabelModelNamespace: "llm", v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue,
	}
	change(labels)
	u.SetLabels(labels)
	return u
}

func TestReferrers(t *testing.T) {
	t.Parallel()
	r := referrers(t, interceptor.Funcs{}, subscription("red", "gold", "granite"), subscription("red", "iron", "llama"), subscription("blue", "gold", "granite"))
	for name, tc := range map[string]struct {
		handler handler.EventHandler
		object  client.Object
		want    []string
	}{
		"a model concerns those that refer to it":   {r.OfModel(), &v1alpha1.MaaSModelRef{ObjectMeta: in("llm", "granite")}, []string{"blue/gold", "red/gold"}},
		"a model of another namespace does not":     {r.OfModel(), &v1alpha1.MaaSModelRef{ObjectMeta: in("other", "granite")}, nil},
		"a tenant's namespace concerns those in it": {r.OfNamespace(), &corev1.Namespace{ObjectMeta: in("", "red")}, []string{"red/gold", "red/iron"}},
		"a tenant's settings do so too":             {r.OfNamespace(), &v1alpha1.MaasTenantConfig{ObjectMeta: in("blue", "default-tenant")}, []string{"blue/gold"}},
		"an AITenant concerns all":                  {r.All(), &v1alpha1.AITenant{ObjectMeta: in("ai-tenants", "red")}, []string{"blue/gold", "red/gold", "red/iron"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newRecorder()
			tc.handler.Create(t.Context(), event.CreateEvent{Object: tc.object}, q)
			if diff := cmp.Diff(tc.want, q.names()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReferrersAreFoundAfterAListFailed(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(trigger.Referrers) handler.EventHandler{
		"of a model":     trigger.Referrers.OfModel,
		"of a namespace": trigger.Referrers.OfNamespace,
		"of a tenant":    trigger.Referrers.All,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				failures := 3
				r := referrers(t, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
					if failures--; failures >= 0 {
						return errDown
					}
					return c.List(ctx, list, opts...)
				}}, subscription("granite", "gold", "granite"))
				object := policy(func(map[string]string) {})
				object.SetName("granite")
				if name == "of a namespace" {
					object.SetNamespace("")
				}
				q := newRecorder()
				of(r).Delete(t.Context(), event.DeleteEvent{Object: object}, q)
				if diff := cmp.Diff([]string{"granite/gold"}, q.names()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}
