// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// mark stands for a question in memory: a keyed hash that tells nothing about the
// credential in it, under a key that lives and dies with the process.
type mark [sha256.Size]byte

// memory remembers verdicts for a short time, and sees to it that nobody asks what
// somebody is asking already.
type memory struct {
	key                     []byte
	admittedFor, refusedFor time.Duration
	half                    int // No more than twice as many verdicts are kept.
	clock                   clock.PassiveClock

	mu             sync.Mutex
	recent, former map[mark]verdict
	asking         map[mark]*asking
}

// asking is a question under way. The verdict may be read once done is closed.
type asking struct {
	done    chan struct{}
	verdict verdict
}

func newMemory(key []byte, o Options) *memory {
	return &memory{
		key: key, admittedFor: o.AdmittedFor, refusedFor: o.RefusedFor, half: max(1, o.MaxVerdicts/2), clock: o.Clock,
		recent: map[mark]verdict{}, asking: map[mark]*asking{},
	}
}

// mark hides a question. Each part counts with its length, so that no two
// questions look alike.
func (m *memory) mark(c Credential, parts ...string) mark {
	hash := hmac.New(sha256.New, m.key)
	write := func(part string) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		hash.Write(size[:])
		hash.Write([]byte(part))
	}
	write(c.authorization)
	write(c.apiKey)
	for _, part := range parts {
		write(part)
	}
	var out mark
	hash.Sum(out[:0])
	return out
}

// recall returns the verdict on a question if it is fresh. Otherwise it returns
// the question under way; first tells that the caller is who must ask it and then
// call settle.
func (m *memory) recall(k mark) (v verdict, known bool, a *asking, first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, known = m.recent[k]
	if !known {
		v, known = m.former[k]
	}
	if known && m.clock.Since(v.at) < m.life(v) {
		return v, true, nil, false
	}
	if other := m.asking[k]; other != nil {
		return verdict{}, false, other, false
	}
	a = &asking{done: make(chan struct{})}
	m.asking[k] = a
	return verdict{}, false, a, true
}

func (m *memory) life(v verdict) time.Duration {
	if v.admitted() {
		return m.admittedFor
	}
	return m.refusedFor
}

// settle ends a question and remembers the verdict if it is final.
func (m *memory) settle(k mark, a *asking, v verdict) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v.outcome.final() {
		if len(m.recent) >= m.half {
			m.recent, m.former = map[mark]verdict{}, m.recent
		}
		m.recent[k] = v
	}
	delete(m.asking, k)
	a.verdict = v
	close(a.done)
}
