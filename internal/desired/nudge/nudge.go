// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nudge decides when Kuadrant gets another reason to judge the generated
// policies. It writes a status once: when the policy was changed since Kuadrant read it,
// that is lost, and comes again only with a change that Kuadrant looks at. The package is pure:
// it reads no cluster and no clock, and it writes no objects.
package nudge

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// early is the part of its next wait by which a case may be served before it is due,
// together with others: however many policies stay as they are, in the long run they are
// served together.
const early = 4

// Bounds say how often Kuadrant may be given a reason.
type Bounds struct {
	// Patience is how long a policy may stay as it is before the first time, and how much
	// time is between any two of them.
	Patience time.Duration
	// Longest is the longest time between two of them for the same policy; each is twice
	// as long as the one before.
	Longest time.Duration
}

// Case is a policy that Kuadrant does not call enforced. One that changes, or of which
// Kuadrant says something else, is another case: then Kuadrant is at work.
type Case struct {
	Policy     types.UID
	Generation int64
	// Said is what Kuadrant says of it, in whatever words.
	Said string
}

// Look is what is seen at a time.
type Look struct {
	Cases []Case
	// Alive tells that Kuadrant has said something of any policy. Where it never did it
	// is not there: nothing is waited for.
	Alive bool
	Now   time.Time
}

// Memory is what is kept from one look to the next. The zero value is the first one's.
type Memory struct {
	cases map[Case]turn
	last  time.Time
}

// turn is when a case is due, and how long it waits after that.
type turn struct {
	due  time.Time
	next time.Duration
}

// Verdict is what to do.
type Verdict struct {
	// Due are the cases because of which Kuadrant gets a reason now; none for not now.
	Due []Case
	// Again is when to look again although nothing changed; 0 for never.
	Again time.Duration
}

// Decide judges a look. The memory that it returns holds once the verdict was carried
// out; until then the former one does.
func (b Bounds) Decide(m Memory, l Look) (Memory, Verdict) {
	after := Memory{cases: make(map[Case]turn, len(l.Cases)), last: m.last}
	if !l.Alive {
		return after, Verdict{}
	}
	free := m.last.IsZero() || l.Now.Sub(m.last) >= b.Patience
	now := free && slices.ContainsFunc(l.Cases, func(c Case) bool {
		t, known := m.cases[c]
		return known && !l.Now.Before(t.due)
	})
	var v Verdict
	for _, c := range l.Cases {
		t, known := m.cases[c]
		if !known {
			t = turn{due: l.Now.Add(b.Patience), next: min(2*b.Patience, b.Longest)}
		}
		if known && now && t.due.Sub(l.Now) <= t.next/early {
			v.Due = append(v.Due, c)
			t = turn{due: l.Now.Add(t.next), next: min(2*t.next, b.Longest)}
		}
		after.cases[c] = t
	}
	if len(v.Due) > 0 {
		after.last = l.Now
	}
	v.Again = b.again(after, l.Now)
	return after, v
}

// again is how long it takes until a case is due and its turn may come; 0 without one.
func (b Bounds) again(m Memory, now time.Time) time.Duration {
	var earliest time.Time
	for _, t := range m.cases {
		if earliest.IsZero() || t.due.Before(earliest) {
			earliest = t.due
		}
	}
	switch free := m.last.Add(b.Patience); {
	case earliest.IsZero():
		return 0
	case !m.last.IsZero() && earliest.Before(free):
		return free.Sub(now)
	default:
		return earliest.Sub(now)
	}
}
