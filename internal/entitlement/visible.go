// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// Visible is a subscription that a caller may see, with those of its models that
// an auth policy lets the caller use.
type Visible struct {
	Subscription *v1alpha1.MaaSSubscription
	// Models are in the order of spec.modelRefs, at least one.
	Models []VisibleModel
}

// VisibleModel is one model of a visible subscription.
type VisibleModel struct {
	Key types.NamespacedName
	// Object is nil when the tenant has no such model.
	Object *v1alpha1.MaaSModelRef
	// Entry is the subscription's for the model.
	Entry *v1alpha1.ModelSubscription
	// Usable tells whether [Index.Select] admits the caller to the model through
	// this subscription.
	Usable bool
}

// Visible lists what a caller may see, sorted by name and namespace: the
// subscriptions that [Index.Select] would admit for some request. An API key
// shows the one it is bound to, a token the requested one, or else all that the
// caller owns. A subscription that is named but serves no request is refused
// with a [Refusal], as is one that is not the caller's.
func (x *Index) Visible(c Caller, requested string) ([]Visible, error) {
	if c.username == "" {
		return nil, Refusal{Code: CodeBadRequest, Message: noUsername}
	}
	if c.key {
		requested = c.subscription
	}
	var owned []*subscription
	if requested != "" {
		s, err := x.named(c, requested)
		if err != nil {
			return nil, err
		}
		if s.unserving != nil {
			return nil, s.unserving
		}
		owned = append(owned, s)
	} else {
		owned = x.serving(c)
	}
	var out []Visible
	for _, s := range owned {
		if models := x.visibleModels(c, s); len(models) > 0 {
			out = append(out, Visible{Subscription: s.object, Models: models})
		}
	}
	return out, nil
}

// serving returns those of the caller's subscriptions that serve requests.
func (x *Index) serving(c Caller) []*subscription {
	var out []*subscription
	for i := range c.subjects() {
		for _, number := range x.owners.of(c, i) {
			if s := x.subscriptions[number]; s.unserving == nil {
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b *subscription) int {
		return cmp.Or(cmp.Compare(a.key.Name, b.key.Name), cmp.Compare(a.key.Namespace, b.key.Namespace))
	})
	return slices.Compact(out)
}

func (x *Index) visibleModels(c Caller, s *subscription) []VisibleModel {
	var out []VisibleModel
	for _, e := range s.entries {
		if x.allowed(c, e.model) {
			out = append(out, VisibleModel{
				Key: e.model.key, Object: e.model.object, Entry: &s.object.Spec.ModelRefs[e.ref], Usable: e.idle == nil,
			})
		}
	}
	return out
}
