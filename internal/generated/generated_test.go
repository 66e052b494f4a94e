// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package generated_test

import (
	stdcmp "cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/generated"
)

// deleter deletes one labelled object of each kind, unless the kind is down, and by
// name what is there under it.
type deleter struct {
	down   string
	err    error
	labels map[string]string
	// labelled is the name of the labelled objects.
	labelled string
	// named are the outcomes of deletions by name, and asked those names.
	named map[string]apply.Outcome
	asked []string
}

func (d *deleter) DeleteAllByLabels(_ context.Context, kind schema.GroupVersionKind, labels map[string]string, namespace string) ([]apply.Deletion, error) {
	d.labels = labels
	if kind.Kind == d.down {
		return nil, d.err
	}
	return []apply.Deletion{{Ref: apply.Ref{Kind: kind.Kind, Namespace: namespace, Name: d.labelled}, Outcome: apply.Deleted}}, nil
}

func (d *deleter) Delete(_ context.Context, kind schema.GroupVersionKind, key types.NamespacedName) (apply.Result, error) {
	d.asked = append(d.asked, kind.Kind+" "+key.String())
	if kind.Kind == d.down {
		return apply.Result{Outcome: apply.Failed}, d.err
	}
	return apply.Result{Outcome: stdcmp.Or(d.named[key.Name], apply.NotFound)}, nil
}

func kinds(deletions []apply.Deletion) []string {
	var out []string
	for _, d := range deletions {
		out = append(out, d.Ref.Namespace+" "+d.Ref.Kind)
	}
	return out
}

func outcomes(deletions []apply.Deletion) []apply.Outcome {
	var out []apply.Outcome
	for _, d := range deletions {
		out = append(out, d.Outcome)
	}
	return out
}

var granite = types.NamespacedName{Namespace: "llm", Name: "granite"}

func TestBothKindsAreRemovedInTheModelsNamespace(t *testing.T) {
	t.Parallel()
	d := &deleter{}
	deletions, err := generated.Remove(t.Context(), d, granite)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"llm AuthPolicy", "llm TokenRateLimitPolicy"}, kinds(deletions)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := map[string]string{"maas.opendatahub.io/model": "granite", "app.kubernetes.io/managed-by": "maas-controller"}
	if diff := cmp.Diff(want, d.labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func TestAKindThatFailsDoesNotKeepTheOther(t *testing.T) {
	t.Parallel()
	d := &deleter{down: "AuthPolicy", err: errors.New("connection refused")}
	deletions, err := generated.Remove(t.Context(), d, granite)
	if !errors.Is(err, d.err) {
		t.Errorf("err = %v", err)
	}
	want := []apply.Outcome{apply.Failed, apply.Deleted}
	if diff := cmp.Diff(want, outcomes(deletions)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPolicyThatLostItsLabelsIsRemovedByItsName(t *testing.T) {
	t.Parallel()
	d := &deleter{labelled: "maas-trlp-granite", named: map[string]apply.Outcome{"maas-auth-granite": apply.Deleted}}
	deletions, err := generated.Remove(t.Context(), d, granite)
	if err != nil {
		t.Fatal(err)
	}
	want := apply.Deletion{
		Ref:     apply.Ref{Group: "kuadrant.io", Kind: "AuthPolicy", Namespace: "llm", Name: "maas-auth-granite"},
		Outcome: apply.Deleted,
	}
	if !slices.Contains(deletions, want) {
		t.Errorf("%v lacks %v", deletions, want)
	}
	if diff := cmp.Diff([]string{"AuthPolicy llm/maas-auth-granite"}, d.asked); diff != "" {
		t.Errorf("asked by name although found by its labels (-want +got):\n%s", diff)
	}
}

func TestWhatStandsUnderTheNameIsReportedOnlyWhenItIsOurs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		outcome apply.Outcome
		want    []apply.Outcome
	}{
		"nothing":                 {apply.NotFound, []apply.Outcome{apply.Deleted, apply.Deleted}},
		"a policy of others":      {apply.NotOurs, []apply.Outcome{apply.Deleted, apply.Deleted}},
		"a policy that opted out": {apply.OptedOut, []apply.Outcome{apply.Deleted, apply.OptedOut, apply.Deleted}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &deleter{named: map[string]apply.Outcome{"maas-auth-granite": tc.outcome}}
			deletions, err := generated.Remove(t.Context(), d, granite)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, outcomes(deletions)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestANameThatFitsNoLabelHasNoPolicies(t *testing.T) {
	t.Parallel()
	d := &deleter{down: "AuthPolicy", err: errors.New("the API server was asked")}
	deletions, err := generated.Remove(t.Context(), d, types.NamespacedName{Namespace: "llm", Name: strings.Repeat("m", 64)})
	if err != nil || len(deletions) > 0 {
		t.Errorf("deletions %v, err = %v", deletions, err)
	}
}

func TestTheLongestNameThatFitsALabelHasPolicies(t *testing.T) {
	t.Parallel()
	if _, ok := generated.Labels(types.NamespacedName{Namespace: "llm", Name: strings.Repeat("m", 63)}); !ok {
		t.Error("left out")
	}
}
