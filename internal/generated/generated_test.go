// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package generated_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/generated"
)

// deleter deletes one object of each kind, unless the kind is down.
type deleter struct {
	down   string
	err    error
	labels map[string]string
}

func (d *deleter) DeleteAllByLabels(_ context.Context, kind schema.GroupVersionKind, labels map[string]string, namespace string) ([]apply.Deletion, error) {
	d.labels = labels
	if kind.Kind == d.down {
		return nil, d.err
	}
	return []apply.Deletion{{Ref: apply.Ref{Kind: kind.Kind, Namespace: namespace}, Outcome: apply.Deleted}}, nil
}

func kinds(deletions []apply.Deletion) []string {
	var out []string
	for _, d := range deletions {
		out = append(out, d.Ref.Namespace+" "+d.Ref.Kind)
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
	if diff := cmp.Diff([]string{"llm TokenRateLimitPolicy"}, kinds(deletions)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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
