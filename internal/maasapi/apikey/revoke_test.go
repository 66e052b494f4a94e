// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
