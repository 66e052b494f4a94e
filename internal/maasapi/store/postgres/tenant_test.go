// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

func register(t *testing.T, s *Store) *Store {
	t.Helper()
	if err := s.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func retention(d time.Duration) func(*Options) { return func(o *Options) { o.Retention = d } }

func TestTheFirstRegistrationKeepsWhatThereIs(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	insert(t, open(t, url), makeKey("old"))
	s := register(t, open(t, url, ofTenant(tenant, "uid-1")))
	register(t, s)
	if got := status(t, sqlConn(t, url), "old"); got != "active" {
		t.Errorf("the key is %s", got)
	}
	insert(t, s, makeKey("new"))
}

func TestWithoutAUIDNothingIsRegistered(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	register(t, open(t, url))
	if n := ask[int](t, sqlConn(t, url), "SELECT count(*) FROM tenants"); n != 0 {
		t.Errorf("%d tenants are registered", n)
	}
}

func TestAnEndedTenantGetsNoKeysAnyMore(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	running := register(t, open(t, url, ofTenant(tenant, "uid-1")))
	insert(t, running, makeKey("live"))
	job := open(t, url, ofTenant(tenant, "uid-1"))
	for _, want := range []int64{1, 0} { // The second time there is nothing left to do.
		if ended, err := job.RevokeTenant(t.Context()); err != nil || ended != want {
			t.Errorf("RevokeTenant: %d, %v; want %d", ended, err, want)
		}
	}
	if err := running.Insert(t.Context(), makeKey("late")); !errors.Is(err, apikey.ErrTenantReplaced) {
		t.Errorf("Insert: %v, want ErrTenantReplaced", err)
	}
	if err := open(t, url, ofTenant(tenant, "uid-1")).Register(t.Context()); !errors.Is(err, apikey.ErrTenantReplaced) {
		t.Errorf("Register: %v, want ErrTenantReplaced", err)
	}
	insert(t, register(t, open(t, url, ofTenant(tenant, "uid-2"))), makeKey("of the next"))
}

func TestATenantThatNeverStartedTakesThePresentOneAlong(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	insert(t, register(t, open(t, url, ofTenant(tenant, "uid-1"))), makeKey("old"))
	if ended, err := open(t, url, ofTenant(tenant, "uid-2")).RevokeTenant(t.Context()); err != nil || ended != 1 {
		t.Errorf("RevokeTenant: %d, %v; want the key of the one before to end", ended, err)
	}
	for _, uid := range []string{"uid-1", "uid-2"} {
		wantError(t, open(t, url, ofTenant(tenant, uid)).Register(t.Context()), apikey.ErrTenantReplaced)
	}
}

func TestATenantThatNeverStartedCanBeEnded(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	if _, err := open(t, url, ofTenant(tenant, "uid-1")).RevokeTenant(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := open(t, url, ofTenant(tenant, "uid-1")).Register(t.Context()); !errors.Is(err, apikey.ErrTenantReplaced) {
		t.Errorf("Register: %v, want ErrTenantReplaced", err)
	}
}

func TestANewUIDEndsTheKeysOfItsPredecessor(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t, r.database(t))
			former := register(t, open(t, url, ofTenant(tenant, "uid-1")))
			insert(
				t, former, makeKey("live"), makeKey("past", func(k *apikey.NewKey) { k.ExpiresAt = now().Add(-time.Second) }),
				makeKey("user", func(k *apikey.NewKey) { k.Status = apikey.StatusRevoked }),
			)
			insert(t, register(t, open(t, url, ofTenant("other", "uid-9"))), makeKey("foreign"))
			_, position := load(t, former)

			next := register(t, open(t, url, ofTenant(tenant, "uid-2"), retention(48*time.Hour)))
			conn := sqlConn(t, url)
			got := ask[string](t, conn, `SELECT string_agg(concat_ws(' ', id, status, COALESCE(invalidation_reason, '-'),
			invalidated_at IS NOT NULL, round(extract(epoch FROM purge_after - now()) / 3600)), ', ' ORDER BY id) FROM api_keys`)
			want := "foreign active - f, live revoked tenant replaced t 48, past revoked tenant replaced t 48, user revoked - f"
			if got != want {
				t.Errorf("the keys are\n%s, want\n%s", got, want)
			}
			if changed, _ := changes(t, former, position); len(changed) != 2 {
				t.Errorf("readers are told of %d keys, want 2", len(changed))
			}
			insert(t, next, makeKey("new"))
			register(t, next)
			if got := status(t, conn, "new"); got != "active" {
				t.Errorf("its own key is %s after it was registered again", got)
			}
		})
	}
}

func TestAProcessOfAReplacedTenantCanDoNoMore(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	former := register(t, open(t, url, ofTenant(tenant, "uid-1")))
	next := register(t, open(t, url, ofTenant(tenant, "uid-2")))
	insert(t, next, makeKey("new"))
	wantError(t, former.Insert(t.Context(), makeKey("late")), apikey.ErrTenantReplaced)
	wantError(t, former.Register(t.Context()), apikey.ErrTenantReplaced)
	for s, want := range map[*Store]bool{former: true, next: false, open(t, url): false} {
		if got, err := s.Replaced(t.Context()); err != nil || got != want {
			t.Errorf("Replaced: %t, %v; want %t", got, err, want)
		}
	}
	if ended, err := former.RevokeTenant(t.Context()); err != nil || ended != 0 {
		t.Errorf("RevokeTenant: %d, %v; want nothing to be left to do", ended, err)
	}
	if got := status(t, sqlConn(t, url), "new"); got != "active" {
		t.Errorf("the successor's key is %s", got)
	}
}

func TestNoKeySlipsThroughAReplacement(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	const rounds, writers = 5, 4
	stores := make([]*Store, rounds)
	for i := range stores {
		stores[i] = open(t, url, ofTenant(tenant, "uid-"+strconv.Itoa(i)))
	}
	register(t, stores[0])
	for round := 1; round < rounds; round++ {
		var group sync.WaitGroup
		for writer := range writers {
			group.Go(func() {
				for n := range 20 {
					err := stores[round-1].Insert(t.Context(), makeKey(strconv.Itoa(round)+"/"+strconv.Itoa(writer)+"/"+strconv.Itoa(n)))
					if err != nil && !errors.Is(err, apikey.ErrTenantReplaced) {
						t.Error(err)
					}
				}
			})
		}
		group.Go(func() {
			if err := stores[round].Register(t.Context()); err != nil {
				t.Error(err)
			}
		})
		group.Wait()
		if n := ask[int](t, sqlConn(t, url), "SELECT count(*) FROM api_keys WHERE status = 'active'"); n != 0 {
			t.Fatalf("%d keys of the former tenant are active", n)
		}
	}
}

func TestReplicasThatRegisterTogetherAgree(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	register(t, open(t, url, ofTenant(tenant, "uid-1")))
	var group sync.WaitGroup
	for range 4 {
		s := open(t, url, ofTenant(tenant, "uid-2"))
		group.Go(func() {
			if err := s.Register(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := ask[string](t, sqlConn(t, url), "SELECT uid FROM tenants"); got != "uid-2" {
		t.Errorf("registered: %s", got)
	}
}

func TestTenantRevocationEndsEveryActiveKeyOnce(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t, r.database(t))
			s := open(t, url, retention(time.Hour))
			insert(t, s, makeKey("live"), makeKey("past", func(k *apikey.NewKey) { k.ExpiresAt = now().Add(-time.Hour) }),
				makeKey("revoked", func(k *apikey.NewKey) { k.Status = apikey.StatusRevoked }))
			for _, want := range []int64{2, 0} {
				if got, err := s.RevokeTenant(t.Context()); err != nil || got != want {
					t.Errorf("revoked %d, %v, want %d", got, err, want)
				}
			}
			got := ask[string](t, sqlConn(t, url), `SELECT string_agg(id || ' ' || invalidation_reason, ', ' ORDER BY id) FROM api_keys
			WHERE purge_after BETWEEN now() + interval '59 minutes' AND now() + interval '61 minutes' AND invalidated_at <= now()`)
			if want := "live tenant deleted, past tenant deleted"; got != want {
				t.Errorf("to be purged: %s, want %s", got, want)
			}
		})
	}
}

func TestWhatIsDueIsPurgedForEveryTenant(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t, r.database(t))
			gone, later, ours := open(t, url, ofTenant("gone", ""), retention(time.Millisecond)), open(t, url, ofTenant("later", "")), open(t, url)
			insert(t, gone, makeKey("due"), makeKey("user's", func(k *apikey.NewKey) { k.Status = apikey.StatusRevoked }))
			insert(t, later, makeKey("not due"))
			insert(t, ours, makeKey("live"))
			for _, s := range []*Store{gone, later} {
				if _, err := s.RevokeTenant(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			execute(t, sqlConn(t, url), "SELECT pg_sleep(0.05)")
			for _, want := range []int64{1, 0} {
				if got, err := ours.PurgeDue(t.Context()); err != nil || got != want {
					t.Errorf("purged %d, %v, want %d", got, err, want)
				}
			}
			left := ask[string](t, sqlConn(t, url), "SELECT string_agg(id, ', ' ORDER BY id) FROM api_keys")
			if want := "live, not due, user's"; left != want {
				t.Errorf("left: %s, want %s", left, want)
			}
		})
	}
}
