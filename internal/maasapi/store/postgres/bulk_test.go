// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"testing"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

func TestBulkRevocationEndsWhatIsCounted(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t, r.database(t))
			for name, tc := range map[string]struct {
				scope apikey.Scope
				want  int64
			}{
				"a user, the never expiring and the ephemeral included": {apikey.Scope{Username: "alice"}, 4},
				"a subscription":           {apikey.Scope{Subscription: "gold"}, 4},
				"a user in a subscription": {apikey.Scope{Username: "alice", Subscription: "gold"}, 3},
				"nobody":                   {apikey.Scope{Username: "' OR true --"}, 0},
				"a pattern":                {apikey.Scope{Username: "%"}, 0},
			} {
				s := open(t, url, ofTenant(name, ""))
				id := func(id string) string { return name + " " + id }
				insert(
					t, s, makeKey(id("plain")),
					makeKey(id("never"), func(k *apikey.NewKey) { k.ExpiresAt = time.Time{} }),
					makeKey(id("ephemeral"), func(k *apikey.NewKey) { k.Ephemeral = true }),
					makeKey(id("silver"), func(k *apikey.NewKey) { k.Subscription = "silver" }),
					makeKey(id("bob"), func(k *apikey.NewKey) { k.Username = "bob" }),
					makeKey(id("past"), func(k *apikey.NewKey) { k.ExpiresAt = now().Add(-time.Second) }),
					makeKey(id("revoked"), func(k *apikey.NewKey) { k.Status = apikey.StatusRevoked }),
				)
				for _, step := range []struct {
					name string
					call func() (int64, error)
					want int64
				}{
					{"count", func() (int64, error) { return s.CountActive(t.Context(), tc.scope) }, tc.want},
					{"revoke", func() (int64, error) { return s.RevokeActive(t.Context(), tc.scope) }, tc.want},
					{"count again", func() (int64, error) { return s.CountActive(t.Context(), tc.scope) }, 0},
				} {
					if got, err := step.call(); err != nil || got != step.want {
						t.Errorf("%s: %s: %d, %v, want %d", name, step.name, got, err, step.want)
					}
				}
				if got := status(t, sqlConn(t, url), id("past")); got != "active" {
					t.Errorf("%s: a key past its expiry became %s", name, got)
				}
			}
		})
	}
}

func TestABulkOperationWithoutBoundsIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, migrated(t, routes[0].database(t)))
	_, err := s.CountActive(t.Context(), apikey.Scope{})
	wantError(t, err, apikey.ErrEmptyScope)
	_, err = s.RevokeActive(t.Context(), apikey.Scope{})
	wantError(t, err, apikey.ErrEmptyScope)
}

func TestCleaningUpDeletesEphemeralKeysHalfAnHourAfterTheirExpiry(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t, r.database(t))
			s := open(t, url)
			expired := func(ago time.Duration, ephemeral bool) func(*apikey.NewKey) {
				return func(k *apikey.NewKey) { k.ExpiresAt, k.Ephemeral = now().Add(-ago), ephemeral }
			}
			insert(
				t, s, makeKey("1h", expired(time.Hour, true)), makeKey("2h", expired(2*time.Hour, true)),
				makeKey("10m", expired(10*time.Minute, true)), makeKey("live", expired(-time.Minute, true)),
				makeKey("regular", expired(2*time.Hour, false)),
			)
			for _, want := range []int64{2, 0} {
				if got, err := s.DeleteExpiredEphemeral(t.Context()); err != nil || got != want {
					t.Errorf("deleted %d, %v, want %d", got, err, want)
				}
			}
			left := ask[string](t, sqlConn(t, url), "SELECT string_agg(id, ' ' ORDER BY id) FROM api_keys")
			if want := "10m live regular"; left != want {
				t.Errorf("left: %s, want %s", left, want)
			}
		})
	}
}

func TestDeletionGoesOnUntilAllBatchesAreGone(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	execute(t, sqlConn(t, url), `INSERT INTO api_keys (id, username, name, key_hash, user_groups, subscription, ephemeral, expires_at)
SELECT n, 'u', 'n', n, '{}', 's', true, now() - interval '1 day' FROM generate_series(1, 2500) AS n`)
	const processes = 3
	total := make(chan int64, processes)
	for range processes {
		s := open(t, url)
		go func() {
			n, err := s.DeleteExpiredEphemeral(t.Context())
			if err != nil {
				t.Error(err)
			}
			total <- n
		}()
	}
	var sum int64
	for range processes {
		sum += <-total
	}
	if sum != 2500 {
		t.Errorf("deleted %d keys, want 2500", sum)
	}
}
