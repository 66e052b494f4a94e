// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/lru"
)

// memory remembers, per live object, which differences the server itself makes: they are what is left after a write of
// ours or a dry run, so they need no further request. It is bounded and may forget; then one dry run answers again.
type memory struct {
	entries *lru.Cache
}

// settled is what is known about one live object.
type settled struct {
	// state identifies the desired object together with the differences that remain.
	state digest
	// resourceVersion is that of the copy this was learned from.
	resourceVersion string
}

type digest [sha256.Size]byte

func newMemory(size int) *memory {
	return &memory{entries: lru.New(size)}
}

func (m *memory) get(uid types.UID) (settled, bool) {
	value, ok := m.entries.Get(uid)
	if !ok {
		return settled{}, false
	}
	s, ok := value.(settled)
	return s, ok
}

// remember records that the differences found between want and live are settled.
func (m *memory) remember(want, live *unstructured.Unstructured, found comparison) error {
	state, err := digestOf(want, found)
	if err != nil {
		return err
	}
	m.entries.Add(live.GetUID(), settled{state: state, resourceVersion: live.GetResourceVersion()})
	return nil
}

// behind reports whether live is older than what we know of the same object: the cache has not caught up with our own
// write yet.
func (m *memory) behind(live *unstructured.Unstructured) bool {
	known, ok := m.get(live.GetUID())
	if !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(live.GetResourceVersion(), known.resourceVersion)
	return err == nil && order < 0
}

// digestOf identifies a desired object and its differences. Equal differences from an equal desired object mean an
// equal live state as far as it concerns us.
func digestOf(want *unstructured.Unstructured, found comparison) (digest, error) {
	hash := sha256.New()
	encoder := json.NewEncoder(hash)
	for _, part := range []any{want.Object, found.owned, found.protected} {
		if err := encoder.Encode(part); err != nil {
			return digest{}, fmt.Errorf("hash the desired object: %w", err)
		}
	}
	return digest(hash.Sum(nil)), nil
}
