// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey/apikeytest"
)

func TestChangesAreAudited(t *testing.T) {
	t.Parallel()
	key, other := apikeytest.ID("key"), apikeytest.ID("other")
	revoke := func(actor, id string) func(*apikeytest.World) error {
		return func(w *apikeytest.World) error {
			_, err := w.Revoke(t.Context(), apikeytest.Member(actor), id)
			return err
		}
	}
	bulk := func(actor string, r apikey.BulkRevokeRequest) func(*apikeytest.World) error {
		return func(w *apikeytest.World) error {
			_, err := w.BulkRevoke(t.Context(), apikeytest.Member(actor), r)
			return err
		}
	}
	tests := map[string]struct {
		fail     string
		adminErr error
		call     func(w *apikeytest.World) error
		want     []apikey.AuditEvent
	}{
		"a revocation": {call: revoke("alice", key), want: []apikey.AuditEvent{
			{Action: apikey.ActionRevoke, Result: apikey.ResultSuccess, Actor: "alice", KeyID: key, Count: 1},
		}},
		"one by a stranger": {call: revoke("mallory", key), want: []apikey.AuditEvent{
			{Action: apikey.ActionRevoke, Result: apikey.ResultDenied, Actor: "mallory", KeyID: key},
		}},
		"one of no key": {call: revoke("alice", other), want: []apikey.AuditEvent{
			{Action: apikey.ActionRevoke, Result: apikey.ResultNotFound, Actor: "alice", KeyID: other},
		}},
		"one with a key in the place of its id": {call: revoke("alice", vectorKey), want: []apikey.AuditEvent{
			{Action: apikey.ActionRevoke, Result: apikey.ResultNotFound, Actor: "alice", KeyID: "<invalid>"},
		}},
		"one that failed": {call: revoke("alice", key), fail: "Revoke", want: []apikey.AuditEvent{
			{Action: apikey.ActionRevoke, Result: apikey.ResultFailed, Actor: "alice", KeyID: key},
		}},
		"one of many": {call: bulk("admin", apikey.BulkRevokeRequest{Username: "alice", Subscription: "free"}), want: []apikey.AuditEvent{
			{Action: apikey.ActionBulkRevoke, Result: apikey.ResultSuccess, Actor: "admin", TargetUser: "alice", TargetSubscription: "free", Count: 1},
		}},
		"a denied one of many": {call: bulk("mallory", apikey.BulkRevokeRequest{Username: "alice"}), want: []apikey.AuditEvent{
			{Action: apikey.ActionBulkRevoke, Result: apikey.ResultDenied, Actor: "mallory", TargetUser: "alice"},
		}},
		"a denied dry run": {call: bulk("mallory", apikey.BulkRevokeRequest{Username: "alice", DryRun: true}), want: []apikey.AuditEvent{
			{Action: apikey.ActionBulkRevoke, Result: apikey.ResultDenied, Actor: "mallory", TargetUser: "alice"},
		}},
		"one of many that could not be checked": {
			call: bulk("admin", apikey.BulkRevokeRequest{Username: "alice"}), adminErr: errDown,
			want: []apikey.AuditEvent{{Action: apikey.ActionBulkRevoke, Result: apikey.ResultFailed, Actor: "admin", TargetUser: "alice"}},
		},
		"that of a tenant": {
			call: func(w *apikeytest.World) error { _, err := w.RevokeTenant(t.Context(), apikeytest.Tenant); return err },
			want: []apikey.AuditEvent{{Action: apikey.ActionTenantRevoke, Result: apikey.ResultSuccess, Count: 1}},
		},
		"that of another tenant": {
			call: func(w *apikeytest.World) error { _, err := w.RevokeTenant(t.Context(), "other"); return err },
			want: []apikey.AuditEvent{{Action: apikey.ActionTenantRevoke, Result: apikey.ResultDenied}},
		},
		"a cleanup that found something": {
			call: func(w *apikeytest.World) error { w.Store.Due = 2; _, err := w.Cleanup(t.Context()); return err },
			want: []apikey.AuditEvent{{Action: apikey.ActionPurge, Result: apikey.ResultSuccess, Count: 2}},
		},
		"a cleanup that failed": {
			call: func(w *apikeytest.World) error { _, err := w.Cleanup(t.Context()); return err }, fail: "DeleteExpiredEphemeral",
			want: []apikey.AuditEvent{{Action: apikey.ActionCleanup, Result: apikey.ResultFailed}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := people(t)
			w.Store.Fail, w.Admins.Err = failing(test.fail), test.adminErr
			_ = test.call(w)
			for i := range test.want {
				test.want[i].Tenant = apikeytest.Tenant
			}
			if diff := cmp.Diff(test.want, w.Audit.Events(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("audited (-want +got):\n%s", diff)
			}
		})
	}
}
