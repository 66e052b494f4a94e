// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/internal/desired/nudge"
)

var (
	bounds = nudge.Bounds{Patience: 30 * time.Second, Longest: 4 * time.Minute}
	begin  = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
)

// step is a look at a time after the beginning, and what comes of it.
type step struct {
	at    time.Duration
	cases []nudge.Case
	dead  bool
	// due is how many cases are the reason; again is when the next look is, after the
	// beginning, or 0 for never.
	due   int
	again time.Duration
}

func TestKuadrantIsNudged(t *testing.T) {
	t.Parallel()
	const s, m = time.Second, time.Minute
	a := nudge.Case{Policy: "a", Generation: 1}
	changed, judged := a, a
	changed.Generation, judged.Said = 2, "Enforced=False Unknown"
	b := nudge.Case{Policy: "b", Generation: 1}
	one, both := []nudge.Case{a}, []nudge.Case{a, b}
	for name, steps := range map[string][]step{
		"never when nothing waits":                  {{at: 0}, {at: time.Hour}},
		"never before patience ends":                {{at: 0, cases: one, again: 30 * s}, {at: 29 * s, cases: one, again: 30 * s}},
		"not when the policy is enforced meanwhile": {{at: 0, cases: one, again: 30 * s}, {at: 30 * s}},
		"ever more rarely": {
			{at: 0, cases: one, again: 30 * s},
			{at: 30 * s, cases: one, due: 1, again: 90 * s},
			{at: 31 * s, cases: one, again: 90 * s},
			{at: 90 * s, cases: one, due: 1, again: 90*s + 2*m},
			{at: 90*s + 2*m, cases: one, due: 1, again: 90*s + 6*m},
			{at: 90*s + 6*m, cases: one, due: 1, again: 90*s + 10*m},
		},
		"anew for a policy that was changed": {
			{at: 0, cases: one, again: 30 * s},
			{at: 30 * s, cases: []nudge.Case{changed}, again: 60 * s},
			{at: 60 * s, cases: []nudge.Case{changed}, due: 1, again: 2 * m},
		},
		"anew for one of which Kuadrant said something": {
			{at: 0, cases: one, again: 30 * s},
			{at: 30 * s, cases: []nudge.Case{judged}, again: 60 * s},
		},
		"anew for one that was enforced in between": {
			{at: 0, cases: one, again: 30 * s},
			{at: 30 * s, cases: one, due: 1, again: 90 * s},
			{at: 40 * s},
			{at: 50 * s, cases: one, again: 80 * s},
		},
		"once for all that are due": {
			{at: 0, cases: both, again: 30 * s},
			{at: 30 * s, cases: both, due: 2, again: 90 * s},
		},
		"soon again for another, but not at once": {
			{at: 0, cases: one, again: 30 * s},
			{at: 20 * s, cases: both, again: 30 * s},
			{at: 30 * s, cases: both, due: 1, again: 60 * s}, // That of b is at 50 s.
			{at: 50 * s, cases: both, again: 60 * s},
			{at: 60 * s, cases: both, due: 2, again: 2 * m}, // That of a would be at 90 s.
		},
		"together with another that is almost due": {
			{at: 0, cases: one, again: 30 * s},
			{at: 10 * s, cases: both, again: 30 * s},
			{at: 30 * s, cases: both, due: 2, again: 90 * s}, // That of b would be at 40 s.
		},
		"never while Kuadrant is away": {
			{at: 0, cases: one, dead: true},
			{at: time.Hour, cases: one, dead: true},
			{at: time.Hour + s, cases: one, again: time.Hour + 31*s},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var memory nudge.Memory
			var verdict nudge.Verdict
			for i, step := range steps {
				now := begin.Add(step.at)
				memory, verdict = bounds.Decide(memory, nudge.Look{Cases: step.cases, Alive: !step.dead, Now: now})
				got, want := []time.Duration{time.Duration(len(verdict.Due)), verdict.Again}, []time.Duration{time.Duration(step.due), 0}
				if step.again > 0 {
					want[1] = step.again - step.at
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("step %d: number due, and again (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

func TestWhatWasNotCarriedOutIsDueAgain(t *testing.T) {
	t.Parallel()
	cases := []nudge.Case{{Policy: "a"}}
	memory, _ := bounds.Decide(nudge.Memory{}, nudge.Look{Cases: cases, Alive: true, Now: begin})
	for range 2 { // The memory after the first time is not kept.
		if _, v := bounds.Decide(memory, nudge.Look{Cases: cases, Alive: true, Now: begin.Add(time.Minute)}); len(v.Due) != 1 {
			t.Errorf("Due = %v, want the case", v.Due)
		}
	}
}

// Policies that are rightly not enforced, and became so one after the other, do not keep
// Kuadrant busy.
func TestManyThatStayAreServedTogether(t *testing.T) {
	t.Parallel()
	var memory nudge.Memory
	var cases []nudge.Case
	nudges := 0
	const count, apart = 40, 13 * time.Second
	end := begin.Add(4 * time.Hour)
	for now := begin; now.Before(end); {
		if len(cases) < count {
			cases = append(cases, nudge.Case{Policy: types.UID(rune('a' + len(cases)))})
		}
		after, v := bounds.Decide(memory, nudge.Look{Cases: cases, Alive: true, Now: now})
		memory = after
		if len(v.Due) > 0 && now.After(end.Add(-time.Hour)) {
			nudges++
		}
		if now = now.Add(v.Again); len(cases) < count {
			now = now.Add(apart - v.Again)
		}
	}
	if most := 5 * int(time.Hour/bounds.Longest); nudges > most {
		t.Errorf("%d nudges in an hour for %d policies that stay, want at most %d", nudges, count, most)
	}
}

// Whatever comes and goes: two nudges are never closer than patience, one that stays is
// nudged, and whoever looks again when told misses none.
func TestTheRateIsBounded(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		var memory nudge.Memory
		var last, next time.Time
		nudges := 0
		for now := begin; now.Before(begin.Add(time.Hour)); {
			cases := []nudge.Case{{Policy: "stays"}}
			for i := range random.IntN(20) {
				cases = append(cases, nudge.Case{Policy: types.UID(rune('a' + i)), Generation: int64(random.IntN(3))})
			}
			after, v := bounds.Decide(memory, nudge.Look{Cases: cases, Alive: true, Now: now})
			memory = after
			if len(v.Due) > 0 {
				if nudges++; !last.IsZero() && now.Sub(last) < bounds.Patience {
					t.Fatalf("seed %d: a nudge %s after another", seed, now.Sub(last))
				}
				last = now
			}
			if v.Again <= 0 || v.Again > bounds.Longest {
				t.Fatalf("seed %d: look again after %s, while something waits", seed, v.Again)
			}
			next = now.Add(v.Again)
			if now = now.Add(time.Duration(1+random.IntN(40)) * time.Second); next.Before(now) {
				now = next
			}
		}
		if least := int(time.Hour / bounds.Longest); nudges < least {
			t.Errorf("seed %d: %d nudges in an hour for a policy that stays, want at least %d", seed, nudges, least)
		}
	}
}
