// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey/apikeytest"
)

// crowd makes a world in which alice and bob have keys of two subscriptions, and
// some that a bulk operation passes over.
func crowd(t *testing.T) *apikeytest.World {
	t.Helper()
	w := apikeytest.NewWorld(t)
	w.Admins.Names = []string{"admin"}
	forever, ephemeral, premium := w.Key("alice", "forever", 1), w.Key("alice", "ephemeral", 1), w.Key("alice", "premium", 1)
	forever.ExpiresAt, ephemeral.Ephemeral, premium.Subscription = time.Time{}, true, "premium"
	expired, revoked := w.Key("alice", "expired", 1), w.Key("alice", "revoked", 1)
	expired.ExpiresAt, revoked.Status = w.Clock.Now().Add(-time.Second), apikey.StatusRevoked
	w.Store.Add(forever, ephemeral, premium, expired, revoked, w.Key("bob", "bobs", 1))
	return w
}

func TestBulkRevoke(t *testing.T) {
	t.Parallel()
	// E-65 to E-68, E-70.
	const denied = "Access denied: admin privileges required for this bulk revoke operation"
	tests := map[string]struct {
		actor    string
		request  apikey.BulkRevokeRequest
		adminErr error
		want     apikey.BulkRevoked
		wantErr  access
	}{
		"own keys, of any kind": {
			actor: "alice", request: apikey.BulkRevokeRequest{Username: " alice "},
			want: apikey.BulkRevoked{Scope: apikey.Scope{Username: "alice"}, Count: 3},
		},
		"own keys need no check": {
			actor: "alice", request: apikey.BulkRevokeRequest{Username: "alice"}, adminErr: errDown,
			want: apikey.BulkRevoked{Scope: apikey.Scope{Username: "alice"}, Count: 3},
		},
		"somebody's, by an administrator": {
			actor: "admin", request: apikey.BulkRevokeRequest{Username: "alice"},
			want: apikey.BulkRevoked{Scope: apikey.Scope{Username: "alice"}, Count: 3},
		},
		"a subscription's, of everybody": {
			actor: "admin", request: apikey.BulkRevokeRequest{Subscription: "free"},
			want: apikey.BulkRevoked{Scope: apikey.Scope{Subscription: "free"}, Count: 3},
		},
		"somebody's of a subscription": {
			actor: "admin", request: apikey.BulkRevokeRequest{Username: "alice", Subscription: "premium"},
			want: apikey.BulkRevoked{Scope: apikey.Scope{Username: "alice", Subscription: "premium"}, Count: 1},
		},
		"an unknown subscription's": {
			actor: "admin", request: apikey.BulkRevokeRequest{Subscription: "gone"},
			want: apikey.BulkRevoked{Scope: apikey.Scope{Subscription: "gone"}},
		},
		"nobody's": {
			actor: "admin", request: apikey.BulkRevokeRequest{Username: " ", Subscription: "\t"},
			wantErr: access{Kind: apikey.KindInvalid, Message: "at least one of username or subscription is required"},
		},
		"nobody's, to look": {
			actor: "admin", request: apikey.BulkRevokeRequest{DryRun: true},
			wantErr: access{Kind: apikey.KindInvalid, Message: "at least one of username or subscription is required"},
		},
		"somebody else's": {
			actor: "alice", request: apikey.BulkRevokeRequest{Username: "bob"},
			wantErr: access{Kind: apikey.KindForbidden, Message: denied},
		},
		"somebody else's, to look": {
			actor: "alice", request: apikey.BulkRevokeRequest{Username: "bob", DryRun: true},
			wantErr: access{Kind: apikey.KindForbidden, Message: denied},
		},
		"own keys of a subscription": {
			actor: "alice", request: apikey.BulkRevokeRequest{Username: "alice", Subscription: "free"},
			wantErr: access{Kind: apikey.KindForbidden, Message: denied},
		},
		"by who cannot be checked": {
			actor: "admin", request: apikey.BulkRevokeRequest{Username: "bob"}, adminErr: errDown,
			wantErr: access{Kind: apikey.KindInternal, Message: "Failed to check authorization"},
		},
		"a name with a NUL": {
			actor: "admin", request: apikey.BulkRevokeRequest{Username: "a\x00"},
			wantErr: access{Kind: apikey.KindInvalid, Message: "username and subscription must be valid UTF-8 text without the character NUL"},
		},
		"a subscription that is no text": {
			actor: "admin", request: apikey.BulkRevokeRequest{Subscription: "\xff"},
			wantErr: access{Kind: apikey.KindInvalid, Message: "username and subscription must be valid UTF-8 text without the character NUL"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := crowd(t)
			w.Admins.Err = test.adminErr
			got, err := w.BulkRevoke(t.Context(), apikeytest.Member(test.actor), test.request)
			if test.wantErr != (access{}) {
				if diff := cmp.Diff(test.wantErr, accessOf(t, err)); diff != "" {
					t.Errorf("BulkRevoke (-want +got):\n%s", diff)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("BulkRevoke: %v (-want +got):\n%s", err, diff)
			}
			again, err := w.BulkRevoke(t.Context(), apikeytest.Member(test.actor), test.request)
			if err != nil || again.Count != 0 {
				t.Errorf("the second BulkRevoke: %d, %v", again.Count, err)
			}
			if counted := w.Counter(t, revocations, "bulk-revoke"); counted != float64(test.want.Count) {
				t.Errorf("%v revocations are counted, want %d", counted, test.want.Count)
			}
		})
	}
}

func TestDryRunCountsAndChangesNothing(t *testing.T) {
	t.Parallel()
	// E-67.
	for _, scope := range []apikey.Scope{{Username: "alice"}, {Subscription: "free"}, {Username: "alice", Subscription: "premium"}} {
		w := crowd(t)
		r := apikey.BulkRevokeRequest{Username: scope.Username, Subscription: scope.Subscription, DryRun: true}
		dry, err := w.BulkRevoke(t.Context(), apikeytest.Member("admin"), r)
		if err != nil {
			t.Fatalf("BulkRevoke: %v", err)
		}
		if audited := w.Audit.Events(); len(audited) != 0 {
			t.Errorf("a dry run was audited: %v", audited)
		}
		r.DryRun = false
		done, err := w.BulkRevoke(t.Context(), apikeytest.Member("admin"), r)
		if err != nil || !dry.DryRun || dry.Count == 0 || dry.Count != done.Count {
			t.Errorf("%+v: the dry run says %+v, then %+v are revoked, %v", scope, dry, done, err)
		}
	}
}

func TestRevokeTenant(t *testing.T) {
	t.Parallel()
	// E-71.
	tests := map[string]struct {
		tenant  string
		want    int64
		wantErr access
	}{
		"its own, those past their expiry too": {tenant: apikeytest.Tenant, want: 5},
		"another": {
			tenant: "secret-tenant", wantErr: access{Kind: apikey.KindInvalid, Message: "tenant mismatch"},
		},
		"blank": {tenant: " \t", wantErr: access{Kind: apikey.KindInvalid, Message: "tenant is required"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := crowd(t)
			got, err := w.RevokeTenant(t.Context(), test.tenant)
			if got != test.want || (err != nil || test.wantErr != access{}) && accessOf(t, err) != test.wantErr {
				t.Errorf("RevokeTenant: %d, %v; want %d, %+v", got, err, test.want, test.wantErr)
			}
			if again, _ := w.RevokeTenant(t.Context(), test.tenant); again != 0 {
				t.Errorf("the second RevokeTenant: %d", again)
			}
		})
	}
}

func TestCleanup(t *testing.T) {
	t.Parallel()
	// E-72.
	w := apikeytest.NewWorld(t)
	for name, age := range map[string]time.Duration{"two hours": 2 * time.Hour, "one hour": time.Hour, "ten minutes": 10 * time.Minute, "not yet": -time.Hour} {
		k := w.Key("alice", name, 3)
		k.Ephemeral, k.ExpiresAt = true, w.Clock.Now().Add(-age)
		regular := w.Key("alice", "regular "+name, 3)
		regular.ExpiresAt = k.ExpiresAt
		w.Store.Add(k, regular)
	}
	w.Store.Due = 4
	got, err := w.Cleanup(t.Context())
	if diff := cmp.Diff(apikey.CleanedUp{Ephemeral: 2, Purged: 4}, got); err != nil || diff != "" {
		t.Errorf("Cleanup: %v (-want +got):\n%s", err, diff)
	}
	if got, err := w.Cleanup(t.Context()); err != nil || got != (apikey.CleanedUp{}) {
		t.Errorf("the second Cleanup: %+v, %v", got, err)
	}
	if ephemeral, purged := w.Counter(t, deletions, "ephemeral"), w.Counter(t, deletions, "retention"); ephemeral != 2 || purged != 4 {
		t.Errorf("%v and %v deletions are counted, want 2 and 4", ephemeral, purged)
	}
}

func TestCleanupPurgesEvenIfItCannotDelete(t *testing.T) {
	t.Parallel()
	w := apikeytest.NewWorld(t)
	w.Store.Fail, w.Store.Due = failing("DeleteExpiredEphemeral"), 4
	got, err := w.Cleanup(t.Context())
	if _, _, message := apikeytest.CodeOf(t, err); message != "Failed to cleanup expired ephemeral keys" || got.Purged != 4 {
		t.Errorf("Cleanup: %+v, %q", got, message)
	}
}
