// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/internal/facts"
)

// watches records the versions for which something was added.
type watches struct {
	added []string
	err   error
}

func (w *watches) add(_ context.Context, gvk schema.GroupVersionKind) error {
	if w.err != nil {
		return w.err
	}
	w.added = append(w.added, gvk.Version)
	return nil
}

var seen = ctrl.Request{NamespacedName: types.NamespacedName{Name: widget.CRD}}

func serving() map[string][]string { return map[string][]string{"example.com/v1alpha2": {"Widget"}} }

func TestAServedAPIIsAddedAtOnceAndNeverAgain(t *testing.T) {
	t.Parallel()
	o, w := facts.NewOptionalAPIs(&cluster{serves: serving()}), &watches{}
	if err := o.OnServed(t.Context(), widget, w.add); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Reconcile(t.Context(), seen); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"v1alpha2"}, w.added); diff != "" {
		t.Errorf("added (-want +got):\n%s", diff)
	}
}

// Row 9.1.28 of policies.md.
func TestAMissingAPIIsAddedOnceWhenItAppears(t *testing.T) {
	t.Parallel()
	c := &cluster{}
	o, first, second := facts.NewOptionalAPIs(c), &watches{}, &watches{}
	for _, w := range []*watches{first, second} {
		if err := o.OnServed(t.Context(), widget, w.add); err != nil {
			t.Fatal(err)
		}
	}
	result, err := o.Reconcile(t.Context(), seen)
	if err != nil || result.RequeueAfter == 0 {
		t.Errorf("a definition that is not served yet: %+v, %v", result, err)
	}
	if len(first.added) != 0 {
		t.Errorf("added %v before the API was served", first.added)
	}

	c.serves = serving()
	if _, err := o.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "gadgets.example.com"}}); err != nil || len(first.added) != 0 {
		t.Errorf("another definition added %v, err = %v", first.added, err)
	}
	for range 3 {
		if _, err := o.Reconcile(t.Context(), seen); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([][]string{{"v1alpha2"}, {"v1alpha2"}}, [][]string{first.added, second.added}); diff != "" {
		t.Errorf("added (-want +got):\n%s", diff)
	}
	if gvk, served, err := o.Served(widget); !served || gvk.Version != "v1alpha2" || err != nil {
		t.Errorf("Served = %v, %v, %v", gvk, served, err)
	}
}

func TestAWatchThatCannotBeAddedIsTriedAgainAlone(t *testing.T) {
	t.Parallel()
	c := &cluster{}
	o, good, bad := facts.NewOptionalAPIs(c), &watches{}, &watches{err: errDown}
	for _, w := range []*watches{good, bad} {
		if err := o.OnServed(t.Context(), widget, w.add); err != nil {
			t.Fatal(err)
		}
	}
	c.serves = serving()
	if _, err := o.Reconcile(t.Context(), seen); !errors.Is(err, errDown) {
		t.Errorf("err = %v", err)
	}
	bad.err = nil
	if _, err := o.Reconcile(t.Context(), seen); err != nil {
		t.Fatal(err)
	}
	if len(good.added) != 1 || len(bad.added) != 1 {
		t.Errorf("added %d and %d times", len(good.added), len(bad.added))
	}
}

// Row 9.1.27 of policies.md: not knowing delays the watch and never prevents it.
func TestNotKnowingIsAskedAgain(t *testing.T) {
	t.Parallel()
	c := &cluster{err: errDown}
	o, w := facts.NewOptionalAPIs(c), &watches{}
	if err := o.OnServed(t.Context(), widget, w.add); err != nil {
		t.Errorf("an unreachable cluster fails the start: %v", err)
	}
	if _, _, err := o.Served(widget); !errors.Is(err, errDown) {
		t.Errorf("Served: err = %v", err)
	}
	if _, err := o.Reconcile(t.Context(), seen); !errors.Is(err, errDown) {
		t.Errorf("Reconcile: err = %v", err)
	}
	c.err, c.serves = nil, serving()
	if _, err := o.Reconcile(t.Context(), seen); err != nil || len(w.added) != 1 {
		t.Errorf("added %v, err = %v", w.added, err)
	}
}

func TestTheAnswerIsRemembered(t *testing.T) {
	t.Parallel()
	c := &cluster{}
	o := facts.NewOptionalAPIs(c)
	for range 5 {
		if _, served, err := o.Served(widget); served || err != nil {
			t.Fatal(served, err)
		}
	}
	if c.asked != len(widget.Versions) {
		t.Errorf("asked %d times", c.asked)
	}
}

func TestADefinitionThatIsNeverServedIsLeftAloneAfterAWhile(t *testing.T) {
	t.Parallel()
	o, w := facts.NewOptionalAPIs(&cluster{}), &watches{}
	if err := o.OnServed(t.Context(), widget, w.add); err != nil {
		t.Fatal(err)
	}
	for tries := 0; ; tries++ {
		result, err := o.Reconcile(t.Context(), seen)
		if err != nil {
			t.Fatal(err)
		}
		if result.RequeueAfter == 0 {
			break
		}
		if tries > 1000 {
			t.Fatal("looks again for ever")
		}
	}
}
