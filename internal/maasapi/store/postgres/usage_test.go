// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/usage"
)

func entries(ids ...string) []usage.Entry {
	all := make([]usage.Entry, len(ids))
	for i, id := range ids {
		all[i] = usage.Entry{ID: id, At: now()}
	}
	return all
}

func writeUse(t *testing.T, s *Store, all ...usage.Entry) {
	t.Helper()
	if err := s.WriteUsage(t.Context(), all); err != nil {
		t.Fatal(err)
	}
}

func TestTheLatestUseOfAKeyStays(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t, r.database(t))
			s := open(t, url)
			insert(t, s, makeKey("a"), makeKey("b"))
			base := now()
			for _, offset := range []time.Duration{0, time.Minute, -time.Minute} {
				writeUse(t, s, usage.Entry{ID: "a", At: base.Add(offset)}, usage.Entry{ID: "missing", At: base})
			}
			for id, want := range map[string]time.Time{"a": base.Add(time.Minute), "b": {}} {
				if got, err := s.Get(t.Context(), id); err != nil || !got.LastUsedAt.Equal(want) {
					t.Errorf("%s was used at %s, %v, want %s", id, got.LastUsedAt, err, want)
				}
			}
			writeUse(t, s)
		})
	}
}

func TestNotingAUseIsNoChangeAndStaysInPlace(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	s, conn := open(t, url), sqlConn(t, url)
	var ids []string
	for i := range 100 {
		k := makeKey(fmt.Sprint(i))
		insert(t, s, k)
		if i%10 == 0 { // There is room for some new versions in each page.
			ids = append(ids, k.ID)
		}
	}
	_, position := load(t, s)
	before := ask[string](t, conn, "SELECT string_agg(changed_xid::text, ' ' ORDER BY id) FROM api_keys")
	execute(t, conn, "LISTEN maas_keys")
	writeUse(t, s, entries(ids...)...)
	execute(t, conn, "SELECT pg_notify('maas_keys', 'end')")
	if n, err := conn.WaitForNotification(t.Context()); err != nil || n.Payload != "end" {
		t.Errorf("notified of %+v, %v", n, err)
	}
	if after := ask[string](t, conn, "SELECT string_agg(changed_xid::text, ' ' ORDER BY id) FROM api_keys"); after != before {
		t.Error("the keys were stamped as changed")
	}
	if changed, _ := changes(t, s, position); len(changed) != 0 {
		t.Errorf("%d keys are said to have changed", len(changed))
	}
	// Statistics arrive when the writing connection is idle or closed.
	s.pool.Reset()
	for ask[int](t, conn, "SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'api_keys'") < len(ids) {
		execute(t, conn, "SELECT pg_sleep(0.01)")
	}
	if hot := ask[int](t, conn, "SELECT n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'api_keys'"); hot != len(ids) {
		t.Errorf("%d of %d updates did without the indexes", hot, len(ids))
	}
}

func TestReplicasThatNoteTheSameUsesDoNotBlockEachOther(t *testing.T) {
	t.Parallel()
	url := migrated(t, routes[0].database(t))
	const keys = 200
	first := open(t, url)
	var ids, reversed []string
	for i := range keys {
		k := makeKey(fmt.Sprint(i), func(k *apikey.NewKey) { k.Username = fmt.Sprint("user-", i%10) })
		ids, reversed = append(ids, k.ID), append([]string{k.ID}, reversed...)
		insert(t, first, k)
	}
	stores := []*Store{first, open(t, url), open(t, url)}
	var group sync.WaitGroup
	for i, s := range stores {
		order := [][]string{ids, reversed}[i%2]
		group.Go(func() {
			for range 20 {
				if err := s.WriteUsage(t.Context(), entries(order...)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	conn := sqlConn(t, url)
	if n := ask[int](t, conn, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
	if n := ask[int](t, conn, "SELECT count(*) FROM api_keys WHERE last_used_at IS NULL"); n != 0 {
		t.Errorf("%d uses were lost", n)
	}
}
