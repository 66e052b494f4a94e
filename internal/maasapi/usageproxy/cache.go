// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usageproxy

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// cacheFor is how long an answer is given again.
	cacheFor = 30 * time.Second
	// cacheEntries, cacheEntry and cacheBytes bound the answers that are kept, by
	// number, and by size of one and of all in bytes.
	cacheEntries = 100
	cacheEntry   = 1 << 20
	cacheBytes   = 32 << 20
)

// cacheKey says who asked what.
type cacheKey [sha256.Size]byte

// keyOf makes a key of texts whatever characters are in them.
func keyOf(texts ...string) cacheKey {
	hash := sha256.New()
	for _, text := range texts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(text)))
		hash.Write(size[:])
		hash.Write([]byte(text))
	}
	return cacheKey(hash.Sum(nil))
}

// cache keeps answers for a short time, those used last. Any number of goroutines
// may use it.
type cache struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	entries map[cacheKey]*list.Element // Of *kept.
	order   *list.List                 // Those used last are in front.
	bytes   int
}

type kept struct {
	key   cacheKey
	body  body
	until time.Time
}

func newCache(c clock.PassiveClock) *cache {
	return &cache{clock: c, entries: map[cacheKey]*list.Element{}, order: list.New()}
}

func (c *cache) get(key cacheKey) (body, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element := c.entries[key]
	entry, found := entryOf(element)
	if !found {
		return body{}, false
	}
	if !c.clock.Now().Before(entry.until) {
		c.remove(element)
		return body{}, false
	}
	c.order.MoveToFront(element)
	return entry.body, true
}

// add keeps an answer unless it is too large.
func (c *cache) add(key cacheKey, b body) {
	if b.size > cacheEntry {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.entries[key]; old != nil {
		c.remove(old)
	}
	now := c.clock.Now()
	for element := c.order.Back(); element != nil; {
		before := element.Prev()
		if entry, found := entryOf(element); found && !now.Before(entry.until) {
			c.remove(element)
		}
		element = before
	}
	for c.order.Len() > 0 && (c.order.Len() >= cacheEntries || c.bytes+b.size > cacheBytes) {
		c.remove(c.order.Back())
	}
	c.entries[key] = c.order.PushFront(&kept{key: key, body: b, until: now.Add(cacheFor)})
	c.bytes += b.size
}

func (c *cache) remove(element *list.Element) {
	if entry, found := entryOf(element); found {
		c.order.Remove(element)
		delete(c.entries, entry.key)
		c.bytes -= entry.body.size
	}
}

func entryOf(element *list.Element) (*kept, bool) {
	if element == nil {
		return nil, false
	}
	entry, found := element.Value.(*kept)
	return entry, found
}
