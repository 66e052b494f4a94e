// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

func TestAKeyIsReadAsItWasInserted(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t, r.database(t))
			s := open(t, url)
			for name, adjust := range map[string]func(*apikey.NewKey){
				"usual":  func(*apikey.NewKey) {},
				"labels": func(k *apikey.NewKey) { k.Labels = map[string]string{"example.com/team": "ä", "b": "c"} },
				"never expires, no groups, no description": func(k *apikey.NewKey) {
					k.ExpiresAt, k.Groups, k.Description = time.Time{}, []string{}, ""
				},
				"ephemeral and used": func(k *apikey.NewKey) { k.Ephemeral, k.LastUsedAt = true, now() },
				"hostile texts": func(k *apikey.NewKey) {
					k.Name, k.Username, k.Subscription = `'; DROP TABLE api_keys; --`, "%_\\\"'$1", "{},\"\\N"
					k.Groups = []string{`a,b`, `"quoted"`, "NULL", "", "\\"}
				},
			} {
				want := makeKey(name, adjust)
				insert(t, s, want)
				got, err := s.Get(t.Context(), name)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if diff := cmp.Diff(want.Key, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			if n := ask[int](t, sqlConn(t, url), "SELECT count(*) FROM api_keys WHERE labels IS NULL"); n != 4 {
				t.Errorf("%d keys without labels are stored so, want 4", n)
			}
		})
	}
}

func TestTextsThatCannotBeStoredAreRefusedWithoutRepeatingThem(t *testing.T) {
	t.Parallel()
	s := open(t, migrated(t, routes[0].database(t)))
	for name, text := range map[string]string{"NUL": "visible\x00text", "invalid UTF-8": "visible\xff"} {
		err := s.Insert(t.Context(), makeKey(name, func(k *apikey.NewKey) { k.Name = text }))
		if err == nil {
			t.Errorf("%s was stored", name)
		}
		wantClean(t, err, "visible")
	}
}

func TestTheSameDigestIsRefusedTwiceInATenantOnly(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	s := open(t, url)
	insert(t, s, makeKey("first"))
	again := makeKey("second", func(k *apikey.NewKey) { k.Digest = digest("first") })
	err := s.Insert(t.Context(), again)
	if codeOf(err) != "23505" {
		t.Errorf("got error %v", err)
	}
	wantClean(t, err, digest("first").String())
	insert(t, open(t, url, ofTenant("other", "")), again)
}

func TestTheStatusOfAKeyIsTheEffectiveOne(t *testing.T) {
	t.Parallel()
	s := open(t, migrated(t, routes[0].database(t)))
	for want, adjust := range map[apikey.Status]func(*apikey.NewKey){
		apikey.StatusActive:  func(*apikey.NewKey) {},
		apikey.StatusExpired: func(k *apikey.NewKey) { k.ExpiresAt = now().Add(-time.Second) },
		apikey.StatusRevoked: func(k *apikey.NewKey) {
			k.ExpiresAt, k.Status = now().Add(-time.Second), apikey.StatusRevoked
		},
	} {
		insert(t, s, makeKey(string(want), adjust))
		got, err := s.Get(t.Context(), string(want))
		if err != nil || got.Status != want {
			t.Errorf("got %s, %v, want %s", got.Status, err, want)
		}
	}
}

func TestAKeyIsRevokedOnce(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t, r.database(t))
			s := open(t, url)
			insert(t, s, makeKey("live"), makeKey("past", func(k *apikey.NewKey) { k.ExpiresAt = now().Add(-time.Hour) }),
				makeKey("over", func(k *apikey.NewKey) { k.Status = apikey.StatusExpired }))
			for _, id := range []string{"live", "past"} {
				got, err := s.Revoke(t.Context(), id)
				if err != nil || got.ID != id || got.Status != apikey.StatusRevoked {
					t.Errorf("revoke %s: %+v, %v", id, got, err)
				}
			}
			for _, id := range []string{"live", "over", "missing"} {
				_, err := s.Revoke(t.Context(), id)
				wantError(t, err, apikey.ErrNotFound)
			}
		})
	}
}

// isolation calls every method of one tenant that another tenant's key could be
// reached with.
func TestNoMethodReachesAnotherTenantsKeys(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t, r.database(t))
			ours, theirs := open(t, url, ofTenant("ours", "")), open(t, url, ofTenant("theirs", ""))
			past := func(k *apikey.NewKey) { k.ExpiresAt, k.Ephemeral = now().Add(-time.Hour), true }
			insert(t, theirs, makeKey("live"), makeKey("past", past))
			_, start := load(t, ours)

			if _, err := ours.Get(t.Context(), "live"); err != apikey.ErrNotFound { //nolint:errorlint // It is returned as it is.
				t.Errorf("get: %v", err)
			}
			_, err := ours.Revoke(t.Context(), "live")
			wantError(t, err, apikey.ErrNotFound)
			_, err = ours.Lookup(t.Context(), digest("live"))
			wantError(t, err, apikey.ErrNotFound)
			if keys, err := ours.Search(t.Context(), apikey.Query{Limit: 10, IncludeEphemeral: true}); err != nil || len(keys) > 0 {
				t.Errorf("search: %d, %v", len(keys), err)
			}
			for name, count := range map[string]func() (int64, error){
				"count":         func() (int64, error) { return ours.CountActive(t.Context(), apikey.Scope{Username: "alice"}) },
				"revoke active": func() (int64, error) { return ours.RevokeActive(t.Context(), apikey.Scope{Subscription: "gold"}) },
				"revoke tenant": func() (int64, error) { return ours.RevokeTenant(t.Context()) },
				"clean up":      func() (int64, error) { return ours.DeleteExpiredEphemeral(t.Context()) },
			} {
				if n, err := count(); n != 0 || err != nil {
					t.Errorf("%s: %d, %v", name, n, err)
				}
			}
			if err := ours.WriteUsage(t.Context(), entries("live")); err != nil {
				t.Error(err)
			}
			if loaded, _ := load(t, ours); len(loaded) > 0 {
				t.Errorf("load: %d", len(loaded))
			}
			if changed, _ := changes(t, ours, start); len(changed) > 0 {
				t.Errorf("changes: %d", len(changed))
			}
			got, err := theirs.Get(t.Context(), "live")
			if err != nil || got.Status != apikey.StatusActive || !got.LastUsedAt.IsZero() {
				t.Errorf("their key is %+v, %v", got, err)
			}
		})
	}
}
