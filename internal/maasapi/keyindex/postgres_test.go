// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/keyindex"
)

// revokeAll revokes keys on one replica, several at a time, while the other is
// asked for them all the time, and returns how long it took to refuse each.
func revokeAll(t *testing.T, here, there *replica, keys []key) []time.Duration {
	t.Helper()
	for _, k := range keys {
		there.wantAccepted(t, k)
	}
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		took  []time.Duration
	)
	work := make(chan key)
	for range 8 {
		group.Go(func() {
			for k := range work {
				here.revoke(t, k)
				d := there.refusedWithin(t, k, time.Now())
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
			}
		})
	}
	for _, k := range keys {
		work <- k
	}
	close(work)
	group.Wait()
	slices.Sort(took)
	t.Logf("%d revocations in force elsewhere after: median %s, 99th percentile %s, most %s",
		len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	return took
}

func TestRevocationIsInForceOnAnotherReplicaInTime(t *testing.T) {
	t.Parallel()
	database := newDatabase(t, nil)
	here, there := newReplica(t, database, nil), newReplica(t, database, nil)
	eventually(t, "the replica listens", func() bool { return there.metric(t, "listening") == 1 })
	took := revokeAll(t, here, there, here.mintMany(t, 200))
	// With notifications it does not take a poll interval.
	if median := took[len(took)/2]; median > keyindex.DefaultPollInterval/2 {
		t.Errorf("half of the revocations took more than %s: notifications do not work", median)
	}
}

// Mode 1, with a real connection.
func TestRevocationIsInForceInTimeWhileListenersAreKilled(t *testing.T) {
	t.Parallel()
	database := newDatabase(t, nil)
	here, there := newReplica(t, database, nil), newReplica(t, database, nil)
	keys := here.mintMany(t, 150)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { killListeners(ctx, t, database) })
	revokeAll(t, here, there, keys)
	cancel()
	group.Wait()
	eventually(t, "the replica listens again", func() bool { return there.metric(t, "listening") == 1 })
}

// Mode 2, with real connections: all of them go silent without an end, while
// new ones would work.
func TestRevocationIsInForceInTimeOverHalfOpenConnections(t *testing.T) {
	t.Parallel()
	database := newDatabase(t, nil)
	p, proxied := newProxy(t, database)
	here, there := newReplica(t, database, nil), newReplica(t, proxied, nil)
	k := here.mint(t)
	there.wantAccepted(t, k)
	p.swallow()
	here.revoke(t, k)
	// To the replica the database is gone at first: it goes by the grace until its
	// connections have been replaced.
	revoked := time.Now()
	eventually(t, "the replica is fresh again", func() bool {
		return there.State() == keyindex.StateFresh && !there.accepts(t, k)
	})
	took := time.Since(revoked)
	t.Logf("in force after %s", took)
	if took > 10*time.Second {
		t.Errorf("the replica clung to dead connections for %s", took)
	}
	p.cut() // Nobody says goodbye through dead connections.
}

// Mode 4, with a real pooler in transaction mode.
func TestRevocationIsInForceInTimeThroughAPooler(t *testing.T) {
	t.Parallel()
	database := newDatabase(t, nil)
	server, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	pooler, err := server.StartPooler(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pooler.Stop(); err != nil {
			t.Error(err)
		}
	})
	here, there := newReplica(t, pooler.URL, nil), newReplica(t, pooler.URL, nil)
	keys := here.mintMany(t, 50)
	if got := there.metric(t, "listening"); got != 0 {
		t.Errorf("listening = %v behind a pooler", got)
	}
	revokeAll(t, here, there, keys)
}

// Mode 5, with real transactions.
func TestRealTransactionsThatCommitOutOfOrderAreNotSkipped(t *testing.T) {
	t.Parallel()
	database := newDatabase(t, nil)
	r := newReplica(t, database, nil)
	early, late := r.mint(t), r.mint(t)
	r.wantAccepted(t, early)
	r.wantAccepted(t, late)
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	slow, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := slow.Exec(t.Context(), "UPDATE api_keys SET status = 'revoked' WHERE id = $1", early.id); err != nil {
		t.Fatal(err)
	}
	// Later transactions are seen first, by several polls.
	r.revoke(t, late)
	r.refusedWithin(t, late, time.Now())
	for range 3 {
		if err := r.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.wantAccepted(t, early)
	if err := slow.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.refusedWithin(t, early, time.Now())
	if got := r.metric(t, "lookups_total"); got > 2 {
		t.Errorf("%v look-ups: the polls did not see it", got)
	}
}

// Mode 7, with two replicas.
func TestRealKeyMadeElsewhereWorksAtOnce(t *testing.T) {
	t.Parallel()
	database := newDatabase(t, nil)
	here, there := newReplica(t, database, nil), newReplica(t, database, nil)
	for range 50 {
		there.wantAccepted(t, here.mint(t))
	}
}

// Mode 11, with real rows: one notification, one poll. It has the machine to
// itself.
func TestBulkRevocationOfManyKeysIsOneNotificationAndInForceInTime(t *testing.T) {
	database := newDatabase(t, nil)
	execute(t, database, `INSERT INTO api_keys (id, username, name, key_hash, status, user_groups, subscription, tenant)
		SELECT gen_random_uuid()::text, 'bulk', 'key', encode(sha256(i::text::bytea), 'hex'), 'active', '{system:authenticated}', 'free', $1
		FROM generate_series(1, 20000) AS i`, tenant)
	here, there := newReplica(t, database, nil), newReplica(t, database, nil)
	single := here.mint(t)
	there.wantAccepted(t, single)
	execute(t, database, "UPDATE api_keys SET username = 'bulk' WHERE id = $1", single.id)
	if err := there.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(), "LISTEN maas_keys"); err != nil {
		t.Fatal(err)
	}
	// What was sent before is none of this.
	hear := func(patience time.Duration) bool {
		waiting, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for {
			notification, err := conn.WaitForNotification(waiting)
			if err != nil || !byListener(t, database, notification.PID) {
				return err == nil
			}
		}
	}
	begun := time.Now()
	count, err := here.store.RevokeActive(t.Context(), apikey.Scope{Username: "bulk"})
	if err != nil || count != 20_001 {
		t.Fatalf("%d keys are revoked: %v", count, err)
	}
	t.Logf("revoked in %s", time.Since(begun))
	took := there.refusedWithin(t, single, time.Now())
	t.Logf("in force elsewhere %s later", took)
	if !hear(20 * time.Second) {
		t.Error("no notification")
	}
	if hear(time.Second) {
		t.Error("more than one notification")
	}
}

// byListener tells whether a connection is that of a listener, which notifies
// itself to find out whether that works.
func byListener(t *testing.T, database string, pid uint32) bool {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	var found bool
	err = conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND application_name LIKE '%listener')", pid).Scan(&found)
	if err := errors.Join(err, conn.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	return found
}

// A row that is deleted leaves every cache.
func TestDeletedKeyIsRefusedOnAnotherReplicaInTime(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"deleted":   "DELETE FROM api_keys",
		"truncated": "TRUNCATE api_keys",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := newDatabase(t, nil)
			here, there := newReplica(t, database, nil), newReplica(t, database, nil)
			k := here.mint(t)
			there.wantAccepted(t, k)
			execute(t, database, statement)
			there.refusedWithin(t, k, time.Now())
		})
	}
}

// Notes of use are not changes of keys.
func TestUseOfAKeyIsNotRead(t *testing.T) {
	t.Parallel()
	database := newDatabase(t, nil)
	r := newReplica(t, database, nil)
	k := r.mint(t)
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := r.metric(t, "changes_total")
	execute(t, database, "UPDATE api_keys SET last_used_at = now() WHERE id = $1", k.id)
	for range 3 {
		if err := r.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.metric(t, "changes_total"); got != before {
		t.Errorf("%v changes were read", got-before)
	}
}

// Mode 12, with a real table that is larger than the bound.
func TestTableLargerThanTheBoundIsServed(t *testing.T) {
	t.Parallel()
	database := newDatabase(t, nil)
	first := newReplica(t, database, nil)
	keys := first.mintMany(t, 60)
	r := newReplica(t, database, func(o *keyindex.Options) { o.MaxEntries = 20 })
	for _, k := range keys {
		r.wantAccepted(t, k)
	}
	if got := r.metric(t, "entries"); got != 20 {
		t.Errorf("%v keys are held", got)
	}
	for _, k := range keys {
		first.revoke(t, k)
		r.refusedWithin(t, k, time.Now())
	}
}
