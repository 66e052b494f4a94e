// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

func TestDecideIdentity(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		subscription v1alpha1.MaaSSubscription
		listed       bool
		want         v1alpha1.RateLimitIdentity
	}{
		"a new subscription is short": {
			want: v1alpha1.RateLimitIdentityShort,
		},
		"a phase is evidence of an earlier release": {
			subscription: v1alpha1.MaaSSubscription{Status: v1alpha1.MaaSSubscriptionStatus{Phase: v1alpha1.PhaseActive}},
			want:         v1alpha1.RateLimitIdentityLegacy,
		},
		"the historical finalizer is evidence": {
			subscription: v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{v1alpha1.FinalizerSubscriptionCleanup}}},
			want:         v1alpha1.RateLimitIdentityLegacy,
		},
		"a foreign finalizer is no evidence": {
			subscription: v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"example.com/keep"}}},
			want:         v1alpha1.RateLimitIdentityShort,
		},
		"membership in a generated policy is evidence": {
			listed: true,
			want:   v1alpha1.RateLimitIdentityLegacy,
		},
		"a recorded identity never changes": {
			subscription: v1alpha1.MaaSSubscription{Status: v1alpha1.MaaSSubscriptionStatus{
				Phase: v1alpha1.PhaseActive, RateLimitIdentity: v1alpha1.RateLimitIdentityShort,
			}},
			listed: true,
			want:   v1alpha1.RateLimitIdentityShort,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := entitlement.DecideIdentity(&test.subscription, test.listed); got != test.want {
				t.Errorf("DecideIdentity() = %q, want %q", got, test.want)
			}
		})
	}
}

func TestListed(t *testing.T) {
	t.Parallel()
	key := types.NamespacedName{Namespace: "ns", Name: "gold"}
	tests := map[string]struct {
		annotation string
		want       bool
	}{
		"a qualified name counts":                  {"other/x,ns/gold", true},
		"a bare name of an earlier release counts": {"silver,gold", true},
		"spaces do not matter":                     {" ns/gold , x", true},
		"another namespace does not count":         {"other/gold", false},
		"a longer name does not count":             {"ns/gold-plus", false},
		"an empty list holds nobody":               {"", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := entitlement.Listed(test.annotation, key); got != test.want {
				t.Errorf("Listed(%q) = %t, want %t", test.annotation, got, test.want)
			}
		})
	}
}
