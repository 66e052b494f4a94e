// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/keyindex"
)

func recordOf(k apikey.NewKey) apikey.Record {
	return apikey.Record{
		ID: k.ID, Username: k.Username, Name: k.Name, Subscription: k.Subscription, Groups: k.Groups, Status: k.Status, ExpiresAt: k.ExpiresAt,
	}
}

// summary is what changes say, in an order of its own.
func summary(all []keyindex.Change) string {
	known := map[apikey.Digest]string{}
	for _, id := range []string{"a", "b", "c", "d"} {
		known[digest(id)] = id
	}
	texts := make([]string, len(all))
	for i, c := range all {
		texts[i] = known[c.Digest] + " " + cmp.Or(string(c.Record.Status), "gone")
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

// wantChanges reads on from a position.
func wantChanges(t *testing.T, s *Store, since keyindex.Position, want string) keyindex.Position {
	t.Helper()
	got, next := changes(t, s, since)
	if next.Database != since.Database {
		t.Fatalf("the history changed from %s to %s", since.Database, next.Database)
	}
	if summary(got) != want {
		t.Errorf("changed: %q, want %q", summary(got), want)
	}
	return next
}

func TestKeysInForceAreLoaded(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t, r.database(t))
			s := open(t, url)
			live := makeKey("live")
			never := makeKey("never", func(k *apikey.NewKey) { k.ExpiresAt, k.Groups = time.Time{}, []string{} })
			insert(
				t, s, live, never, makeKey("past", func(k *apikey.NewKey) { k.ExpiresAt = now().Add(-time.Second) }),
				makeKey("revoked", func(k *apikey.NewKey) { k.Status = apikey.StatusRevoked }),
			)
			got, position := load(t, s)
			if diff := gocmp.Diff(map[string]apikey.Record{"live": recordOf(live), "never": recordOf(never)}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if position.Xid == 0 || position.Database == "" || position.Now.Sub(now()).Abs() > time.Minute {
				t.Errorf("position %+v", position)
			}
			record, err := s.Lookup(t.Context(), live.Digest)
			if diff := gocmp.Diff(recordOf(live), record); err != nil || diff != "" {
				t.Errorf("look-up: %v (-want +got):\n%s", err, diff)
			}
			_, err = s.Lookup(t.Context(), digest("missing"))
			wantError(t, err, apikey.ErrNotFound)
		})
	}
}

func TestOfTooManyKeysThoseUsedLatelyAreLoaded(t *testing.T) {
	t.Parallel()
	s := open(t, migrated(t, routes[0].database(t)))
	for i := range 10 {
		insert(t, s, makeKey(fmt.Sprint(i), func(k *apikey.NewKey) {
			k.CreatedAt = now().Add(-time.Duration(i+1) * time.Hour)
			if i == 9 {
				k.LastUsedAt = now()
			}
		}))
	}
	var got []string
	_, err := s.Load(t.Context(), 3, func(_ apikey.Digest, r apikey.Record) error {
		got = append(got, r.ID)
		return nil
	})
	if want := []string{"9", "0", "1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("loaded %v, %v, want %v", got, err, want)
	}
}

func TestWhatAReaderReturnsEndsTheReading(t *testing.T) {
	t.Parallel()
	s := open(t, migrated(t, routes[0].database(t)))
	_, start := load(t, s)
	insert(t, s, makeKey("a"), makeKey("b"))
	enough := errors.New("enough")
	calls := 0
	_, err := s.Load(t.Context(), 10, func(apikey.Digest, apikey.Record) error { calls++; return enough })
	wantError(t, err, enough)
	_, err = s.Changes(t.Context(), start, func(keyindex.Change) error { calls++; return enough })
	wantError(t, err, enough)
	if calls != 2 {
		t.Errorf("called %d times", calls)
	}
}

func TestEveryKindOfChangeIsTold(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t, r.database(t))
			s, conn := open(t, url), sqlConn(t, url)
			_, position := load(t, s)
			for _, step := range []struct {
				name   string
				change func()
				want   string
			}{
				{"nothing", func() {}, ""},
				{"two are added", func() { insert(t, s, makeKey("a"), makeKey("b")) }, "a active, b active"},
				{"a use is noted", func() { writeUse(t, s, entries("a")...) }, ""},
				{"one is revoked", func() { _, _ = s.Revoke(t.Context(), "a") }, "a revoked"},
				{"one is updated by hand", func() { execute(t, conn, "UPDATE api_keys SET expires_at = NULL WHERE id = 'b'") }, "b active"},
				{"one is deleted", func() { execute(t, conn, "DELETE FROM api_keys WHERE id = 'a'") }, "a gone"},
				{"one is added and deleted", func() {
					insert(t, s, makeKey("c"))
					execute(t, conn, "DELETE FROM api_keys WHERE id = 'c'")
				}, "c gone"},
				{"one gets another digest", func() {
					execute(t, conn, "UPDATE api_keys SET key_hash = $1 WHERE id = 'b'", digest("d").String())
				}, "b gone, d active"},
				{"one leaves the tenant", func() { execute(t, conn, "UPDATE api_keys SET tenant = 'other' WHERE id = 'b'") }, "d gone"},
				{"a change is undone", func() {
					execute(t, conn, "BEGIN; UPDATE api_keys SET tenant = 'models-as-a-service'; ROLLBACK")
				}, ""},
			} {
				step.change()
				t.Log(step.name)
				position = wantChanges(t, s, position, step.want)
			}
		})
	}
}

func TestAKeyDeletedAndAddedAgainIsThere(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	s := open(t, url)
	insert(t, s, makeKey("a"))
	_, position := load(t, s)
	execute(t, sqlConn(t, url), "DELETE FROM api_keys")
	insert(t, s, makeKey("a"))
	got, _ := changes(t, s, position)
	if len(got) == 0 || got[len(got)-1].Deleted {
		t.Errorf("the last word on the key is %+v", got)
	}
}

func TestNoOrderOfCommitsHidesAChange(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t, r.database(t))
			s, slow := open(t, url), sqlConn(t, url)
			insert(t, s, makeKey("a"), makeKey("b"), makeKey("c"))
			_, position := load(t, s)
			execute(t, slow, "BEGIN")
			execute(t, slow, "UPDATE api_keys SET status = 'revoked' WHERE id = 'a'")
			execute(t, slow, "DELETE FROM api_keys WHERE id = 'c'")
			if _, err := s.Revoke(t.Context(), "b"); err != nil { // It began later, and ends earlier.
				t.Fatal(err)
			}
			position = wantChanges(t, s, position, "b revoked")
			// A long transaction does not have the same told again and again.
			position = wantChanges(t, s, position, "")
			execute(t, slow, "COMMIT")
			position = wantChanges(t, s, position, "a revoked, c gone")
			wantChanges(t, s, position, "")
		})
	}
}

func TestAPositionWithoutASnapshotMayTellAgainButHidesNothing(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	s, slow := open(t, url), sqlConn(t, url)
	insert(t, s, makeKey("a"), makeKey("b"))
	_, position := load(t, s)
	execute(t, slow, "BEGIN; UPDATE api_keys SET status = 'revoked' WHERE id = 'a'")
	if _, err := s.Revoke(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	tell := func(want string) {
		t.Helper()
		position.Snapshot = ""
		told, next := changes(t, s, position)
		if got := summary(told); !strings.HasSuffix(got, want) {
			t.Errorf("changed: %q, want %q", got, want)
		}
		position = next
	}
	tell("b revoked")
	tell("b revoked")
	execute(t, slow, "COMMIT")
	tell("a revoked, b revoked")
}

func TestALoadContainsExactlyWhatItsPositionSays(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	s, slow := open(t, url), sqlConn(t, url)
	insert(t, s, makeKey("a"))
	execute(t, slow, "BEGIN; UPDATE api_keys SET status = 'revoked' WHERE id = 'a'")
	loaded, position := load(t, s)
	if len(loaded) != 1 {
		t.Fatalf("loaded %d keys", len(loaded))
	}
	execute(t, slow, "COMMIT")
	wantChanges(t, s, position, "a revoked")
}

func TestABulkRevocationIsOneNotificationAndOneRead(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	s, conn := open(t, url), sqlConn(t, url)
	execute(t, conn, `INSERT INTO api_keys (id, username, name, key_hash, user_groups, subscription)
SELECT n, 'u', 'n', encode(sha256(n::text::bytea), 'hex'), '{}', 's' FROM generate_series(1, 10000) AS n`)
	_, position := load(t, s)
	execute(t, conn, "LISTEN maas_keys")
	start := now()
	n, err := s.RevokeActive(t.Context(), apikey.Scope{Subscription: "s"})
	if err != nil || n != 10_000 {
		t.Fatalf("revoked %d, %v", n, err)
	}
	revoked := now()
	changed, position := changes(t, s, position)
	t.Logf("revoking 10,000 keys took %s, reading them %s", revoked.Sub(start).Round(time.Millisecond), now().Sub(revoked).Round(time.Millisecond))
	if len(changed) != 10_000 {
		t.Errorf("%d changes", len(changed))
	}
	execute(t, conn, "SELECT pg_notify('maas_keys', 'end')")
	count := 0
	for {
		notification, err := conn.WaitForNotification(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if notification.Payload == "end" {
			break
		}
		count++
	}
	if count != 1 {
		t.Errorf("%d notifications", count)
	}
	wantChanges(t, s, position, "")
}

func TestAHashThatIsNoneIsPassedOver(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	s := open(t, url)
	_, position := load(t, s)
	insert(t, s, makeKey("a"))
	execute(t, sqlConn(t, url), `INSERT INTO api_keys (id, username, name, key_hash, user_groups, subscription) VALUES ('x', 'u', 'n', 'none', '{}', 's')`)
	wantChanges(t, s, position, "a active")
	if loaded, _ := load(t, s); len(loaded) != 1 {
		t.Errorf("loaded %d keys", len(loaded))
	}
}

func TestForgottenDeletionsAreThoseOfADayAgo(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	s, conn := open(t, url), sqlConn(t, url)
	execute(t, conn, `INSERT INTO api_key_tombstones (key_hash, tenant, deleted_xid, deleted_at) VALUES
('old', 't', 1, now() - interval '25 hours'), ('new', 't', 1, now() - interval '23 hours')`)
	if _, err := s.PurgeDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ask[string](t, conn, "SELECT string_agg(key_hash, ' ') FROM api_key_tombstones"); got != "new" {
		t.Errorf("left: %s", got)
	}
}
