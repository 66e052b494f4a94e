// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

func TestAModelNamedTwiceIsRefused(t *testing.T) {
	t.Parallel()
	entry := func(namespace, name string, rates ...v1alpha1.TokenRateLimit) v1alpha1.ModelSubscription {
		return v1alpha1.ModelSubscription{Namespace: namespace, Name: name, TokenRateLimits: rates}
	}
	mine := entry(llm.Namespace, llm.Name, rate(1, "1m"))
	tests := map[string]struct {
		entries []v1alpha1.ModelSubscription
		want    string // Part of the message, empty when the entry counts.
	}{
		"once":                             {entries: []v1alpha1.ModelSubscription{mine}},
		"once, and others twice":           {entries: []v1alpha1.ModelSubscription{entry("llm", "a"), mine, entry("llm", "a"), entry("other", llm.Name)}},
		"twice with different rates":       {entries: []v1alpha1.ModelSubscription{entry("x", "y"), mine, entry(llm.Namespace, llm.Name, rate(9, "1m"))}, want: "spec.modelRefs[2] names the same model as spec.modelRefs[1]"},
		"twice with the same rates":        {entries: []v1alpha1.ModelSubscription{mine, mine}, want: "remove the other"},
		"twice, the second one is invalid": {entries: []v1alpha1.ModelSubscription{mine, entry(llm.Namespace, llm.Name)}, want: "spec.modelRefs[1]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := short("gold")
			s.Object.Spec.ModelRefs = test.entries
			_, err := model.AdmitRates(s.Object, llm)
			user, refused := apperr.AsUser(err)
			if refused != (test.want != "") || refused && (user.Reason != string(v1alpha1.ReasonInvalidSpec) || !strings.Contains(user.Message, test.want)) {
				t.Fatalf("AdmitRates() error = %v, want %q", err, test.want)
			}
			in := input()
			in.Subscriptions = []model.Subscription{s}
			if wanted := build(t, in).TokenRateLimitPolicy != nil; wanted == refused {
				t.Errorf("the policy is wanted: %t, though the entry is refused: %t", wanted, refused)
			}
		})
	}
}

// TestOtherModelsOfTheSubscriptionStay: a duplicate concerns its model alone.
func TestOtherModelsOfTheSubscriptionStay(t *testing.T) {
	t.Parallel()
	s := short("gold", rate(1, "1m"))
	other := types.NamespacedName{Namespace: "llm", Name: "other"}
	twice := v1alpha1.ModelSubscription{Namespace: other.Namespace, Name: other.Name, TokenRateLimits: []v1alpha1.TokenRateLimit{rate(1, "1m")}}
	s.Object.Spec.ModelRefs = append(s.Object.Spec.ModelRefs, twice, twice)
	if _, err := model.AdmitRates(s.Object, llm); err != nil {
		t.Errorf("AdmitRates(%s) error = %v", llm, err)
	}
	if err := model.DuplicateEntry(s.Object, other); err == nil {
		t.Errorf("DuplicateEntry(%s) finds nothing", other)
	}
}

// TestAProviderThatCannotBeToldHoldsTheAuthPolicy: no policy is written as if
// nobody had asked for a provider, the limits follow all the same, and without
// contributors there is nothing to hold.
func TestAProviderThatCannotBeToldHoldsTheAuthPolicy(t *testing.T) {
	t.Parallel()
	in := guarded()
	in.Subscriptions = []model.Subscription{short("gold", rate(1, "1m"))}
	in.Tenant.OIDC, in.Tenant.OIDCProblem = nil, apperr.User(v1alpha1.ReasonInvalidOIDC, "AITenant red: spec.oidc.clientId is empty.")
	if out := build(t, in); out.AuthPolicy != nil || out.AuthPolicyHeld == nil || out.TokenRateLimitPolicy == nil {
		t.Errorf("AuthPolicy %v, held %v, TokenRateLimitPolicy %v", out.AuthPolicy, out.AuthPolicyHeld, out.TokenRateLimitPolicy)
	}
	in.AuthPolicies = nil
	if out := build(t, in); out.AuthPolicy != nil || out.AuthPolicyHeld != nil {
		t.Errorf("AuthPolicy %v, held %v, without an auth policy", out.AuthPolicy, out.AuthPolicyHeld)
	}
}

// TestNobodysObjectsAreNotAModelsOfNoTenant: two unknown tenants are not the same.
func TestNobodysObjectsAreNotAModelsOfNoTenant(t *testing.T) {
	t.Parallel()
	if err := model.AdmitTenant(tenancy.Context{}, ""); err == nil {
		t.Error("AdmitTenant() admits an object of no tenant to a model of no tenant")
	}
}
