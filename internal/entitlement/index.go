// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// Facts are what decisions about callers are made of. Each object is in them
// once; their order does not matter.
type Facts struct {
	Models        []Tenanted[*v1alpha1.MaaSModelRef]
	Subscriptions []Tenanted[*v1alpha1.MaaSSubscription]
	AuthPolicies  []Tenanted[*v1alpha1.MaaSAuthPolicy]
}

// Index answers for one tenant, or for a part of it such as a single model. It
// never changes, so any number of goroutines may use it; to follow the cluster
// make a new one. It holds the objects it was made of: nobody may modify them.
//
// An answer takes time by the caller's groups and by what the caller owns, not
// by the size of the tenant.
type Index struct {
	// subscriptions are in the order of their rank; their place is their number.
	subscriptions []*subscription
	// all are the numbers of the subscriptions.
	all    []int32
	byKey  map[types.NamespacedName]int32
	byName map[string][]int32
	owners postings

	models map[types.NamespacedName]*model
	// aliases are other names of models.
	aliases map[string]*model
	// subjects find auth policies.
	subjects postings
}

type subscription struct {
	number  int32
	key     types.NamespacedName
	rank    Rank
	object  *v1alpha1.MaaSSubscription
	entries []*entry
	// unserving and unbindable say why it serves no request and no new key.
	unserving, unbindable error
}

// model is one that exists, or that a subscription names.
type model struct {
	key types.NamespacedName
	// object is nil when the tenant has no such model.
	object *v1alpha1.MaaSModelRef
	// members are the numbers of the subscriptions that include it, entries
	// theirs for the model, policies the numbers of the auth policies that name
	// it; all ascending.
	members  []int32
	entries  []*entry
	policies []int32
}

// entry is a subscription's first one for a model.
type entry struct {
	subscription *subscription
	model        *model
	// ref is its place in spec.modelRefs.
	ref int
	// key and id are the identifiers that limits match.
	key, id string
	// idle says why it serves no request.
	idle error
}

// NewIndex makes the index of a tenant. What belongs to another tenant, or to
// none, counts for nobody: such a subscription or auth policy does not exist,
// and such a model is like one that does not.
func NewIndex(tenant string, facts Facts) *Index {
	x := &Index{
		byKey: map[types.NamespacedName]int32{}, byName: map[string][]int32{}, owners: newPostings(),
		models: map[types.NamespacedName]*model{}, aliases: map[string]*model{}, subjects: newPostings(),
	}
	x.addModels(tenant, facts.Models)
	for _, s := range facts.Subscriptions {
		if counts(s.Object, s.Tenant, tenant) {
			x.subscriptions = append(x.subscriptions, newSubscription(s.Object))
		}
	}
	slices.SortFunc(x.subscriptions, func(a, b *subscription) int { return a.rank.Compare(b.rank) })
	for i, s := range x.subscriptions {
		s.number = int32(i)
		x.addSubscription(s)
	}
	x.addPolicies(tenant, facts.AuthPolicies)
	return x
}

// addModels adds the models that exist. Where several have a name the first by
// key has it: aliases before names, and <namespace>/<name> before both.
func (x *Index) addModels(tenant string, models []Tenanted[*v1alpha1.MaaSModelRef]) {
	var known []*model
	for _, m := range models {
		if counts(m.Object, m.Tenant, tenant) {
			added := x.model(types.NamespacedName{Namespace: m.Object.Namespace, Name: m.Object.Name})
			added.object = m.Object
			known = append(known, added)
		}
	}
	slices.SortFunc(known, func(a, b *model) int {
		return cmp.Or(cmp.Compare(a.key.Namespace, b.key.Namespace), cmp.Compare(a.key.Name, b.key.Name))
	})
	for _, m := range known {
		x.alias(m.object.Status.ResolvedModelAlias, m)
	}
	for _, m := range known {
		x.alias(m.key.Name, m)
	}
}

func (x *Index) alias(name string, m *model) {
	if _, taken := x.aliases[name]; name != "" && !taken {
		x.aliases[name] = m
	}
}

// model returns the model of a key and adds it when it is new.
func (x *Index) model(key types.NamespacedName) *model {
	m := x.models[key]
	if m == nil {
		m = &model{key: key}
		x.models[key] = m
	}
	return m
}

func newSubscription(s *v1alpha1.MaaSSubscription) *subscription {
	return &subscription{
		key: types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, rank: RankOf(s), object: s,
		unserving: unserving(s), unbindable: unbindable(s),
	}
}

func (x *Index) addSubscription(s *subscription) {
	x.all = append(x.all, s.number)
	x.byKey[s.key] = s.number
	x.byName[s.key.Name] = append(x.byName[s.key.Name], s.number)
	x.owners.add(s.number, s.object.Spec.Owner.Users, s.object.Spec.Owner.Groups)
	for i := range s.object.Spec.ModelRefs {
		m := x.model(keyOf(&s.object.Spec.ModelRefs[i]))
		if last := len(m.members) - 1; last >= 0 && m.members[last] == s.number {
			// The operator enforces none of several entries for a model.
			if e := m.entries[last]; e.idle == nil {
				e.idle = unhealthy(s.object, entryLeftOut)
			}
			continue
		}
		e := &entry{subscription: s, model: m, ref: i, key: ModelScopedKey(s.key, m.key), idle: idle(s.object, i, m.object)}
		e.id = ShortID(e.key)
		s.entries = append(s.entries, e)
		m.members, m.entries = append(m.members, s.number), append(m.entries, e)
	}
}

func (x *Index) addPolicies(tenant string, policies []Tenanted[*v1alpha1.MaaSAuthPolicy]) {
	for i, p := range policies {
		if !counts(p.Object, p.Tenant, tenant) || p.Object.DeletionTimestamp != nil {
			continue
		}
		number := int32(i)
		x.subjects.add(number, p.Object.Spec.Subjects.Users, p.Object.Spec.Subjects.Groups)
		for _, ref := range p.Object.Spec.ModelRefs {
			// A model that no subscription names cannot be called.
			if m := x.models[types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}]; m != nil {
				m.policies = append(m.policies, number)
			}
		}
	}
}

// modelOf finds a model by <namespace>/<name>, by its alias, which may contain a
// slash, or by its bare name; nil when there is none.
func (x *Index) modelOf(name string) *model {
	aliased := x.aliases[name]
	if namespace, bare, qualified := strings.Cut(name, "/"); qualified {
		m := x.models[types.NamespacedName{Namespace: namespace, Name: bare}]
		if m != nil && (m.object != nil || aliased == nil) {
			return m // One that does not exist takes no alias away.
		}
	}
	return aliased
}

// allowed tells whether an auth policy lets the caller use the model.
func (x *Index) allowed(c Caller, m *model) bool { return x.subjects.any(c, m.policies) }

// entryOf returns the subscription's entry for the model, or nil.
func (m *model) entryOf(number int32) *entry {
	if i, found := slices.BinarySearch(m.members, number); found {
		return m.entries[i]
	}
	return nil
}
