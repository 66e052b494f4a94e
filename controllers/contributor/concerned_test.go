// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package contributor_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/contributor"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/desired/attachment"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

// settled judges subscriptions: those named "settled" are.
type settled struct{}

func (settled) Judge(context.Context, *v1alpha1.MaaSSubscription, time.Time) ([]attachment.Reference, error) {
	return nil, nil
}
func (settled) Complete(context.Context, *v1alpha1.MaaSSubscription) error { return nil }
func (settled) Settled(_ attachment.Policy, s *v1alpha1.MaaSSubscription, _ types.NamespacedName) bool {
	return s.Name == "settled"
}

func (settled) Concerned(context.Context, client.Object) ([]types.NamespacedName, error) {
	return []types.NamespacedName{builder.Key("red", "by-route")}, nil
}

func TestAPolicyConcernsThoseWhoseVerdictMoves(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	granite := builder.Key("llm", "granite")
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	b := fakecluster.Holding(scheme,
		builder.Subscription("red", "settled").Limit(granite, 1, "1m").Obj(),
		builder.Subscription("red", "moving").Limit(granite, 1, "1m").Obj(),
		builder.Subscription("red", "other").Limit(builder.Key("llm", "llama"), 1, "1m").Obj())
	for _, i := range index.All() {
		b = b.WithIndex(i.Object, i.Name, i.Extract)
	}
	kind := contributor.Kind[*v1alpha1.MaaSSubscription]{
		NewList: func() client.ObjectList { return &v1alpha1.MaaSSubscriptionList{} }, Index: index.SubscriptionByModel,
		PolicyName: func(model string) string { return "maas-trlp-" + model },
		Status:     func(s *v1alpha1.MaaSSubscription) any { return &s.Status },
		Conditions: func(s *v1alpha1.MaaSSubscription) *[]metav1.Condition { return &s.Status.Conditions },
	}
	reader := b.Build()

	policy := func(name string, change func(*unstructured.Unstructured)) client.Object {
		p := kuadrant.New(kuadrant.TokenRateLimitPolicy)
		p.SetNamespace("llm")
		p.SetName(name)
		p.SetLabels(map[string]string{v1alpha1.LabelModel: "granite", v1alpha1.LabelModelNamespace: "llm", v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue})
		if change != nil {
			change(p)
		}
		return p
	}
	unlabelled := func(p *unstructured.Unstructured) { p.SetLabels(nil) }
	unsteady := func(p *unstructured.Unstructured) {
		p.Object["status"] = map[string]any{"conditions": []any{
			map[string]any{"type": "Accepted", "status": "True"},
			map[string]any{"type": "Enforced", "status": "False", "reason": "Unknown", "lastTransitionTime": now.Format(time.RFC3339)},
		}}
	}
	ours := policy("maas-trlp-granite", nil)
	for name, tc := range map[string]struct {
		before, after client.Object
		want          map[string]string
	}{
		"a new one, those unsettled":                       {nil, ours, map[string]string{"moving": "0s"}},
		"a changed one, those unsettled":                   {ours, ours, map[string]string{"moving": "0s"}},
		"one that is gone, all":                            {ours, nil, map[string]string{"moving": "0s", "settled": "0s"}},
		"one that may settle by itself, the others later":  {ours, policy("maas-trlp-granite", unsteady), map[string]string{"moving": "0s", "settled": "30s"}},
		"one under another name, all":                      {nil, policy("old-name", nil), map[string]string{"moving": "0s", "settled": "0s"}},
		"one that lost its labels, and those of its route": {ours, policy("maas-trlp-granite", unlabelled), map[string]string{"moving": "0s", "by-route": "0s"}},
		"somebody else's, those of its route":              {nil, policy("rogue", unlabelled), map[string]string{"by-route": "0s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := contributor.New(kind, settled{}, reader, nil, nil)
			due, err := c.ConcernedAt(t.Context(), now, tc.before, tc.after)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, delays(due)); diff != "" {
				t.Errorf("due (-want +got):\n%s", diff)
			}
		})
	}
}

func delays(due trigger.Due) map[string]string {
	out := map[string]string{}
	for key, delay := range due {
		out[key.Name] = delay.String()
	}
	return out
}
