// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dedup keeps equal parts of JSON values once in memory. The policies of
// a thousand models differ in a few of their expressions; everything else in
// them is held once. It owns that and knows nothing of what the values mean.
package dedup

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"k8s.io/utils/lru"
)

// maxText is the length of the longest text that is remembered, in bytes. Longer ones
// list what belongs to one object; to remember them would keep every version of an
// object that changes often in memory.
const maxText = 4 << 10

// Pool remembers parts of values, as many as its size; of those it forgets,
// another copy will be kept. It is safe for concurrent use.
type Pool struct {
	parts *lru.Cache
}

// New returns an empty pool.
func New(size int) *Pool { return &Pool{parts: lru.New(size)} }

// digest identifies a value. What is equal by it is taken for equal, so it must
// not be possible to find two values with the same one.
type digest [sha256.Size]byte

// Share returns a value equal to the given one, made of parts that other results
// are made of too. The given value is not changed, so it may be the result of an
// earlier call that others read meanwhile; the new result must not be changed at all.
//
// Only what JSON knows can be shared, as unstructured objects hold it; values of
// other types and texts of more than 4 KiB stay as they are, and so do the maps and
// slices around them.
func (p *Pool) Share(value any) any {
	shared, _, _ := p.share(value)
	return shared
}

// share also returns the digest; the last result is false when there is none.
func (p *Pool) share(value any) (any, digest, bool) {
	switch v := value.(type) {
	case map[string]any:
		return p.shareMap(v)
	case []any:
		return p.shareSlice(v)
	case string:
		if len(v) > maxText {
			return value, digest{}, false
		}
		return p.keep(v, sha256.Sum256(append([]byte{'s'}, v...)))
	case nil, bool, int64, float64:
		return v, sha256.Sum256(fmt.Appendf(nil, "%T %v", v, v)), true
	default:
		return value, digest{}, false
	}
}

func (p *Pool) shareMap(members map[string]any) (any, digest, bool) {
	hash, known := []byte{'m'}, true
	shared := make(map[string]any, len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		member, d, ok := p.share(members[name])
		shared[name] = member
		known = known && ok
		hash = binary.AppendUvarint(hash, uint64(len(name)))
		hash = append(append(hash, name...), d[:]...)
	}
	if !known {
		return shared, digest{}, false
	}
	return p.keep(shared, sha256.Sum256(hash))
}

func (p *Pool) shareSlice(items []any) (any, digest, bool) {
	hash, known := []byte{'l'}, true
	shared := make([]any, len(items))
	for i := range items {
		item, d, ok := p.share(items[i])
		shared[i] = item
		known = known && ok
		hash = append(hash, d[:]...)
	}
	if !known {
		return shared, digest{}, false
	}
	return p.keep(shared, sha256.Sum256(hash))
}

// keep returns the part that is known by the digest, or makes this one known.
func (p *Pool) keep(part any, d digest) (any, digest, bool) {
	if first, ok := p.parts.Get(d); ok {
		return first, d, true
	}
	p.parts.Add(d, part)
	return part, d, true
}
