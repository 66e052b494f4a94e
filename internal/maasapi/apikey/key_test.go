// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey_test

import (
	"testing"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

func TestRefusal(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.August, 1, 10, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		record apikey.Record
		want   apikey.Reason
	}{
		"an active key is accepted":         {apikey.Record{Status: apikey.StatusActive, Subscription: "free", ExpiresAt: now.Add(time.Second)}, ""},
		"one that never expires too":        {apikey.Record{Status: apikey.StatusActive, Subscription: "free"}, ""},
		"not after its expiry":              {apikey.Record{Status: apikey.StatusActive, Subscription: "free", ExpiresAt: now.Add(-time.Second)}, apikey.ReasonRevokedOrExpired},
		"nor at that very moment":           {apikey.Record{Status: apikey.StatusActive, Subscription: "free", ExpiresAt: now}, apikey.ReasonRevokedOrExpired},
		"a revoked one is not":              {apikey.Record{Status: apikey.StatusRevoked, Subscription: "free"}, apikey.ReasonRevokedOrExpired},
		"nor one that is stored as expired": {apikey.Record{Status: apikey.StatusExpired, Subscription: "free", ExpiresAt: now.Add(time.Hour)}, apikey.ReasonRevokedOrExpired},
		"nor one of an unknown state":       {apikey.Record{Status: "suspended", Subscription: "free"}, apikey.ReasonRevokedOrExpired},
		"nor one without a subscription":    {apikey.Record{Status: apikey.StatusActive}, apikey.ReasonNoSubscription},
		"its end comes before what it lacks": {
			apikey.Record{Status: apikey.StatusRevoked}, apikey.ReasonRevokedOrExpired,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.record.Refusal(now); got != test.want {
				t.Errorf("Refusal = %q, want %q", got, test.want)
			}
		})
	}
}
