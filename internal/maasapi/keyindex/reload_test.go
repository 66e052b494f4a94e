// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import "testing"

// Modes 6 and 9: a server that was restarted.
func TestKeysAreAskedForWhileTheyAreLoadedAnewAfterAnOutage(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	f.set(func() { f.pollBroken, f.lookupBroken = true, true })
	f.failingRound(t)
	f.set(func() { f.pollBroken, f.lookupBroken, f.identity = false, false, "restarted" })
	during := ""
	f.loading = func() { during = f.verdict(t, digest(1)) }
	f.round(t)
	if during != accepted {
		t.Errorf("while the keys were loaded anew, a good one was %q", during)
	}
}
