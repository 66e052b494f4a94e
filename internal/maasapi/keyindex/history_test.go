// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import (
	"testing"
)

// Mode 6, another history.
func TestAnotherDatabaseIsLoadedAnewAndNothingOldIsTrustedMeanwhile(t *testing.T) {
	t.Parallel()
	f := loaded(t, 2, nil)
	f.set(func() {
		f.identity = "two"
		delete(f.rows, digest(1))
		f.rows[digest(3)] = row{record: *record(3), xid: 1}
	})
	during := ""
	f.loading = func() { during = f.verdict(t, digest(1)) }
	f.round(t)
	if during != notFound {
		t.Errorf("during the load, a key of the former database was %q", during)
	}
	before := f.lookups.Load()
	f.clock.Step(missingFor)
	f.wantVerdict(t, digest(1), notFound)
	f.wantVerdict(t, digest(2), accepted)
	f.wantVerdict(t, digest(3), accepted)
	f.wantLookups(t, before+1)
}

// Mode 6, the same database put back to an older state.
func TestDatabaseThatWentBackIsLoadedAnew(t *testing.T) {
	t.Parallel()
	f := loaded(t, 2, nil)
	f.set(func() {
		f.next = 50
		delete(f.rows, digest(1))
		f.rows[digest(2)] = row{record: *record(2), xid: 40}
	})
	f.round(t)
	f.wantVerdict(t, digest(1), notFound)
	f.wantVerdict(t, digest(2), accepted)
	if got := f.loads.Load(); got != 2 {
		t.Errorf("loads = %d, want 2", got)
	}
}

// Mode 6: between the discovery and the end of the load, the database fails.
func TestOldKeysHaveNoGraceAfterAnotherDatabaseWasSeen(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	f.set(func() { f.identity = "two" })
	f.loading = func() {
		f.set(func() { f.pollBroken, f.lookupBroken = true, true })
	}
	f.failingRound(t)
	f.wantVerdict(t, digest(1), unavailable)
	if f.index.Ready() == nil {
		t.Error("ready without a key to go by")
	}
}
