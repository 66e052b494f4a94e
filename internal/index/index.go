// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package index owns the field indexes of the manager's cache: their names, what
// they extract, and their registration, once, for all controllers. It must not
// list or decide anything.
//
// A key that names an object of another namespace is written "<namespace>/<name>";
// the cache knows the namespace of the indexed object itself, so every lookup can be
// combined with client.InNamespace.
package index

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// Names of the indexes, for client.MatchingFields. They look like field paths but
// are only names.
const (
	// ModelByBackend finds the MaaSModelRefs that publish a backend, by BackendKey.
	// Combine it with client.InNamespace: backends live in the model's namespace.
	ModelByBackend = "maas.modelRef.backend"
	// ModelByRoute finds the MaaSModelRefs whose status names an HTTPRoute, by Key.
	// Those without a route are found under Key(<their own namespace>, "").
	ModelByRoute = "maas.modelRef.route"
	// ModelByAlias finds the MaaSModelRefs with a model alias in their status.
	ModelByAlias = "maas.modelRef.alias"
	// SubscriptionByModel finds the MaaSSubscriptions that refer to a model, by Key.
	SubscriptionByModel = "maas.subscription.model"
	// SubscriptionByPriority finds the MaaSSubscriptions of a priority that are not
	// being deleted, by PriorityKey. Combine it with client.InNamespace: priorities are
	// compared within a namespace.
	SubscriptionByPriority = "maas.subscription.priority"
	// AuthPolicyByModel finds the MaaSAuthPolicies that refer to a model, by Key.
	AuthPolicyByModel = "maas.authPolicy.model"
)

// Key is the value under which an object of any namespace is indexed.
func Key(namespace, name string) string { return namespace + "/" + name }

// BackendKey is the value under which a backend is indexed.
func BackendKey(kind v1alpha1.BackendKind, name string) string { return string(kind) + "/" + name }

// PriorityKey is the value under which a subscription's priority is indexed.
func PriorityKey(priority int32) string { return strconv.Itoa(int(priority)) }

// Index is one field index, as client.FieldIndexer and the fake client take it.
type Index struct {
	Object  client.Object
	Name    string
	Extract client.IndexerFunc
}

// All lists every index. The values are fresh on each call.
func All() []Index {
	return []Index{
		{&v1alpha1.MaaSModelRef{}, ModelByBackend, of(func(m *v1alpha1.MaaSModelRef) []string {
			return nonEmpty(m.Spec.ModelRef.Name, BackendKey(m.Spec.ModelRef.Kind, m.Spec.ModelRef.Name))
		})},
		{&v1alpha1.MaaSModelRef{}, ModelByRoute, of(func(m *v1alpha1.MaaSModelRef) []string {
			if m.Status.HTTPRouteName == "" {
				return []string{Key(m.Namespace, "")}
			}
			return []string{Key(m.Status.HTTPRouteNamespace, m.Status.HTTPRouteName)}
		})},
		{&v1alpha1.MaaSModelRef{}, ModelByAlias, of(func(m *v1alpha1.MaaSModelRef) []string {
			return nonEmpty(m.Status.ResolvedModelAlias, m.Status.ResolvedModelAlias)
		})},
		{&v1alpha1.MaaSSubscription{}, SubscriptionByModel, of(func(s *v1alpha1.MaaSSubscription) []string {
			return keys(SubscribedModels(s))
		})},
		{&v1alpha1.MaaSSubscription{}, SubscriptionByPriority, of(func(s *v1alpha1.MaaSSubscription) []string {
			if s.DeletionTimestamp != nil {
				return nil
			}
			return []string{PriorityKey(s.Spec.Priority)}
		})},
		{&v1alpha1.MaaSAuthPolicy{}, AuthPolicyByModel, of(func(p *v1alpha1.MaaSAuthPolicy) []string {
			return keys(GrantedModels(p))
		})},
	}
}

// Register adds all indexes to the cache. Call it once, before the manager starts.
func Register(ctx context.Context, indexer client.FieldIndexer) error {
	var errs []error
	for _, i := range All() {
		if err := indexer.IndexField(ctx, i.Object, i.Name, i.Extract); err != nil {
			errs = append(errs, fmt.Errorf("index %T by %s: %w", i.Object, i.Name, err))
		}
	}
	return errors.Join(errs...)
}

// SubscribedModels are the distinct models a subscription refers to, in its order.
func SubscribedModels(s *v1alpha1.MaaSSubscription) []types.NamespacedName {
	return distinct(s.Spec.ModelRefs, func(m v1alpha1.ModelSubscription) types.NamespacedName {
		return types.NamespacedName{Namespace: m.Namespace, Name: m.Name}
	})
}

// GrantedModels are the distinct models an auth policy refers to, in its order.
func GrantedModels(p *v1alpha1.MaaSAuthPolicy) []types.NamespacedName {
	return distinct(p.Spec.ModelRefs, func(m v1alpha1.ModelReference) types.NamespacedName {
		return types.NamespacedName{Namespace: m.Namespace, Name: m.Name}
	})
}

func of[T client.Object](extract func(T) []string) client.IndexerFunc {
	return func(obj client.Object) []string {
		typed, ok := obj.(T)
		if !ok {
			return nil
		}
		return extract(typed)
	}
}

func nonEmpty(name, key string) []string {
	if name == "" {
		return nil
	}
	return []string{key}
}

func distinct[E any](entries []E, key func(E) types.NamespacedName) []types.NamespacedName {
	seen := sets.New[types.NamespacedName]()
	out := make([]types.NamespacedName, 0, len(entries))
	for _, entry := range entries {
		if k := key(entry); !seen.Has(k) {
			seen.Insert(k)
			out = append(out, k)
		}
	}
	return out
}

func keys(names []types.NamespacedName) []string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, Key(n.Namespace, n.Name))
	}
	return out
}
