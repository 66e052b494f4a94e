// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
)

// gather reads who else has the host or the target of the model, and whether what it
// holds of a former host was taken over.
func (r *Reconciler) gather(ctx context.Context, s *scope) (err error) {
	if s.claims, err = r.claimsOf(ctx, s); err != nil {
		return err
	}
	former, err := r.heldHost(ctx, s)
	if err != nil || former == "" || former == s.input.Provider.Host {
		return err
	}
	ready, err := r.handedOn(ctx, s, former)
	if s.held = !ready; s.held {
		s.lookAgain(handOnAgain)
	}
	return err
}

// claimsOf are the claims of all models that can be led to. Those that are on their way
// out, or replaced, count as leaving.
func (r *Reconciler) claimsOf(ctx context.Context, s *scope) ([]external.Claim, error) {
	var list v1alpha1.ExternalModelList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ExternalModels: %w", err)
	}
	hosts := r.hosts(ctx)
	claims := make([]external.Claim, 0, len(list.Items))
	for i := range list.Items {
		model := &list.Items[i]
		key := client.ObjectKeyFromObject(model)
		provider, err := external.ProviderOf(model)
		if err != nil || hosts.Refuse(model.Spec.Endpoint) != "" {
			continue // Its own status says so.
		}
		replacement, err := r.replacement(ctx, s, key)
		if err != nil {
			return nil, err
		}
		claims = append(claims, external.Claim{
			Model: key, Created: model.CreationTimestamp.Time, Provider: provider, Target: model.Spec.TargetModel,
			Leaving: model.DeletionTimestamp != nil || replacement == external.Replaced,
		})
	}
	return claims, nil
}

// heldHost is the host of the live ServiceEntry of the model; empty when it has none.
func (r *Reconciler) heldHost(ctx context.Context, s *scope) (string, error) {
	live, err := r.live(ctx, s, serviceEntries, s.ownName())
	if err != nil || live == nil || !s.owns(live) {
		return "", err
	}
	return external.HostOf(live), nil
}

func (s *scope) ownName() types.NamespacedName {
	return types.NamespacedName{Namespace: s.model.Namespace, Name: external.Name(s.model.Name)}
}

// owns tells whether an object was made for this very model.
func (s *scope) owns(object *unstructured.Unstructured) bool {
	owner := metav1.GetControllerOf(object)
	return owner != nil && owner.UID == s.model.UID
}

// live reads an object of a kind that may be missing; nil for none.
func (r *Reconciler) live(ctx context.Context, s *scope, api facts.API, key types.NamespacedName) (*unstructured.Unstructured, error) {
	if !s.served[api.CRD] {
		return nil, nil //nolint:nilnil // Documented: none.
	}
	return fetch.Optional(ctx, r.Client, key, empty(api))
}

// handedOnAll is for a model that goes: whatever it holds has to be taken over.
func (r *Reconciler) handedOnAll(ctx context.Context, s *scope) (bool, error) {
	var err error
	if s.claims, err = r.claimsOf(ctx, s); err != nil {
		return false, err
	}
	host, err := r.heldHost(ctx, s)
	if err != nil || host == "" {
		return err == nil, err
	}
	return r.handedOn(ctx, s, host)
}

// handedOn tells whether nobody depends any more on what this model holds of a host:
// there is nobody else, or the next one holds all of it.
func (r *Reconciler) handedOn(ctx context.Context, s *scope, host string) (bool, error) {
	others := s.others()
	heir, ok := external.Holder(host, others)
	if !ok || heir.Leaving {
		return true, nil
	}
	for _, port := range external.Ports(host, others) {
		carried, err := r.carried(ctx, s, heir.Model, host, port)
		if err != nil || !carried {
			return false, err
		}
	}
	return true, nil
}

// others are the claims of all models but this one.
func (s *scope) others() []external.Claim {
	key := s.key()
	return slices.DeleteFunc(slices.Clone(s.claims), func(c external.Claim) bool { return c.Model == key })
}

// carried tells whether the objects that a model holds of a host have a port of it.
func (r *Reconciler) carried(ctx context.Context, s *scope, holder types.NamespacedName, host string, port external.Port) (bool, error) {
	key := types.NamespacedName{Namespace: holder.Namespace, Name: external.Name(holder.Name)}
	entry, err := r.live(ctx, s, serviceEntries, key)
	if err != nil || !external.EntryCarries(entry, host, port) {
		return false, err
	}
	if !port.TLS {
		return true, nil
	}
	rule, err := r.live(ctx, s, destinationRules, key)
	return err == nil && external.RuleCarries(rule, host, port), err
}

// prune removes what is not wanted. What others may depend on stays until they have it
// themselves.
func (r *Reconciler) prune(ctx context.Context, s *scope) error {
	if s.facts.Homeless != nil {
		return nil //nolint:nilerr // The problem is a fact of the status: what is there stays.
	}
	invalid := s.facts.Invalid != nil // What works for it stays, unless the host is another's by now.
	if s.output.Route == nil && !invalid {
		if err := r.remove(ctx, s, httpRoutes.GroupKind.WithVersion("v1")); err != nil {
			return err
		}
	}
	if s.output.Service == nil && !invalid {
		if err := r.remove(ctx, s, corev1.SchemeGroupVersion.WithKind("Service")); err != nil {
			return err
		}
	}
	if free, err := r.free(ctx, s, invalid); err != nil || !free {
		return err
	}
	if s.output.DestinationRule == nil {
		if err := r.remove(ctx, s, destinationRules.GroupKind.WithVersion("v1")); err != nil {
			return err
		}
	}
	if s.output.ServiceEntry == nil {
		return r.remove(ctx, s, serviceEntries.GroupKind.WithVersion("v1"))
	}
	return nil
}

// free tells whether the model may remove what it holds of the host in the cluster. A
// model whose spec is not valid keeps it while nobody else has it.
func (r *Reconciler) free(ctx context.Context, s *scope, invalid bool) (bool, error) {
	host, err := r.heldHost(ctx, s)
	if err != nil || host == "" || s.output.ServiceEntry != nil {
		return err == nil && !invalid && !s.held, err
	}
	if _, others := external.Holder(host, s.others()); invalid && !others {
		return false, nil
	}
	ready, err := r.handedOn(ctx, s, host)
	if !ready {
		s.lookAgain(handOnAgain)
	}
	return ready, err
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
	result, err := r.Applier.Delete(ctx, kind, s.ownName())
	if err == nil && result.Outcome == apply.OptedOut {
		s.facts.OptedOut = append(s.facts.OptedOut, kind.Kind+" "+live.GetName())
	}
	return err
}
