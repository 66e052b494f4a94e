// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
)

// gather reads who else has the host or the target of the model.
func (r *Reconciler) gather(ctx context.Context, s *scope) (err error) {
	s.claims, err = r.claimsOf(ctx, s.subject)
	return err
}

// claimsOf are the claims of all models that can be led to. Those that are on their way
// out count as leaving. The model at hand counts as it was read first: the cache may know
// a newer one by now, whose own turn comes.
func (r *Reconciler) claimsOf(ctx context.Context, mine subject) ([]external.Claim, error) {
	subjects, err := r.subjects(ctx)
	if err != nil {
		return nil, err
	}
	key := client.ObjectKeyFromObject(mine.model())
	isMine := func(other subject) bool { return client.ObjectKeyFromObject(other.model()) == key }
	subjects = append(slices.DeleteFunc(subjects, isMine), mine)
	claims := make([]external.Claim, 0, len(subjects))
	for _, of := range subjects {
		model := of.model()
		if of.acts && of.untranslated != nil {
			continue // Its own status says so.
		}
		refused, err := r.refused(ctx, model)
		if err != nil {
			return nil, err
		}
		provider, err := external.ProviderOf(model)
		if err != nil || refused != "" {
			continue // Here, too.
		}
		claims = append(claims, external.Claim{
			Model: client.ObjectKeyFromObject(model), Created: of.created(), Provider: provider, Target: model.Spec.TargetModel,
			Leaving: model.DeletionTimestamp != nil,
		})
	}
	return claims, nil
}

func (s *scope) ownName() types.NamespacedName {
	return types.NamespacedName{Namespace: s.model.Namespace, Name: external.Name(s.model.Name)}
}

// live reads an object of a kind that may be missing; nil for none.
func (r *Reconciler) live(ctx context.Context, s *scope, api facts.API, key types.NamespacedName) (*unstructured.Unstructured, error) {
	if !s.served[api.CRD] {
		return nil, nil //nolint:nilnil // Documented: none.
	}
	return fetch.Optional(ctx, r.Client, key, empty(api))
}

// others are the claims of all models but this one.
func (s *scope) others() []external.Claim {
	key := s.key()
	return slices.DeleteFunc(slices.Clone(s.claims), func(c external.Claim) bool { return c.Model == key })
}

// prune removes what is not wanted. What others may depend on stays until they have it
// themselves.
func (r *Reconciler) prune(ctx context.Context, s *scope) error {
	if s.facts.Homeless != nil && s.wanted() {
		return nil // What is there stays.
	}
	if s.output.Route == nil && !s.broken() {
		if err := r.remove(ctx, s, httpRoutes.GroupKind.WithVersion("v1")); err != nil {
			return err
		}
	}
	if s.output.Service == nil && !s.broken() {
		if err := r.remove(ctx, s, corev1.SchemeGroupVersion.WithKind("Service")); err != nil {
			return err
		}
	}
	return r.release(ctx, s)
}

// broken tells that what works for the model stays, although its spec is not valid. What
// leads to a host that is refused does not.
func (s *scope) broken() bool {
	return s.facts.Invalid != nil && s.facts.Refused == "" && !s.elsewhere()
}

// remove deletes the model's object of a kind, if there is one that was made for it.
func (r *Reconciler) remove(ctx context.Context, s *scope, kind schema.GroupVersionKind) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	if api, optional := apiOf(object); optional && !s.served[api.CRD] {
		return nil
	}
	live, err := fetch.Optional(ctx, r.Client, s.ownName(), object)
	if err != nil || live == nil || !s.owns(live) {
		return err
	}
	return r.delete(ctx, s, kind, live.GetName())
}

// delete deletes an object that was made for the model.
func (r *Reconciler) delete(ctx context.Context, s *scope, kind schema.GroupVersionKind, name string) error {
	result, err := r.Applier.Delete(ctx, kind, types.NamespacedName{Namespace: s.model.Namespace, Name: name})
	if err == nil && result.Outcome == apply.OptedOut {
		s.facts.OptedOut = append(s.facts.OptedOut, kind.Kind+" "+name)
	}
	return err
}
