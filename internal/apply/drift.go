// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
)

// placements remember, per name, the desired object that was last brought or found in place. A write of exactly that
// object again, wanted all the time in between, repairs what somebody else did. It is bounded and may forget, and
// a new process knows nothing yet: repairs are then taken for changes of the desired object, never the other way round.
type placements struct {
	entries *lru.Cache
}

// placement is the name of an object.
type placement struct {
	kind schema.GroupKind
	key  types.NamespacedName
}

func newPlacements(size int) *placements {
	return &placements{entries: lru.New(size)}
}

// repaired takes note of a successful call and tells whether it undid what somebody else had done.
func (p *placements) repaired(c *call, outcome Outcome) bool {
	name := placement{c.want.GroupVersionKind().GroupKind(), c.key()}
	known, isKnown := p.entries.Get(name)
	switch outcome {
	case Created, Updated:
	case Unchanged:
		if isKnown {
			return false // The common case needs no hash.
		}
	default:
		return false
	}
	state, err := digestOf(c.want, comparison{})
	if err != nil {
		return false // What was just sent as JSON can be hashed as JSON.
	}
	p.entries.Add(name, state)
	return isKnown && outcome != Unchanged && known == state
}

// forget is called when an object is no longer wanted.
func (p *placements) forget(kind schema.GroupKind, key types.NamespacedName) {
	p.entries.Remove(placement{kind, key})
}
