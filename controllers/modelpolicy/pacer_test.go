// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
)

func TestPacer(t *testing.T) {
	t.Parallel()
	model, other := types.NamespacedName{Name: "m"}, types.NamespacedName{Name: "o"}
	clock := testingclock.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	p := newPacer(clock)
	wait := func(what string, key types.NamespacedName, after, want time.Duration) {
		t.Helper()
		clock.SetTime(clock.Now().Add(after))
		if got := p.wait(key); got != want {
			t.Errorf("%s waits %s, want %s", what, got, want)
		}
	}
	wait("the first change", model, 0, 200*time.Millisecond)
	wait("a change during the pause", model, 150*time.Millisecond, 50*time.Millisecond)
	wait("another model's change", other, 0, 200*time.Millisecond)
	wait("a change right after the pause", model, 60*time.Millisecond, 400*time.Millisecond)
	wait("the next one", model, 450*time.Millisecond, 800*time.Millisecond)
	wait("the next one", model, 850*time.Millisecond, 1600*time.Millisecond)
	wait("the next one", model, 1700*time.Millisecond, 3200*time.Millisecond)
	wait("a long burst", model, 3300*time.Millisecond, 5*time.Second)
	wait("a longer one", model, 5100*time.Millisecond, 5*time.Second)
	wait("a change soon after a burst", model, 7100*time.Millisecond, 200*time.Millisecond)
	wait("a change after quiet", model, time.Minute, 200*time.Millisecond)
	p.forget(model)
	wait("a new model of the same name", model, time.Millisecond, 200*time.Millisecond)
}

func TestDriftWaitsOnlyDuringABurst(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	p, model := newPacer(clock), types.NamespacedName{Name: "m"}
	if got := p.settle(model); got != 0 {
		t.Errorf("drift of a quiet model waits %s", got)
	}
	p.wait(model)
	clock.SetTime(clock.Now().Add(250 * time.Millisecond))
	if got := p.settle(model); got != 400*time.Millisecond {
		t.Errorf("an echo of our own write waits %s, want 400ms, as long as the next change would", got)
	}
	clock.SetTime(clock.Now().Add(410 * time.Millisecond))
	if got := p.settle(model); got != 0 {
		t.Errorf("drift after a burst waits %s", got)
	}
	if got := p.wait(model); got != firstPause {
		t.Errorf("a change after an echo waits %s, want %s: an echo is no part of the burst", got, firstPause)
	}
}

func TestABurstOfAnyLengthCostsFewPauses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		lasts time.Duration
		most  int
	}{
		"a single change":                {time.Millisecond, 1},
		"the promised five seconds":      {5 * time.Second, 5},
		"on a busy machine":              {10 * time.Second, 6},
		"a machine five times as slow":   {25 * time.Second, 9},
		"changes that never come to end": {10 * time.Minute, 124},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, echoAfter := range []time.Duration{0, 20 * time.Millisecond, time.Second} {
				if got := computations(tc.lasts, echoAfter); got > tc.most {
					t.Errorf("changes for %s, with writes seen after %s, cost %d computations, want at most %d", tc.lasts, echoAfter, got, tc.most)
				}
			}
		})
	}
}

// computations counts how often a model is computed while one change comes every
// 10 ms and each write is seen some time later. Of several times a work queue
// keeps the earliest.
func computations(lasts, echoAfter time.Duration) int {
	const step = 10 * time.Millisecond
	clock := testingclock.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	p, model := newPacer(clock), types.NamespacedName{Name: "m"}
	never := clock.Now().Add(365 * 24 * time.Hour)
	ready, echo, end, count := never, never, clock.Now().Add(lasts), 0
	sooner := func(wait time.Duration) {
		if at := clock.Now().Add(wait); at.Before(ready) {
			ready = at
		}
	}
	for ; clock.Now().Before(end); clock.SetTime(clock.Now().Add(step)) {
		now := clock.Now()
		if !now.Before(ready) {
			ready, echo, count = never, now.Add(echoAfter), count+1
		}
		if !now.Before(echo) {
			echo = never
			sooner(p.settle(model))
		}
		sooner(p.wait(model))
	}
	return count + 1 // The last changes still wait.
}
