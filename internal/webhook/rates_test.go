// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// entry is what a subscription says of a model: limits and windows in turn.
func entry(pairs ...any) map[string]any {
	var rates []any
	for pair := range slices.Chunk(pairs, 2) {
		rates = append(rates, map[string]any{"limit": pair[0], "window": pair[1]})
	}
	return map[string]any{"namespace": "llm", "name": "granite", "tokenRateLimits": rates}
}

func TestLimitsThatNeverDecide(t *testing.T) {
	t.Parallel()
	const why = ": of limits whose windows are equally long only the smallest counts. Remove the first."
	var many []any
	for i := range 12 {
		many = append(many, i+1, "1m")
	}
	for name, tc := range map[string]struct {
		operation admissionv1.Operation
		entries   []any
		want      []string
	}{
		"all decide":  {admissionv1.Create, []any{entry(100, "1m", 5000, "1h"), entry(7, "60s")}, nil},
		"a duplicate": {admissionv1.Create, []any{entry(100, "1m", 100, "1m")}, nil},
		"a larger limit of the same window": {
			admissionv1.Create,
			[]any{entry(7, "1h"), entry(100, "1m", 20, "60s", 5000, "1h")},
			[]string{"spec.modelRefs[1].tokenRateLimits: 100 per 1m has no effect, because 20 per 60s decides" + why},
		},
		"nothing that is none":   {admissionv1.Create, []any{entry(100, "1d", 20, "24h")}, nil},
		"a subscription without": {admissionv1.Create, nil, nil},
		"only at creation":       {admissionv1.Update, []any{entry(100, "1m", 20, "60s")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := request(tc.operation, "MaaSSubscription", defaultNamespace)
			req.Object = raw(t, map[string]any{
				"apiVersion": "maas.opendatahub.io/v1alpha1", "kind": "MaaSSubscription", "metadata": map[string]any{"name": "sample"},
				"spec": map[string]any{"modelRefs": tc.entries},
			})
			handler := adviser{judge: func(context.Context, admission.Request) error { return nil }, advise: adviseSubscription}
			got := handler.Handle(t.Context(), req)
			expect(t, got, http.StatusOK)
			if diff := cmp.Diff(tc.want, got.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
	req := request(admissionv1.Create, "MaaSSubscription", defaultNamespace)
	req.Object = raw(t, map[string]any{"apiVersion": "v1", "kind": "x", "spec": map[string]any{"modelRefs": []any{entry(many...)}}})
	if got := adviseSubscription(t.Context(), req); len(got) != maxRateWarnings {
		t.Errorf("%d warnings, want %d", len(got), maxRateWarnings)
	}
	req.Object = raw(t, map[string]any{"apiVersion": "v1", "kind": "x", "spec": "none"})
	if got := adviseSubscription(t.Context(), req); got != nil {
		t.Errorf("warnings about what is no subscription: %v", got)
	}
}
