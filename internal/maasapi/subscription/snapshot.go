// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

// Source has the latest [Snapshot].
type Source interface {
	// Snapshot returns nil while there is none that may be answered from: the first
	// objects have not been read yet, or the last contact with the API server is too
	// long ago. Nobody may be granted anything then.
	Snapshot() *Snapshot
}

// Snapshot is the state of a tenant's objects at one time. It never changes, so any
// number of goroutines may use it. It holds the objects it was made of: nobody may
// modify them.
type Snapshot struct {
	tenant    string
	at        time.Time
	index     *entitlement.Index
	models    map[types.NamespacedName]*v1alpha1.MaaSModelRef
	replies   map[*v1alpha1.MaaSSubscription]*reply
	ambiguous int
}

// NewSnapshot makes the snapshot of a tenant out of facts read at the given time.
// What belongs to another tenant, or to none, is not in it.
func NewSnapshot(tenant string, facts entitlement.Facts, at time.Time) *Snapshot {
	s := &Snapshot{
		tenant: tenant, at: at, index: entitlement.NewIndex(tenant, facts),
		models:  make(map[types.NamespacedName]*v1alpha1.MaaSModelRef, len(facts.Models)),
		replies: make(map[*v1alpha1.MaaSSubscription]*reply, len(facts.Subscriptions)),
	}
	aliases := map[string]int{}
	for _, m := range facts.Models {
		if m.Object == nil || m.Tenant != tenant {
			continue
		}
		s.models[types.NamespacedName{Namespace: m.Object.Namespace, Name: m.Object.Name}] = m.Object
		if alias := m.Object.Status.ResolvedModelAlias; alias != "" {
			if aliases[alias]++; aliases[alias] == 2 {
				s.ambiguous++
			}
		}
	}
	for _, sub := range facts.Subscriptions {
		if sub.Object != nil && sub.Tenant == tenant {
			s.replies[sub.Object] = &reply{}
		}
	}
	return s
}

// Tenant is the name of the tenant.
func (s *Snapshot) Tenant() string { return s.tenant }

// At is the time at which the facts were put together.
func (s *Snapshot) At() time.Time { return s.at }

// Index decides about callers.
func (s *Snapshot) Index() *entitlement.Index { return s.index }

// Model returns a model of the tenant, or nil when it has none with that key.
func (s *Snapshot) Model(key types.NamespacedName) *v1alpha1.MaaSModelRef { return s.models[key] }

// AmbiguousAliases counts the aliases that several models of the tenant have. Such
// an alias means the first of them by namespace and name.
func (s *Snapshot) AmbiguousAliases() int { return s.ambiguous }

// AppendSelectReply appends the body of the answer to a selection request: a JSON
// object with the subscription the request is charged to, or with the refusal.
func (s *Snapshot) AppendSelectReply(dst []byte, c entitlement.Caller, r entitlement.Request) []byte {
	selection, err := s.index.Select(c, r)
	if err != nil {
		return AppendRefusal(dst, err)
	}
	return s.AppendSelection(dst, &selection)
}

// Minter picks subscriptions for new keys from the latest snapshot.
type Minter struct {
	Source Source
}

// Mint is [entitlement.Index.Mint], or [ErrUnavailable] while there is no snapshot.
func (m Minter) Mint(c entitlement.Caller, requested string) (*v1alpha1.MaaSSubscription, error) {
	s := m.Source.Snapshot()
	if s == nil {
		return nil, ErrUnavailable
	}
	return s.index.Mint(c, requested)
}

func keyOf(entry *v1alpha1.ModelSubscription) types.NamespacedName {
	return types.NamespacedName{Namespace: entry.Namespace, Name: entry.Name}
}
