// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"slices"
	"testing"
)

func TestOneStatusIsLostUntilThereIsAReasonToLook(t *testing.T) {
	t.Parallel()
	l, r, other := newLosses(), request{kind: AuthPolicy, name: theRoute}, request{kind: TokenRateLimitPolicy, name: theRoute}
	first, second, another := version{"1", 1}, version{"1", 2}, version{"2", 1}
	if l.lose(r, first) || l.holds(r, first) {
		t.Error("a status is lost that nobody asked to lose")
	}
	for reason, now := range map[string]version{"another spec": second, "another policy of the name": another} {
		l.arm(r)
		if l.lose(other, first) || !l.lose(r, first) || l.lose(r, first) {
			t.Error("not exactly one status of the policy is lost")
		}
		if !l.holds(r, first) || !l.lost(r) || l.holds(other, first) {
			t.Error("the policy is looked at although nothing happened")
		}
		if l.holds(r, now) || l.holds(r, first) || l.lost(r) {
			t.Errorf("%s is no reason to look", reason)
		}
	}
}

func TestAChangeOfARouteIsAReasonToLook(t *testing.T) {
	t.Parallel()
	l, r, first := newLosses(), request{kind: AuthPolicy, name: theRoute}, version{"1", 1}
	l.arm(r)
	l.lose(r, first)
	if got := l.end(); !slices.Equal(got, []request{r}) || l.holds(r, first) || len(l.end()) > 0 {
		t.Errorf("a change of a route has %v looked at, want the one policy, once", got)
	}
}
