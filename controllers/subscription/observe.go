// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// scope holds what one reconcile knows.
type scope struct {
	subscription, before *v1alpha1.MaaSSubscription
	// items are the verdicts on the models, in the spec's order.
	items []item
}

// item is the verdict on one model of the subscription.
type item struct {
	model types.NamespacedName
	// refused means that the entry is left out of the model's limits until
	// somebody edits something; unserved that the model has no route; waiting
	// that the gateway has not caught up yet.
	refused, unserved, waiting, ready bool
	reason                            v1alpha1.ConditionReason
	message                           string
}

func (s *scope) key() types.NamespacedName {
	return types.NamespacedName{Namespace: s.subscription.Namespace, Name: s.subscription.Name}
}

// observe decides the identity, if that is still open, and judges every
// distinct model.
func (r *Reconciler) observe(ctx context.Context, s *scope) error {
	tenant, err := r.Tenants.Member(ctx, s.subscription.Namespace)
	if err != nil {
		return err
	}
	models := index.SubscribedModels(s.subscription)
	policies := make([]*unstructured.Unstructured, len(models))
	listed := false
	for n, key := range models {
		if policies[n], err = r.policy(ctx, key); err != nil {
			return err
		}
		listed = listed || (policies[n] != nil && entitlement.Listed(policies[n].GetAnnotations()[v1alpha1.AnnotationSubscriptions], s.key()))
	}
	s.subscription.Status.RateLimitIdentity = entitlement.DecideIdentity(s.subscription, listed)
	for n, key := range models {
		i, err := r.observeModel(ctx, s, tenant, key, policies[n])
		if err != nil {
			return err
		}
		s.items = append(s.items, i)
	}
	return nil
}

func (r *Reconciler) policy(ctx context.Context, key types.NamespacedName) (*unstructured.Unstructured, error) {
	name := types.NamespacedName{Namespace: key.Namespace, Name: model.TokenRateLimitPolicyName(key.Name)}
	return fetch.Optional(ctx, r.Client, name, kuadrant.New(kuadrant.TokenRateLimitPolicy))
}

func (r *Reconciler) observeModel(ctx context.Context, s *scope, tenant string, key types.NamespacedName, policy *unstructured.Unstructured) (item, error) {
	i := item{model: key}
	ref, err := fetch.Optional(ctx, r.Client, key, &v1alpha1.MaaSModelRef{})
	if err != nil {
		return i, err
	}
	if ref == nil || ref.DeletionTimestamp != nil {
		return i.refuse(v1alpha1.ReasonNotFound, fmt.Sprintf("MaaSModelRef %s does not exist.", key)), nil
	}
	set, err := r.admit(ctx, s.subscription, tenant, ref)
	if user, ok := apperr.AsUser(err); ok {
		return i.refuse(v1alpha1.ConditionReason(user.Reason), user.Message), nil
	}
	if err != nil {
		return i, err
	}
	if ref.Status.HTTPRouteName == "" {
		i.unserved = true
		return i.because(v1alpha1.ReasonBackendNotReady, "The model has no HTTPRoute yet."), nil
	}
	return s.judge(i, policy, set), nil
}

// admit tells whether the entry for a model can be enforced.
func (r *Reconciler) admit(ctx context.Context, s *v1alpha1.MaaSSubscription, tenant string, ref *v1alpha1.MaaSModelRef) (entitlement.RateSet, error) {
	owner, err := r.Tenants.ForModel(ctx, ref)
	if err != nil {
		return entitlement.RateSet{}, err
	}
	if err := model.AdmitTenant(owner, tenant); err != nil {
		return entitlement.RateSet{}, err
	}
	return model.AdmitRates(s, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
}

// judge tells whether the live policy enforces the entry. Once it did, the
// entry stays ready while the policy holds its clause, even though others'
// changes give the policy new generations.
func (s *scope) judge(i item, policy *unstructured.Unstructured, set entitlement.RateSet) item {
	if policy != nil && entitlement.Listed(policy.GetAnnotations()[v1alpha1.AnnotationExcludedSubscriptions], s.key()) {
		return i.refuse(v1alpha1.ReasonTooManyMembers, "Too many subscriptions of the model share these rates and this is one of the newest: choose other rates.")
	}
	if policy != nil && !model.Covered(kuadrant.Limits(policy), s.subscription, i.model, set) {
		i.waiting = true
		return i.because(v1alpha1.ReasonNotFound, "The generated TokenRateLimitPolicy does not hold these limits yet.")
	}
	readiness := kuadrant.ReadinessOf(policy)
	i.ready, i.waiting = readiness.Enforced, readiness.Waiting
	if policy != nil && readiness.Waiting && s.wasReady(i.model) {
		i.ready, i.waiting = true, false
		return i.because(v1alpha1.ReasonAcceptedEnforced, "")
	}
	return i.because(readiness.Reason, readiness.Message)
}

// wasReady tells whether this generation of the subscription was enforced for
// the model before.
func (s *scope) wasReady(key types.NamespacedName) bool {
	status := s.before.Status
	return status.ObservedGeneration == s.subscription.Generation &&
		slices.ContainsFunc(status.TokenRateLimitStatuses, func(t v1alpha1.TokenRateLimitStatus) bool {
			return t.Ready && t.Model == key.Name && t.Namespace == key.Namespace
		})
}

func (i item) refuse(reason v1alpha1.ConditionReason, message string) item {
	i.refused = true
	return i.because(reason, message)
}

func (i item) because(reason v1alpha1.ConditionReason, message string) item {
	i.reason, i.message = reason, conditions.Truncate(message)
	return i
}
