// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey/apikeytest"
)

const (
	revocations = "maas_api_key_revocations_total"
	deletions   = "maas_api_key_deletions_total"
)

// people makes a world with a key of alice and one administrator.
func people(t *testing.T) *apikeytest.World {
	t.Helper()
	w := apikeytest.NewWorld(t)
	w.Admins.Names = []string{"admin"}
	w.Store.Add(w.Key("alice", "key", 1))
	return w
}

// access is how a call about one key went.
type access struct {
	Kind    apikey.Kind
	Message string
	Done    bool
}

func accessOf(t *testing.T, err error) access {
	t.Helper()
	if err == nil {
		return access{Done: true}
	}
	kind, _, message := apikeytest.CodeOf(t, err)
	return access{Kind: kind, Message: message}
}

func TestGetAndRevokeAreForOwnersAndAdministrators(t *testing.T) {
	t.Parallel()
	// E-46, E-47, E-48, E-49.
	missing := access{Kind: apikey.KindNotFound, Message: "API key not found"}
	unchecked := access{Kind: apikey.KindInternal, Message: "Failed to check authorization"}
	tests := map[string]struct {
		actor    string
		id       string
		adminErr error
		want     access
	}{
		"the owner":                              {actor: "alice", want: access{Done: true}},
		"an administrator":                       {actor: "admin", want: access{Done: true}},
		"a stranger":                             {actor: "mallory", want: missing},
		"who guesses":                            {actor: "mallory", id: apikeytest.ID("other"), want: missing},
		"no key, for an administrator":           {actor: "admin", id: apikeytest.ID("other"), want: missing},
		"the owner, whatever the check":          {actor: "alice", adminErr: errDown, want: access{Done: true}},
		"a stranger who cannot be checked":       {actor: "mallory", adminErr: errDown, want: unchecked},
		"and so for a key that is not there":     {actor: "mallory", id: apikeytest.ID("other"), adminErr: errDown, want: unchecked},
		"an administrator who cannot be checked": {actor: "admin", adminErr: errDown, want: unchecked},
		"a verb in the place of an id":           {actor: "alice", id: "search", want: missing},
		"an id with a NUL":                       {actor: "admin", id: "a\x00b", want: missing},
		"an id that is no text":                  {actor: "admin", id: "\xff", want: missing},
		"an id without end":                      {actor: "admin", id: strings.Repeat("a", 1000), want: missing},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := test.id
			if id == "" {
				id = apikeytest.ID("key")
			}
			w := people(t)
			w.Admins.Err = test.adminErr
			_, err := w.Get(t.Context(), apikeytest.Member(test.actor), id)
			if diff := cmp.Diff(test.want, accessOf(t, err)); diff != "" {
				t.Errorf("Get (-want +got):\n%s", diff)
			}
			_, err = w.Revoke(t.Context(), apikeytest.Member(test.actor), id)
			if diff := cmp.Diff(test.want, accessOf(t, err)); diff != "" {
				t.Errorf("Revoke (-want +got):\n%s", diff)
			}
			if stored, _ := w.Store.Stored(apikeytest.ID("key")); (stored.Status == apikey.StatusRevoked) != test.want.Done {
				t.Errorf("afterwards the key is %s", stored.Status)
			}
		})
	}
}

func TestGetComputesTheStateWhenItReads(t *testing.T) {
	t.Parallel()
	// E-50.
	w := people(t)
	forever := w.Key("alice", "forever", 1)
	forever.ExpiresAt = time.Time{}
	w.Store.Add(forever)
	for at, want := range map[time.Duration]apikey.Status{7*day - time.Microsecond: apikey.StatusActive, 7 * day: apikey.StatusExpired} {
		w := people(t)
		w.Clock.Step(at)
		if got, err := w.Get(t.Context(), apikeytest.Member("alice"), apikeytest.ID("key")); err != nil || got.Status != want {
			t.Errorf("after %v the key is %s, %v; want %s", at, got.Status, err, want)
		}
	}
	w.Clock.Step(1000 * day)
	if got, err := w.Get(t.Context(), apikeytest.Member("alice"), forever.ID); err != nil || got.Status != apikey.StatusActive {
		t.Errorf("a key that never expires is %s, %v", got.Status, err)
	}
}

func TestOwnersNeedNoCheck(t *testing.T) {
	t.Parallel()
	w := people(t)
	if _, err := w.Get(t.Context(), apikeytest.Member("alice"), apikeytest.ID("key")); err != nil || w.Admins.Calls() != 0 {
		t.Errorf("Get: %v after %d checks", err, w.Admins.Calls())
	}
}

func TestRevokeReturnsTheKeyAsItIsThen(t *testing.T) {
	t.Parallel()
	w := people(t)
	want := w.Key("alice", "key", 1)
	want.Status = apikey.StatusRevoked
	got, err := w.Revoke(t.Context(), apikeytest.Member("alice"), want.ID)
	if err != nil {
		t.Fatalf("Revoke: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Revoke (-want +got):\n%s", diff)
	}
}

func TestRevokeTakesAKeyOnce(t *testing.T) {
	t.Parallel()
	// E-49.
	w := people(t)
	if _, err := w.Revoke(t.Context(), apikeytest.Member("alice"), apikeytest.ID("key")); err != nil {
		t.Fatalf("Revoke: %v", err)
	}
	_, err := w.Revoke(t.Context(), apikeytest.Member("alice"), apikeytest.ID("key"))
	if kind, _, message := apikeytest.CodeOf(t, err); kind != apikey.KindNotFound || message != "API key not found" {
		t.Errorf("the second Revoke: %v", err)
	}
	if got := w.Counter(t, revocations, "revoke"); got != 1 {
		t.Errorf("%v revocations are counted, want 1", got)
	}
}

func TestRevokeTakesAKeyPastItsExpiry(t *testing.T) {
	t.Parallel()
	w := people(t)
	w.Clock.Step(8 * day)
	got, err := w.Revoke(t.Context(), apikeytest.Member("alice"), apikeytest.ID("key"))
	if err != nil || got.Status != apikey.StatusRevoked {
		t.Errorf("Revoke: %s, %v", got.Status, err)
	}
}

func TestCachesAreToldOfRevocations(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fail string
		call func(w *apikeytest.World) error
		want int64
	}{
		"of a key": {want: 1, call: func(w *apikeytest.World) error {
			_, err := w.Revoke(t.Context(), apikeytest.Member("alice"), apikeytest.ID("key"))
			return err
		}},
		"that may have failed": {fail: "Revoke", want: 1, call: func(w *apikeytest.World) error {
			_, err := w.Revoke(t.Context(), apikeytest.Member("alice"), apikeytest.ID("key"))
			return err
		}},
		"of many": {want: 1, call: func(w *apikeytest.World) error {
			_, err := w.BulkRevoke(t.Context(), apikeytest.Member("alice"), apikey.BulkRevokeRequest{Username: "alice"})
			return err
		}},
		"of a tenant": {want: 1, call: func(w *apikeytest.World) error {
			_, err := w.RevokeTenant(t.Context(), apikeytest.Tenant)
			return err
		}},
		"not of dry runs": {call: func(w *apikeytest.World) error {
			_, err := w.BulkRevoke(t.Context(), apikeytest.Member("alice"), apikey.BulkRevokeRequest{Username: "alice", DryRun: true})
			return err
		}},
		"nor of what was denied": {call: func(w *apikeytest.World) error {
			_, err := w.Revoke(t.Context(), apikeytest.Member("mallory"), apikeytest.ID("key"))
			return err
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := people(t)
			w.Store.Fail = failing(test.fail)
			_ = test.call(w)
			if got := w.Revoked.Load(); got != test.want {
				t.Errorf("caches were told %d times, want %d", got, test.want)
			}
		})
	}
}

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

func TestFailuresAreToldInTheWordsOfTheContract(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fail, want string
		call       func(w *apikeytest.World) error
	}{
		"get": {"Get", "Failed to retrieve API key", func(w *apikeytest.World) error {
			_, err := w.Get(t.Context(), apikeytest.Member("alice"), apikeytest.ID("key"))
			return err
		}},
		"revoke, looking": {"Get", "Failed to retrieve API key", func(w *apikeytest.World) error {
			_, err := w.Revoke(t.Context(), apikeytest.Member("alice"), apikeytest.ID("key"))
			return err
		}},
		"revoke": {"Revoke", "Failed to revoke API key", func(w *apikeytest.World) error {
			_, err := w.Revoke(t.Context(), apikeytest.Member("alice"), apikeytest.ID("key"))
			return err
		}},
		"search": {"Search", "Failed to search API keys", func(w *apikeytest.World) error {
			_, err := w.Search(t.Context(), apikeytest.Member("alice"), apikey.SearchRequest{})
			return err
		}},
		"bulk revoke": {"RevokeActive", "Failed to revoke API keys", func(w *apikeytest.World) error {
			_, err := w.BulkRevoke(t.Context(), apikeytest.Member("alice"), apikey.BulkRevokeRequest{Username: "alice"})
			return err
		}},
		"dry run": {"CountActive", "Failed to perform dry-run", func(w *apikeytest.World) error {
			_, err := w.BulkRevoke(t.Context(), apikeytest.Member("alice"), apikey.BulkRevokeRequest{Username: "alice", DryRun: true})
			return err
		}},
		"tenant": {"RevokeTenant", "Failed to revoke tenant API keys", func(w *apikeytest.World) error {
			_, err := w.RevokeTenant(t.Context(), apikeytest.Tenant)
			return err
		}},
		"cleanup": {"DeleteExpiredEphemeral", "Failed to cleanup expired ephemeral keys", func(w *apikeytest.World) error {
			_, err := w.Cleanup(t.Context())
			return err
		}},
		"purge": {"PurgeDue", "Failed to purge keys of deleted tenants", func(w *apikeytest.World) error {
			_, err := w.Cleanup(t.Context())
			return err
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := people(t)
			w.Store.Fail = failing(test.fail)
			err := test.call(w)
			if kind, _, message := apikeytest.CodeOf(t, err); kind != apikey.KindInternal || message != test.want || !errors.Is(err, errDown) {
				t.Errorf("the call: %v, %q, want %q", kind, message, test.want)
			}
		})
	}
}

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
