// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// breakers leave destinations in peace that fail again and again. A destination
// without failures takes no memory.
type breakers struct {
	after int
	rest  time.Duration
	clock clock.PassiveClock

	mu      sync.Mutex
	failing map[string]*breaker
}

// maxFailing bounds the destinations whose failures are known.
const maxFailing = 10_000

type breaker struct {
	failures int
	// until is when the destination may be tried again; zero while it is closed.
	until time.Time
}

func newBreakers(o Options) *breakers {
	return &breakers{after: o.OpenAfter, rest: o.OpenFor, clock: o.Clock, failing: map[string]*breaker{}}
}

// allow tells whether a destination may be asked. After its rest a single request
// may find out how it is; the next one may when that has failed, or after another
// rest if it never ended.
func (b *breakers) allow(destination string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.failing[destination]
	if one == nil || one.until.IsZero() {
		return true
	}
	now := b.clock.Now()
	if now.Before(one.until) {
		return false
	}
	one.until = now.Add(b.rest)
	return true
}

// succeeded closes the breaker.
func (b *breakers) succeeded(destination string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.failing, destination)
}

// failed counts a failure; opened tells that the breaker opened by it.
func (b *breakers) failed(destination string) (opened bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.failing[destination]
	if one == nil {
		if len(b.failing) >= maxFailing {
			clear(b.failing) // Names come from custom resources: they must not fill the memory.
		}
		one = &breaker{}
		b.failing[destination] = one
	}
	if one.failures++; one.failures < b.after {
		return false
	}
	opened = one.until.IsZero()
	one.until = b.clock.Now().Add(b.rest)
	return opened
}

// open counts the destinations that are left in peace.
func (b *breakers) open() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	count, now := 0, b.clock.Now()
	for _, one := range b.failing {
		if now.Before(one.until) {
			count++
		}
	}
	return count
}
