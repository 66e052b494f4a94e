// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// firstPause is how long the first change to a model's contributors waits
	// for others; longestPause is the wait while changes keep coming. With these,
	// a burst costs 5 computations when it lasts 5 seconds and 9 when it lasts 25.
	firstPause   = 200 * time.Millisecond
	longestPause = 5 * time.Second
	// longestMemory is how long after its last pause a burst is over at the latest.
	longestMemory = 2 * time.Second
)

// pacer says how long to collect changes to a model's contributors before its
// policies are computed. A single change waits firstPause; while changes keep
// coming the pauses double up to longestPause, so that a burst of any length
// costs a handful of writes. It is safe for concurrent use.
type pacer struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	models map[types.NamespacedName]pause
}

// pause is one model's latest wait.
type pause struct {
	due    time.Time
	length time.Duration
	// changed is false as long as only an echo of our own write waits.
	changed bool
}

func newPacer(c clock.PassiveClock) *pacer {
	return &pacer{clock: c, models: map[types.NamespacedName]pause{}}
}

// wait returns how long a change seen now has to wait.
func (p *pacer) wait(model types.NamespacedName) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pause(model, true)
}

// settle returns how long a change to a generated policy has to wait. Most are
// echoes of our own writes: right after a burst they must not make a faster
// rhythm than the burst's own, nor prolong the burst. Somebody else's change to a
// quiet model does not wait at all.
func (p *pacer) settle(model types.NamespacedName) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last, known := p.models[model]; !known || last.over(p.clock.Now()) {
		return 0
	}
	return p.pause(model, false)
}

// pause joins the pause that is under way, or begins the next one.
func (p *pacer) pause(model types.NamespacedName, changed bool) time.Duration {
	now := p.clock.Now()
	last, known := p.models[model]
	next := pause{length: firstPause, changed: changed}
	switch {
	case known && now.Before(last.due): // An earlier change waits already.
		next = last
		next.changed = last.changed || changed
	case known && !last.over(now):
		next.length = min(2*last.length, longestPause)
		next.due = now.Add(next.length)
	default:
		next.due = now.Add(next.length)
	}
	p.models[model] = next
	return next.due.Sub(now)
}

// over tells whether the burst that a pause belonged to is over: nothing came in
// it, or for as long after it as it lasted.
func (p pause) over(now time.Time) bool {
	past := now.Sub(p.due)
	return past >= 0 && !p.changed || past >= min(p.length, longestMemory)
}

// forget drops what is known of a model that does not exist.
func (p *pacer) forget(model types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.models, model)
}
