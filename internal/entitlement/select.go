// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// Request is what a caller asks for.
type Request struct {
	// Model is <namespace>/<name> of the MaaSModelRef, its alias or its bare name.
	// Empty asks about the subscription alone.
	Model string
	// Subscription is the name the caller gives, see [ParseName]; empty for none.
	// It is ignored beside an API key.
	Subscription string
}

// Selection is the subscription that a request is charged to. Its owner is the
// caller.
type Selection struct {
	Subscription *v1alpha1.MaaSSubscription
	// Model is the MaaSModelRef's key; empty when none was asked for.
	Model types.NamespacedName
	// Key is the model-scoped key and ID its short form; empty without a model.
	Key, ID string
	// Identity tells which of the two the subscription's limits match.
	Identity v1alpha1.RateLimitIdentity
	// AccessAllowed tells whether an auth policy lets the caller use the model.
	// Without a model there is nothing to deny.
	AccessAllowed bool
}

// Select picks the subscription of a request, or refuses it with a [Refusal].
//
// An API key has the subscription it is bound to, and no other. A token has the
// one it asks for, or the only one that includes the model: with several the
// caller must choose, for neither priority nor the state of the others decides
// silently what is charged. Only those being deleted do not count.
//
// The answer to a name that does not exist is the answer to one that is not the
// caller's. What others own has no influence on any answer.
func (x *Index) Select(c Caller, r Request) (Selection, error) {
	if c.username == "" {
		return Selection{}, Refusal{Code: CodeBadRequest, Message: noUsername}
	}
	requested := r.Subscription
	if c.key {
		requested = c.subscription
	}
	if r.Model == "" {
		return x.selectAny(c, requested)
	}
	return x.selectFor(c, x.modelOf(r.Model), requested)
}

// selectAny picks a subscription whatever the model: it must be good for a key.
func (x *Index) selectAny(c Caller, requested string) (Selection, error) {
	s, err := x.pick(c, requested, x.all)
	if err != nil {
		return Selection{}, err
	}
	if s.unbindable != nil {
		return Selection{}, s.unbindable
	}
	return Selection{Subscription: s.object, Identity: DecideIdentity(s.object, false), AccessAllowed: true}, nil
}

// selectFor picks a subscription for a model, which is nil when nothing knows it.
func (x *Index) selectFor(c Caller, m *model, requested string) (Selection, error) {
	if m == nil {
		m = &model{}
	}
	s, err := x.pick(c, requested, m.members)
	if err != nil {
		return Selection{}, err
	}
	e := m.entryOf(s.number)
	if e == nil {
		return Selection{}, Refusal{Code: CodeModelNotInSubscription, Message: modelNotIncluded}
	}
	if e.idle != nil {
		return Selection{}, e.idle
	}
	return Selection{
		Subscription: s.object, Model: m.key, Key: e.key, ID: e.id,
		Identity: DecideIdentity(s.object, false), AccessAllowed: x.allowed(c, m),
	}, nil
}

// pick returns the subscription that the caller asks for, or else the only one
// of the caller's among the given ones.
func (x *Index) pick(c Caller, requested string, among []int32) (*subscription, error) {
	if requested != "" {
		return x.named(c, requested)
	}
	var first *subscription
	more := false
	x.owners.each(c, among, func(number int32) bool {
		s := x.subscriptions[number]
		switch {
		case s.object.DeletionTimestamp != nil || s == first:
		case first == nil:
			first = s
		default:
			more = true
		}
		return !more
	})
	switch {
	case first == nil:
		return nil, Refusal{Code: CodeNotFound, Message: noSubscription}
	case more:
		return nil, Refusal{Code: CodeMultipleSubscriptions, Message: several}
	default:
		return first, nil
	}
}

// named returns the caller's subscription of a name. A bare name finds what the
// caller owns in any namespace of the tenant.
func (x *Index) named(c Caller, requested string) (*subscription, error) {
	key, err := ParseName(requested)
	if err != nil {
		return nil, err
	}
	if key.Namespace != "" {
		number, exists := x.byKey[key]
		if !exists || !x.owners.holds(c, number) {
			return nil, Refusal{Code: CodeAccessDenied, Message: notYours}
		}
		return x.subscriptions[number], nil
	}
	var found *subscription
	for _, number := range x.byName[key.Name] {
		switch {
		case !x.owners.holds(c, number):
		case found != nil:
			return nil, Refusal{Code: CodeMultipleSubscriptions, Message: ambiguous}
		default:
			found = x.subscriptions[number]
		}
	}
	if found == nil {
		return nil, Refusal{Code: CodeAccessDenied, Message: notYours}
	}
	return found, nil
}
