// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// LagFunc tells how long the status of one generation of a policy lags behind
// its write.
type LagFunc func(kind Kind, name types.NamespacedName, generation int64) time.Duration

// Constant lags every policy by the same time; zero answers at once.
func Constant(d time.Duration) LagFunc {
	return func(Kind, types.NamespacedName, int64) time.Duration { return d }
}

// Between spreads the lags over [shortest, longest). The same policy name and
// generation always lags by the same time.
func Between(shortest, longest time.Duration) LagFunc {
	return func(kind Kind, name types.NamespacedName, generation int64) time.Duration {
		spread := longest - shortest
		if spread <= 0 {
			return shortest
		}
		h := fnv.New64a()
		fmt.Fprintf(h, "%s|%s|%d", kind, name, generation)
		return shortest + time.Duration(h.Sum64()%uint64(spread))
	}
}

// clock remembers when the status of each policy may be written.
type clock struct {
	lag LagFunc

	mu  sync.Mutex
	due map[request]deadline
}

type deadline struct {
	generation int64
	at         time.Time
}

func newClock(lag LagFunc) *clock { return &clock{lag: lag, due: map[request]deadline{}} }

// observe starts the lag of a generation when it is seen first.
func (c *clock) observe(r request, generation int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d, known := c.due[r]; known && d.generation == generation {
		return
	}
	c.due[r] = deadline{generation: generation, at: time.Now().Add(c.lag(r.kind, r.name, generation))}
}

// remaining tells how long the status has to wait.
func (c *clock) remaining(r request) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Until(c.due[r].at)
}

func (c *clock) forget(r request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.due, r)
}

// brake holds the whole stand-in back.
type brake struct {
	file string

	mu sync.Mutex
	on bool
	// passes are under way: what they found out is still written. idle tells when the
	// last of them is over.
	passes int
	idle   *sync.Cond
	held   map[request]bool
}

func newBrake(file string) *brake {
	b := &brake{file: file, held: map[request]bool{}}
	b.idle = sync.NewCond(&b.mu)
	return b
}

// pull lets no further pass begin and returns when the last one is over.
func (b *brake) pull() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.on = true
	for b.passes > 0 {
		b.idle.Wait()
	}
}

// release lets passes begin again.
func (b *brake) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.on = false
}

// begin reports whether a policy may be looked at now, until [brake.end], and remembers
// those that have to wait.
func (b *brake) begin(r request) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.engaged() {
		b.held[r] = true
		return false
	}
	delete(b.held, r)
	b.passes++
	return true
}

// end is for each pass that began.
func (b *brake) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.passes--; b.passes == 0 {
		b.idle.Broadcast()
	}
}

// forget drops a policy that is gone.
func (b *brake) forget(r request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.held, r)
}

// waiting lists the policies whose turn came while the brake was on.
func (b *brake) waiting() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]string, 0, len(b.held))
	for r := range b.held {
		out = append(out, fmt.Sprintf("%s %s", r.kind, r.name))
	}
	slices.Sort(out)
	return out
}

// engaged tells whether no pass may begin. The caller holds the lock.
func (b *brake) engaged() bool {
	if b.on || b.file == "" {
		return b.on
	}
	_, err := os.Stat(b.file)
	return err == nil
}
