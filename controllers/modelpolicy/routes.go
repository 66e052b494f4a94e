// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

const routeConflict = "Another MaaSModelRef has the policies of the same HTTPRoute, and a route can have only one policy of each kind. Give each model a route of its own."

// yield gives a route up to the model that owns it, once that has its policies:
// a route that was guarded stays so.
func (r *Reconciler) yield(ctx context.Context, s *scope) error {
	owner, err := r.routeOwner(ctx, s)
	if err != nil {
		return err
	}
	if owner.Model == s.ref.Name {
		s.route = conditions.True(v1alpha1.ReasonRouteUnique, "")
		return nil
	}
	s.route = conditions.False(v1alpha1.ReasonRouteConflict, routeConflict)
	s.stop(v1alpha1.ReasonRouteConflict, routeConflict)
	if owner.Governed() {
		guarded, err := r.guarded(ctx, types.NamespacedName{Namespace: s.ref.Namespace, Name: owner.Model})
		if err != nil || !guarded {
			return err // The owner's policies wake this model when they appear.
		}
	}
	err = errors.Join(
		r.remove(ctx, s, kuadrant.AuthPolicy, model.AuthPolicyName(s.ref.Name)),
		r.remove(ctx, s, kuadrant.TokenRateLimitPolicy, model.TokenRateLimitPolicyName(s.ref.Name)),
	)
	if err == nil {
		r.Metrics.ForgetPolicies(s.key())
	}
	return err
}

// routeOwner is the model that has the policies of the route.
func (r *Reconciler) routeOwner(ctx context.Context, s *scope) (entitlement.Claim, error) {
	mine := claim(s.input, s.ref)
	models, err := r.onRoute(ctx, s.ref)
	if err != nil {
		return mine, err
	}
	claims := []entitlement.Claim{mine}
	for i := range models {
		other := &models[i]
		if other.Name == s.ref.Name || other.DeletionTimestamp != nil {
			continue
		}
		in, err := r.contributors(ctx, other)
		if err != nil {
			return mine, err
		}
		claims = append(claims, claim(in, other))
	}
	return entitlement.OwnerOfRoute(claims), nil
}

// claim is what a model brings to its route: what would make its policies. An
// entry that cannot be enforced makes none.
func claim(in model.Input, ref *v1alpha1.MaaSModelRef) entitlement.Claim {
	gateway := types.NamespacedName{Namespace: ref.Status.HTTPRouteGatewayNamespace, Name: ref.Status.HTTPRouteGatewayName}
	c := entitlement.Claim{Model: in.Model.Name, Astray: gateway != in.Tenant.Gateway}
	for _, p := range in.AuthPolicies {
		c.Access = c.Access || p.Object.DeletionTimestamp == nil && model.AdmitTenant(in.Tenant, p.Tenant) == nil
	}
	for _, s := range in.Subscriptions {
		if c.Limits || s.Object.DeletionTimestamp != nil || model.AdmitTenant(in.Tenant, s.Tenant) != nil {
			continue
		}
		_, err := model.AdmitRates(s.Object, in.Model)
		c.Limits = err == nil
	}
	return c
}

// contributors reads the tenant of a model and what refers to it. A model
// whose tenant cannot be told has no contributors.
func (r *Reconciler) contributors(ctx context.Context, ref *v1alpha1.MaaSModelRef) (in model.Input, err error) {
	in.Model = client.ObjectKeyFromObject(ref)
	in.Tenant, err = r.Tenants.ForModel(ctx, ref)
	if _, user := apperr.AsUser(err); user {
		return in, nil
	}
	if err != nil {
		return in, err
	}
	if in.AuthPolicies, err = r.authPolicies(ctx, in.Model); err != nil {
		return in, err
	}
	in.Subscriptions, err = r.subscriptions(ctx, in.Model)
	return in, err
}

// guarded tells whether a model has both policies.
func (r *Reconciler) guarded(ctx context.Context, key types.NamespacedName) (bool, error) {
	for name, kind := range map[string]schema.GroupVersionKind{
		model.AuthPolicyName(key.Name):           kuadrant.AuthPolicy,
		model.TokenRateLimitPolicyName(key.Name): kuadrant.TokenRateLimitPolicy,
	} {
		policy, err := fetch.Optional(ctx, r.Client, types.NamespacedName{Namespace: key.Namespace, Name: name}, kuadrant.New(kind))
		if err != nil || policy == nil {
			return false, err
		}
	}
	return true, nil
}

// onRoute lists the models of the namespace that use the model's route.
func (r *Reconciler) onRoute(ctx context.Context, ref *v1alpha1.MaaSModelRef) ([]v1alpha1.MaaSModelRef, error) {
	var list v1alpha1.MaaSModelRefList
	if ref.Status.HTTPRouteName == "" {
		return nil, nil
	}
	route := index.Key(ref.Status.HTTPRouteNamespace, ref.Status.HTTPRouteName)
	if err := r.Client.List(ctx, &list, client.InNamespace(ref.Namespace), client.MatchingFields{index.ModelByRoute: route}); err != nil {
		return nil, fmt.Errorf("list models of route %s: %w", route, err)
	}
	return list.Items, nil
}
