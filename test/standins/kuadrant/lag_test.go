// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestBetween(t *testing.T) {
	t.Parallel()
	lag := Between(200*time.Millisecond, 800*time.Millisecond)
	seen := map[time.Duration]bool{}
	for generation := range int64(50) {
		d := lag(AuthPolicy, theRoute, generation)
		if d < 200*time.Millisecond || d >= 800*time.Millisecond {
			t.Errorf("lag of generation %d = %s, want within [200ms, 800ms)", generation, d)
		}
		if again := lag(AuthPolicy, theRoute, generation); again != d {
			t.Errorf("lag of generation %d = %s, then %s", generation, d, again)
		}
		seen[d] = true
	}
	if len(seen) < 10 {
		t.Errorf("only %d different lags in 50 generations", len(seen))
	}
}

func TestLagStartsWhenAGenerationIsSeenFirst(t *testing.T) {
	t.Parallel()
	c := newClock(Constant(time.Hour))
	r := request{kind: AuthPolicy, name: theRoute}
	c.observe(r, 1)
	first := c.due[r].at
	c.observe(r, 1)
	if again := c.due[r].at; !again.Equal(first) {
		t.Errorf("seeing a generation again moved its time from %s to %s", first, again)
	}
	c.observe(r, 2)
	if next := c.due[r].at; !next.After(first) {
		t.Errorf("the time of generation 2, %s, is not after that of generation 1, %s", next, first)
	}
	c.forget(r)
	if wait := c.remaining(r); wait > 0 {
		t.Errorf("a forgotten policy waits %s", wait)
	}
}

func TestStallFileHoldsBackWhileItExists(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "stall")
	b := newBrake(file)
	if b.engaged() {
		t.Error("stalled without the file")
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !b.engaged() {
		t.Error("not stalled although the file exists")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if b.engaged() {
		t.Error("still stalled after the file is gone")
	}
}

func TestHeldPoliciesAreListedUntilTheyGoOn(t *testing.T) {
	t.Parallel()
	b, r := newBrake(""), request{kind: AuthPolicy, name: theRoute}
	b.pull()
	if b.begin(r) || !slices.Equal(b.waiting(), []string{"AuthPolicy llm/route"}) {
		t.Errorf("the brake is on and these wait: %v", b.waiting())
	}
	b.release()
	if !b.begin(r) || len(b.waiting()) > 0 {
		t.Errorf("the brake is off and these wait: %v", b.waiting())
	}
}

// A status that was found out before the stall and written after it would be about what
// a test changed meanwhile.
func TestAStallBeginsWhenNothingIsUnderWayAnyMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, one, other := newBrake(""), request{kind: AuthPolicy, name: theRoute}, request{kind: TokenRateLimitPolicy, name: theRoute}
		if !b.begin(one) || !b.begin(other) {
			t.Fatal("the brake is off and policies wait")
		}
		stalled := false
		go func() {
			b.pull()
			stalled = true
		}()
		synctest.Wait()
		if stalled || b.begin(one) {
			t.Errorf("with two passes under way: stalled %t, and %v wait for its end", stalled, b.waiting())
		}
		b.end()
		synctest.Wait()
		if stalled {
			t.Error("stalled with one pass under way")
		}
		b.end()
		synctest.Wait()
		if !stalled {
			t.Error("not stalled although nothing is under way")
		}
	})
}
