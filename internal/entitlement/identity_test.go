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
		"a qualified name counts":                     {"other/x,ns/gold", true},
		"a bare name of an earlier release counts":    {"silver,gold", true},
		"a bare name beside a qualified one does not": {"other/x,gold", false},
		"an incomplete list holds no bare name":       {"other/x,gold,...", false},
		"spaces do not matter":                        {" ns/gold , x", true},
		"another namespace does not count":            {"other/gold", false},
		"a longer name does not count":                {"ns/gold-plus", false},
		"an empty list holds nobody":                  {"", false},
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

func TestList(t *testing.T) {
	t.Parallel()
	keys := []types.NamespacedName{{Namespace: "b", Name: "x"}, {Namespace: "a", Name: "y"}, {Namespace: "c", Name: "z"}}
	tests := map[string]struct {
		limit    int
		want     string
		cutShort bool
	}{
		"names are sorted":            {limit: 100, want: "a/y,b/x,c/z"},
		"a long list says it is cut":  {limit: 8, want: "a/y,b/x,...", cutShort: true},
		"no space at all says so too": {limit: 1, want: "...", cutShort: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := entitlement.List(keys, test.limit)
			if got != test.want || entitlement.CutShort(got) != test.cutShort {
				t.Errorf("List() = %q, cut short %t, want %q, %t", got, entitlement.CutShort(got), test.want, test.cutShort)
			}
		})
	}
}
