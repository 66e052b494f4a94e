// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/internal/facts"
)

// definitions is a cluster's CustomResourceDefinition of widgets; without a UID there
// is none.
type definitions struct {
	client.Reader
	uid      types.UID
	deleting bool
	err      error
}

func (d *definitions) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	switch {
	case d.err != nil:
		return d.err
	case d.uid == "":
		return notFound(key.Name)
	}
	obj.SetName(key.Name)
	obj.SetUID(d.uid)
	if d.deleting {
		obj.SetDeletionTimestamp(new(metav1.Now()))
	}
	return nil
}

// optionalWidgets is a cluster that serves widgets, and what is registered for them.
type optionalWidgets struct {
	*facts.OptionalAPIs
	cluster     *cluster
	definitions *definitions
	lasting     watches
	looks       watches
	gone        int
	goneErr     error
}

func newOptionalWidgets(t *testing.T, served map[string][]string) *optionalWidgets {
	t.Helper()
	w := &optionalWidgets{cluster: &cluster{serves: served}, definitions: &definitions{uid: "first"}}
	w.OptionalAPIs = facts.NewOptionalAPIs(w.cluster)
	w.ReadDefinitions(w.definitions)
	if err := errors.Join(
		w.OnFirstServed(t.Context(), widget, w.lasting.add),
		w.OnServed(t.Context(), widget, w.looks.add),
	); err != nil {
		t.Fatal(err)
	}
	w.OnGone(widget, func(context.Context) error {
		if w.goneErr == nil {
			w.gone++
		}
		return w.goneErr
	})
	w.see(t)
	return w
}

// see reconciles the definition once.
func (w *optionalWidgets) see(t *testing.T) ctrl.Result {
	t.Helper()
	result, err := w.Reconcile(t.Context(), seen)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// want compares the versions that were added for good and again, and the farewells.
func (w *optionalWidgets) want(t *testing.T, lasting, looks []string, gone int) {
	t.Helper()
	if diff := cmp.Diff([][]string{lasting, looks}, [][]string{w.lasting.added, w.looks.added}); diff != "" {
		t.Errorf("added for good and each time (-want +got):\n%s", diff)
	}
	if w.gone != gone {
		t.Errorf("said %d times that it is gone, want %d", w.gone, gone)
	}
}

func (w *optionalWidgets) wantServed(t *testing.T, want string) {
	t.Helper()
	gvk, served, err := w.Served(widget)
	if gvk.Version != want || served != (want != "") || err != nil {
		t.Errorf("Served = %v, %v, %v, want version %q", gvk, served, err, want)
	}
}

func TestAnAPIThatGoesIsNoLongerServed(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*optionalWidgets){
		"the definition is gone, discovery lags": func(w *optionalWidgets) { w.definitions.uid = "" },
		"the definition is being deleted":        func(w *optionalWidgets) { w.definitions.deleting = true },
		"discovery knows no version any more":    func(w *optionalWidgets) { w.cluster.serves = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newOptionalWidgets(t, serving())
			w.wantServed(t, "v1alpha2")
			remove(w)
			w.see(t)
			w.see(t)
			w.wantServed(t, "")
			w.want(t, []string{"v1alpha2"}, []string{"v1alpha2"}, 1)
		})
	}
}

func TestAnAPIThatComesBackIsLookedAtAgainButItsWatchStays(t *testing.T) {
	t.Parallel()
	w := newOptionalWidgets(t, serving())
	w.definitions.uid = ""
	w.see(t)
	w.cluster.serves, w.definitions.uid = nil, "second"
	if w.see(t).RequeueAfter == 0 {
		t.Error("does not look again while discovery lags")
	}
	w.wantServed(t, "")
	w.cluster.serves = serving()
	w.see(t)
	w.see(t)
	w.wantServed(t, "v1alpha2")
	w.want(t, []string{"v1alpha2"}, []string{"v1alpha2", "v1alpha2"}, 1)
}

func TestADefinitionThatWasReplacedUnseenIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	w := newOptionalWidgets(t, serving())
	w.definitions.uid = "second"
	w.see(t)
	w.see(t)
	w.want(t, []string{"v1alpha2"}, []string{"v1alpha2", "v1alpha2"}, 0)
}

func TestAnotherVersionIsWatchedOnceTheOldOneIsGone(t *testing.T) {
	t.Parallel()
	w := newOptionalWidgets(t, map[string][]string{"example.com/v1alpha1": {"Widget"}})
	w.cluster.serves = map[string][]string{"example.com/v1alpha1": {"Widget"}, "example.com/v1alpha2": {"Widget"}}
	w.see(t)
	w.wantServed(t, "v1alpha1")
	w.want(t, []string{"v1alpha1"}, []string{"v1alpha1"}, 0)

	w.cluster.serves = serving()
	w.see(t)
	w.wantServed(t, "v1alpha2")
	w.want(t, []string{"v1alpha1", "v1alpha2"}, []string{"v1alpha1", "v1alpha2"}, 0)
}

func TestWhatCannotBeDoneAboutAGoneAPIIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newOptionalWidgets(t, serving())
	w.definitions.uid, w.goneErr = "", errDown
	if _, err := w.Reconcile(t.Context(), seen); !errors.Is(err, errDown) {
		t.Errorf("err = %v", err)
	}
	w.goneErr = nil
	w.see(t)
	w.see(t)
	w.want(t, []string{"v1alpha2"}, []string{"v1alpha2"}, 1)
}

func TestALookThatFailsWhenTheAPIComesBackIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newOptionalWidgets(t, serving())
	w.definitions.uid = ""
	w.see(t)
	w.definitions.uid, w.looks.err = "second", errDown
	if _, err := w.Reconcile(t.Context(), seen); !errors.Is(err, errDown) {
		t.Errorf("err = %v", err)
	}
	w.looks.err = nil
	w.see(t)
	w.see(t)
	w.want(t, []string{"v1alpha2"}, []string{"v1alpha2", "v1alpha2"}, 1)
}

func TestADefinitionThatCannotBeReadChangesNothing(t *testing.T) {
	t.Parallel()
	w := newOptionalWidgets(t, serving())
	w.definitions.err = errDown
	if _, err := w.Reconcile(t.Context(), seen); !errors.Is(err, errDown) {
		t.Errorf("err = %v", err)
	}
	w.wantServed(t, "v1alpha2")
	w.want(t, []string{"v1alpha2"}, []string{"v1alpha2"}, 0)
}

// slowCluster is asked while the API goes.
type slowCluster struct {
	cluster
	meanwhile func()
}

func (s *slowCluster) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	list, err := s.cluster.ServerResourcesForGroupVersion(groupVersion)
	if s.meanwhile != nil {
		s.meanwhile()
	}
	return list, err
}

func TestAnAnswerFromBeforeTheAPIWentIsNotRemembered(t *testing.T) {
	t.Parallel()
	c := &slowCluster{cluster: cluster{serves: serving()}}
	o, d := facts.NewOptionalAPIs(c), &definitions{}
	o.ReadDefinitions(d)
	c.meanwhile = func() {
		if _, err := o.Reconcile(t.Context(), seen); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := o.Served(widget); err != nil {
		t.Fatal(err)
	}
	if gvk, served, err := o.Served(widget); served || err != nil {
		t.Errorf("Served = %v, %v, %v", gvk, served, err)
	}
}

func notFound(name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}, name)
}
