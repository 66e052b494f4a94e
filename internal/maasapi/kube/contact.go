// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"sync"
	"time"
)

// longestSilence is how long an open watch may say nothing before it counts as dead. The
// API server sends a bookmark every minute even when nothing changes.
const longestSilence = 150 * time.Second

// contact tells how old what we know of one kind may be.
//
// An open watch reports every change at once, so while one is open and the API
// server answers on the same connection, what we know is what there is. That is
// checked every few seconds and not with each change, because a kind may not change
// for days.
type contact struct {
	mu sync.Mutex
	// open counts the watches that are open.
	open int
	// heard is when the API server last said something about the kind, answered when
	// it last answered anything.
	heard, answered time.Time
}

// opened and closed count watches; hear notes a message.
func (c *contact) opened(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open++
	c.heard = now
}

func (c *contact) closed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
}

func (c *contact) hear(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = now
}

// answer notes that the API server answered a check that began at the given time.
// While a watch is open and not silent for too long, nothing can have been missed
// until then.
func (c *contact) answer(began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open > 0 && began.Sub(c.heard) <= longestSilence {
		c.answered = began
	}
}

// last is the time until which no change can have been missed; zero when there
// never was any contact.
func (c *contact) last() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answered.After(c.heard) {
		return c.answered
	}
	return c.heard
}
