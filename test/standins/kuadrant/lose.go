// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Lose has the next status of a policy be lost, as one of the real operator is that meets
// a newer object: what is said of the policy stays as it is until its spec, or anything
// of a route, changes.
//
// Source: kuadrant-operator 1.5, internal/controller/auth_policy_status_updater.go.
func (k *Kuadrant) Lose(kind Kind, name types.NamespacedName) {
	k.losses.arm(request{kind: kind, name: name})
}

// Lost tells whether the status that [Kuadrant.Lose] was about is lost, and not replaced.
func (k *Kuadrant) Lost(kind Kind, name types.NamespacedName) bool {
	return k.losses.lost(request{kind: kind, name: name})
}

// losses remember which statuses are to be lost, and which are.
type losses struct {
	mu    sync.Mutex
	armed map[request]bool
	gone  map[request]version
}

// version is a spec of an object.
type version struct {
	uid        types.UID
	generation int64
}

func versionOf(o metav1.Object) version { return version{o.GetUID(), o.GetGeneration()} }

func newLosses() *losses {
	return &losses{armed: map[request]bool{}, gone: map[request]version{}}
}

func (l *losses) arm(r request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed[r] = true
}

// lose reports whether the status of a policy, which is about to be written, is lost.
func (l *losses) lose(r request, now version) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.armed[r] {
		return false
	}
	delete(l.armed, r)
	l.gone[r] = now
	return true
}

// holds reports whether there is no reason to look at a policy again.
func (l *losses) holds(r request, now version) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, lost := l.gone[r]
	if lost && at != now {
		delete(l.gone, r)
	}
	return lost && at == now
}

func (l *losses) lost(r request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, lost := l.gone[r]
	return lost
}

// end returns the policies whose status is lost, because there is a reason to look at all.
func (l *losses) end() []request {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := make([]request, 0, len(l.gone))
	for r := range l.gone {
		found = append(found, r)
	}
	clear(l.gone)
	return found
}
