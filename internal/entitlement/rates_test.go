// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

func rate(limit int64, window string) v1alpha1.TokenRateLimit {
	return v1alpha1.TokenRateLimit{Limit: limit, Window: window}
}

func TestEnforcedRates(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ rates, want []v1alpha1.TokenRateLimit }{
		"windows of different lengths all count": {
			rates: []v1alpha1.TokenRateLimit{rate(100, "1m"), rate(5000, "1h")},
			want:  []v1alpha1.TokenRateLimit{rate(100, "1m"), rate(5000, "1h")},
		},
		"of one window the smallest decides": {
			rates: []v1alpha1.TokenRateLimit{rate(100, "1m"), rate(20, "1m"), rate(50, "1m")},
			want:  []v1alpha1.TokenRateLimit{rate(20, "1m")},
		},
		"windows are equal in seconds": {
			rates: []v1alpha1.TokenRateLimit{rate(100, "1m"), rate(20, "60s"), rate(7, "1h"), rate(9, "60m"), rate(8, "3600s")},
			want:  []v1alpha1.TokenRateLimit{rate(20, "60s"), rate(7, "1h")},
		},
		"equal limits are one": {
			rates: []v1alpha1.TokenRateLimit{rate(5, "1m"), rate(5, "60s")},
			want:  []v1alpha1.TokenRateLimit{rate(5, "1m")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := entitlement.RateSetOf(&v1alpha1.ModelSubscription{TokenRateLimits: tc.rates})
			if err != nil {
				t.Fatal(err)
			}
			byText := cmpopts.SortSlices(func(a, b v1alpha1.TokenRateLimit) bool {
				return a.Window < b.Window || a.Window == b.Window && a.Limit < b.Limit
			})
			if diff := cmp.Diff(tc.want, set.Enforced(), byText); diff != "" {
				t.Errorf("enforced (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIdleRates(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rates []v1alpha1.TokenRateLimit
		want  []entitlement.Idle
	}{
		"windows of different lengths all count": {rates: []v1alpha1.TokenRateLimit{rate(100, "1m"), rate(5000, "1h")}},
		"the same limit twice is one":            {rates: []v1alpha1.TokenRateLimit{rate(100, "1m"), rate(100, "1m")}},
		"the larger one never decides": {
			rates: []v1alpha1.TokenRateLimit{rate(20, "1m"), rate(100, "1m"), rate(5000, "1h")},
			want:  []entitlement.Idle{{rate(100, "1m"), rate(20, "1m")}},
		},
		"however the window is written": {
			rates: []v1alpha1.TokenRateLimit{rate(100, "1m"), rate(20, "60s"), rate(7, "1h"), rate(8, "3600s")},
			want:  []entitlement.Idle{{rate(100, "1m"), rate(20, "60s")}, {rate(8, "3600s"), rate(7, "1h")}},
		},
		"nor does an equal one": {
			rates: []v1alpha1.TokenRateLimit{rate(5, "1m"), rate(5, "60s")},
			want:  []entitlement.Idle{{rate(5, "60s"), rate(5, "1m")}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := entitlement.RateSetOf(&v1alpha1.ModelSubscription{TokenRateLimits: tc.rates})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, set.Idle()); diff != "" {
				t.Errorf("idle (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRateSetOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		entry     v1alpha1.ModelSubscription
		want      entitlement.RateSet
		wantError string
	}{
		"one rate gives one segment": {
			entry: v1alpha1.ModelSubscription{TokenRateLimits: []v1alpha1.TokenRateLimit{rate(100, "1m")}},
			want:  entitlement.RateSet{Name: "tokens-100-per-1m", Rates: []v1alpha1.TokenRateLimit{rate(100, "1m")}},
		},
		"segments are sorted as strings": {
			entry: v1alpha1.ModelSubscription{TokenRateLimits: []v1alpha1.TokenRateLimit{rate(99999, "1s"), rate(1000, "1h")}},
			want: entitlement.RateSet{
				Name:  "tokens-1000-per-1h-99999-per-1s",
				Rates: []v1alpha1.TokenRateLimit{rate(1000, "1h"), rate(99999, "1s")},
			},
		},
		"equal rates count once": {
			entry: v1alpha1.ModelSubscription{TokenRateLimits: []v1alpha1.TokenRateLimit{rate(5, "1m"), rate(5, "1m")}},
			want:  entitlement.RateSet{Name: "tokens-5-per-1m", Rates: []v1alpha1.TokenRateLimit{rate(5, "1m")}},
		},
		"windows are compared as written": {
			entry: v1alpha1.ModelSubscription{TokenRateLimits: []v1alpha1.TokenRateLimit{rate(5, "1m"), rate(5, "60s")}},
			want: entitlement.RateSet{
				Name:  "tokens-5-per-1m-5-per-60s",
				Rates: []v1alpha1.TokenRateLimit{rate(5, "1m"), rate(5, "60s")},
			},
		},
		"the longest window is 366 days": {
			entry: v1alpha1.ModelSubscription{TokenRateLimits: []v1alpha1.TokenRateLimit{rate(1, "8784h")}},
			want:  entitlement.RateSet{Name: "tokens-1-per-8784h", Rates: []v1alpha1.TokenRateLimit{rate(1, "8784h")}},
		},
		"unlimited has no rates": {
			entry: v1alpha1.ModelSubscription{Unlimited: true},
			want:  entitlement.RateSet{Name: "tokens-unlimited"},
		},
		"unlimited excludes rates": {
			entry:     v1alpha1.ModelSubscription{Unlimited: true, TokenRateLimits: []v1alpha1.TokenRateLimit{rate(5, "1m")}},
			wantError: "exclude each other",
		},
		"no rates at all are refused": {
			entry:     v1alpha1.ModelSubscription{},
			wantError: "tokenRateLimits is empty",
		},
		"a window above 366 days is refused": {
			entry:     v1alpha1.ModelSubscription{TokenRateLimits: []v1alpha1.TokenRateLimit{rate(1, "8785h")}},
			wantError: "the longest is 366 days",
		},
		"a stored window in days is refused": {
			entry:     v1alpha1.ModelSubscription{TokenRateLimits: []v1alpha1.TokenRateLimit{rate(5, "1m"), rate(1, "9007199254740991d")}},
			wantError: "tokenRateLimits[1].window",
		},
		"an absurd stored limit is refused": {
			entry:     v1alpha1.ModelSubscription{TokenRateLimits: []v1alpha1.TokenRateLimit{rate(9007199254740991, "1m")}},
			wantError: "tokenRateLimits[0].limit is 9007199254740991",
		},
		"a limit of zero is refused": {
			entry:     v1alpha1.ModelSubscription{TokenRateLimits: []v1alpha1.TokenRateLimit{rate(0, "1m")}},
			wantError: "between 1 and",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := entitlement.RateSetOf(&test.entry)
			if test.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantError) {
					t.Fatalf("RateSetOf() error = %v, want one with %q", err, test.wantError)
				}
				return
			}
			if err != nil {
				t.Fatalf("RateSetOf() error = %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("RateSetOf() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWindowSeconds(t *testing.T) {
	t.Parallel()
	for window, want := range map[string]int64{"1s": 1, "30s": 30, "5m": 300, "24h": 86400, "9999h": 9999 * 3600} {
		if got, err := entitlement.WindowSeconds(window); err != nil || got != want {
			t.Errorf("WindowSeconds(%q) = %d, %v, want %d", window, got, err, want)
		}
	}
	for _, window := range []string{"", "1d", "01m", "0s", "10000s", "100ms", "1w", "1h30m", "1.5h", "-1m", " 1m", "1m ", "1m\n", "１m"} {
		if got, err := entitlement.WindowSeconds(window); err == nil {
			t.Errorf("WindowSeconds(%q) = %d, want an error", window, got)
		}
	}
}

func TestRateSetNameDoesNotDependOnOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rates := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) v1alpha1.TokenRateLimit {
			return rate(rapid.Int64Range(1, entitlement.MaxLimit).Draw(t, "limit"), rapid.SampledFrom([]string{"1s", "60s", "1m", "1h", "24h"}).Draw(t, "window"))
		}), 1, 8).Draw(t, "rates")
		first, err := entitlement.RateSetOf(&v1alpha1.ModelSubscription{TokenRateLimits: rates})
		if err != nil {
			t.Fatalf("RateSetOf() error = %v", err)
		}
		second, err := entitlement.RateSetOf(&v1alpha1.ModelSubscription{TokenRateLimits: rapid.Permutation(rates).Draw(t, "shuffled")})
		if err != nil {
			t.Fatalf("RateSetOf() error = %v", err)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("order changes the rate set (-first +second):\n%s", diff)
		}
	})
}
