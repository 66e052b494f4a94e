// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// A model whose only subscription cannot be enforced has no limits. Were it to
// own a shared route as a governed model does, the others would wait for ever
// for policies that never come.
func TestOnlyWhatCanBeEnforcedClaimsARoute(t *testing.T) {
	t.Parallel()
	rated := func(window string) v1alpha1.ModelSubscription {
		return v1alpha1.ModelSubscription{TokenRateLimits: []v1alpha1.TokenRateLimit{{Limit: 1, Window: window}}}
	}
	for name, tc := range map[string]struct {
		entry v1alpha1.ModelSubscription
		want  bool
	}{
		"a rate":           {rated("1m"), true},
		"unlimited":        {v1alpha1.ModelSubscription{Unlimited: true}, true},
		"no rates":         {v1alpha1.ModelSubscription{}, false},
		"a strange window": {rated("7d"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: "models-as-a-service", Name: "gold"}}
			tc.entry.Namespace, tc.entry.Name = "llm", "granite"
			s.Spec.ModelRefs = []v1alpha1.ModelSubscription{tc.entry}
			got := claim(model.Input{
				Model:         types.NamespacedName{Namespace: "llm", Name: "granite"},
				Tenant:        tenancy.Context{Name: tenancy.DefaultName},
				Subscriptions: []model.Subscription{{Object: s, Tenant: tenancy.DefaultName}},
			}, &v1alpha1.MaaSModelRef{})
			if got.Limits != tc.want {
				t.Errorf("claim().Limits = %t, want %t", got.Limits, tc.want)
			}
		})
	}
}
