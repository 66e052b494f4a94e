// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package finalizer_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/finalizer"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

const ours, theirs = v1alpha1.FinalizerModelCleanup, "example.com/theirs"

func model(finalizers ...string) *v1alpha1.MaaSModelRef {
	return &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "granite", Finalizers: finalizers}}
}

// cluster holds the objects and hands patches to the given function first.
func cluster(t *testing.T, patched func(client.Object, client.Patch) error, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	funcs := interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
		if err := patched(object, patch); err != nil {
			return err
		}
		return c.Patch(ctx, object, patch, opts...)
	}}
	return fakecluster.Holding(scheme, objects...).WithInterceptorFuncs(funcs).Build()
}

// read returns the object as it is stored.
func read(t *testing.T, c client.Client) *v1alpha1.MaaSModelRef {
	t.Helper()
	m := &v1alpha1.MaaSModelRef{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(model()), m); err != nil {
		t.Fatal(err)
	}
	return m
}

type change func(context.Context, client.Client, client.Object, string) error

func TestFinalizers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change       change
		before, want []string
		wantPatches  int
	}{
		"one is added":                       {finalizer.Add, nil, []string{ours}, 1},
		"one is added to others":             {finalizer.Add, []string{theirs}, []string{theirs, ours}, 1},
		"one that is there is not sent":      {finalizer.Add, []string{ours}, []string{ours}, 0},
		"one is removed":                     {finalizer.Drop, []string{ours, theirs}, []string{theirs}, 1},
		"one that is not there is not asked": {finalizer.Drop, []string{theirs}, []string{theirs}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patches := 0
			c := cluster(t, func(client.Object, client.Patch) error { patches++; return nil }, model(tc.before...))
			object := read(t, c)
			if err := tc.change(t.Context(), c, object, ours); err != nil {
				t.Fatal(err)
			}
			stored := read(t, c)
			if diff := cmp.Diff(tc.want, stored.Finalizers); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(stored.ObjectMeta, object.ObjectMeta); diff != "" {
				t.Errorf("the object differs from what is stored (-stored +object):\n%s", diff)
			}
			if patches != tc.wantPatches {
				t.Errorf("%d patches, want %d", patches, tc.wantPatches)
			}
		})
	}
}

func TestNothingButTheFinalizersIsSent(t *testing.T) {
	t.Parallel()
	var sent string
	c := cluster(t, func(object client.Object, patch client.Patch) error {
		data, err := patch.Data(object)
		sent = string(data)
		return err
	}, model())
	object := read(t, c)
	object.Status.Phase = v1alpha1.ModelPhaseReady // Decided, and not written yet.
	if err := finalizer.Add(t.Context(), c, object, ours); err != nil {
		t.Fatal(err)
	}
	if want := `{"metadata":{"finalizers":["` + ours + `"],"resourceVersion":"999"}}`; sent != want {
		t.Errorf("sent %s, want %s", sent, want)
	}
	if object.Status.Phase != v1alpha1.ModelPhaseReady {
		t.Error("the answer overwrote what was decided")
	}
}

func TestAFinalizerOfAnObjectThatMovedOnIsAConflict(t *testing.T) {
	t.Parallel()
	c := cluster(t, func(client.Object, client.Patch) error { return nil }, model(theirs))
	stale := read(t, c)
	moved := read(t, c)
	moved.Finalizers = nil
	if err := c.Update(t.Context(), moved); err != nil {
		t.Fatal(err)
	}
	if err := finalizer.Add(t.Context(), c, stale, ours); !apierrors.IsConflict(err) {
		t.Errorf("err = %v", err)
	}
	if diff := cmp.Diff([]string(nil), read(t, c).Finalizers); diff != "" {
		t.Errorf("a finalizer that was taken off came back (-want +got):\n%s", diff)
	}
}

func TestAnObjectThatIsGoneNeedsNoFinalizer(t *testing.T) {
	t.Parallel()
	c := cluster(t, func(client.Object, client.Patch) error { return nil })
	for name, f := range map[string]change{"added": finalizer.Add, "removed": finalizer.Drop} {
		object := model(ours)
		if name == "added" {
			object = model()
		}
		if err := f(t.Context(), c, object, ours); err != nil {
			t.Errorf("%s: err = %v", name, err)
		}
	}
}

func TestAnErrorLeavesTheObjectAlone(t *testing.T) {
	t.Parallel()
	down := errors.New("connection refused")
	c := cluster(t, func(client.Object, client.Patch) error { return down }, model(ours))
	object := read(t, c)
	if err := finalizer.Drop(t.Context(), c, object, ours); !errors.Is(err, down) {
		t.Errorf("err = %v", err)
	}
	if diff := cmp.Diff([]string{ours}, object.Finalizers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
