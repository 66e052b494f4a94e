// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/nudge"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

var (
	now       = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	httpRoute = schema.GroupVersionKind{Group: gwapiv1.GroupName, Version: "v1", Kind: "HTTPRoute"}
)

// serving is a cluster that serves kinds.
type serving []schema.GroupVersionKind

func (s serving) ServerResourcesForGroupVersion(version string) (*metav1.APIResourceList, error) {
	list := &metav1.APIResourceList{GroupVersion: version}
	for _, kind := range s {
		if kind.GroupVersion().String() == version {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: strings.ToLower(kind.Kind) + "s", Kind: kind.Kind})
		}
	}
	return list, nil
}

// object is one that the operator has generated, changed by edits.
func object(kind schema.GroupVersionKind, namespace, name string, edits ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	o := kuadrant.New(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetUID(types.UID(kind.Kind + name))
	o.SetLabels(map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, v1alpha1.LabelPartOf: v1alpha1.PartOfMaaS})
	for _, edit := range edits {
		edit(o)
	}
	return o
}

// said is what Kuadrant says of a policy.
func said(enforced string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		o.Object["status"] = map[string]any{"conditions": []any{
			map[string]any{"type": "Accepted", "status": "True", "reason": "Accepted", "message": ""},
			map[string]any{"type": "Enforced", "status": enforced, "reason": "Unknown", "message": ""},
		}}
	}
}

func unmanaged(o *unstructured.Unstructured) {
	o.SetAnnotations(map[string]string{v1alpha1.AnnotationManaged: "false"})
}

func foreign(o *unstructured.Unstructured) { o.SetLabels(nil) }

// owned is by another controller, which copied it with its labels.
func owned(o *unstructured.Unstructured) {
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Copy", Name: "copy", UID: "copy", Controller: new(true)}})
}

func leaving(o *unstructured.Unstructured) {
	o.SetDeletionTimestamp(&metav1.Time{Time: now})
	o.SetFinalizers([]string{"test.example.com/hold"})
}

// world is a cluster, the operator in it, and what it wrote.
type world struct {
	*nudge.Reconciler
	clock *clocktesting.FakeClock
	wrote []string
	fails error
}

func newWorld(kinds serving, objects ...client.Object) *world {
	scheme := runtime.NewScheme()
	for _, kind := range []schema.GroupVersionKind{kuadrant.AuthPolicy, kuadrant.TokenRateLimitPolicy, httpRoute} {
		scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &unstructured.UnstructuredList{})
	}
	w := &world{clock: clocktesting.NewFakeClock(now)}
	c := fakecluster.Holding(scheme, objects...).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			data, err := patch.Data(object)
			if err != nil || w.fails != nil {
				return errors.Join(err, w.fails)
			}
			w.wrote = append(w.wrote, object.GetObjectKind().GroupVersionKind().Kind+" "+object.GetNamespace()+"/"+object.GetName()+" "+string(data))
			return c.Patch(ctx, object, patch, opts...)
		},
	}).Build()
	w.Reconciler = &nudge.Reconciler{Client: c, APIs: facts.NewOptionalAPIs(kinds), Clock: w.clock, Patience: time.Minute}
	return w
}

func (w *world) look(t *testing.T) time.Duration {
	t.Helper()
	result, err := w.Reconcile(t.Context(), ctrl.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return result.RequeueAfter
}

func TestKuadrantIsNudgedByTheFirstRouteOfOurs(t *testing.T) {
	t.Parallel()
	all := serving{kuadrant.AuthPolicy, kuadrant.TokenRateLimitPolicy, httpRoute}
	enforced := object(kuadrant.AuthPolicy, "llm", "b", said("True"))
	waiting := object(kuadrant.AuthPolicy, "llm", "a")
	route := object(httpRoute, "infra", "route")
	nudged := []string{`HTTPRoute infra/route {"metadata":{"annotations":{"maas.opendatahub.io/nudged-at":"2030-01-01T00:01:00Z"}}}`}
	for name, test := range map[string]struct {
		kinds   serving
		objects []client.Object
		waits   bool
		want    []string
	}{
		"a policy waits":                    {all, []client.Object{enforced, waiting, route}, true, nudged},
		"limits are not enforced":           {all, []client.Object{object(kuadrant.TokenRateLimitPolicy, "llm", "a", said("False")), route}, true, nudged},
		"among other routes":                {all, []client.Object{enforced, waiting, object(httpRoute, "infra", "z"), route, object(httpRoute, "llm", "a"), object(httpRoute, "infra", "a", foreign), object(httpRoute, "infra", "b", unmanaged), object(httpRoute, "infra", "c", leaving), object(httpRoute, "infra", "d", owned)}, true, nudged},
		"everything is enforced":            {all, []client.Object{enforced, route}, false, nil},
		"one of somebody else":              {all, []client.Object{enforced, object(kuadrant.AuthPolicy, "llm", "a", foreign), route}, false, nil},
		"one that somebody manages by hand": {all, []client.Object{enforced, object(kuadrant.AuthPolicy, "llm", "a", unmanaged), route}, false, nil},
		"one that is about to go":           {all, []client.Object{enforced, object(kuadrant.AuthPolicy, "llm", "a", leaving), route}, false, nil},
		"Kuadrant is not there":             {all, []client.Object{waiting, route}, false, nil},
		"there are no routes of ours":       {all, []client.Object{enforced, waiting, object(httpRoute, "infra", "a", foreign)}, true, nil},
		"routes are no longer served":       {all[:2], []client.Object{enforced, waiting}, true, nil},
		"policies are not served":           {all[2:], []client.Object{route}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(test.kinds, test.objects...)
			again := w.look(t)
			if (again == time.Minute) != test.waits || !test.waits && again != 0 || len(w.wrote) > 0 {
				t.Fatalf("at first: looks again after %s and wrote %v, want nothing yet", again, w.wrote)
			}
			w.clock.Step(time.Minute)
			if again = w.look(t); (again == 2*time.Minute) != test.waits {
				t.Errorf("a minute later: looks again after %s", again)
			}
			w.look(t)
			if diff := cmp.Diff(test.want, w.wrote); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAFailedNudgeIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(serving{kuadrant.AuthPolicy, httpRoute}, object(kuadrant.AuthPolicy, "llm", "a", said("False")), object(httpRoute, "infra", "route"))
	w.look(t)
	w.clock.Step(time.Minute)
	w.fails = errors.New("down")
	if _, err := w.Reconcile(t.Context(), ctrl.Request{}); !errors.Is(err, w.fails) {
		t.Errorf("err = %v, want what the API server says", err)
	}
	w.fails = nil
	if w.look(t); len(w.wrote) != 1 {
		t.Errorf("wrote %v, want one nudge", w.wrote)
	}
}
