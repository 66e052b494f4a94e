// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import (
	"testing"
	"time"
)

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

// Mode 9: every look-up that is still under way when a poll fails ends after it.
func TestOutageIsNotForgottenForLookupsThatFailLate(t *testing.T) {
	t.Parallel()
	f := loaded(t, 1, nil)
	f.set(func() { f.pollBroken, f.lookupBroken = true, true })
	f.clock.Step(DefaultStaleAfter + time.Nanosecond)
	f.failingRound(t)
	for range failuresUntilDown {
		f.index.lookedUp(errBroken)
	}
	f.clock.Step(DefaultPollInterval)
	if got := f.index.State(); got != StateGrace {
		t.Errorf("before the next poll can have ended, the state is %s", got)
	}
}
