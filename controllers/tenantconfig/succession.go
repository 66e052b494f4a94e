// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/internal/render"
)

// successionDelay is how often it is looked whether the AuthPolicies of models are in
// force: those are not watched here.
const successionDelay = 2 * time.Second

// succeed tells whether the AuthPolicy of the Gateway has to wait. Of two policies on
// one Gateway Kuadrant enforces the newer: ours, which admits nobody, would end at once
// what the one of an earlier release admits, to models and to maas-api. So that comes
// after their own AuthPolicies are in force, and until then the Gateway is guarded as
// it was. Nor is that of the tenant's last Gateway turned to this one before.
func (r *Reconciler) succeed(ctx context.Context, s *scope) error {
	gateway := s.input.Tenant.Gateway
	key := types.NamespacedName{Namespace: gateway.Namespace, Name: s.input.Tenant.GatewayDefaultAuth()}
	ours, err := fetch.Optional(ctx, r.Client, key, kuadrant.New(kuadrant.AuthPolicy))
	if err != nil || ours != nil && kuadrant.TargetGateway(ours) == gateway.Name {
		return err
	}
	for _, key := range r.Tenants.Settings.FormerGatewayAuth(gateway) {
		policy, err := fetch.Optional(ctx, r.Client, key, kuadrant.New(kuadrant.AuthPolicy))
		if err != nil {
			return err
		}
		if policy == nil || !former(policy) || kuadrant.TargetGateway(policy) != gateway.Name || !kuadrant.InForce(policy) {
			continue
		}
		ready, err := r.replaceable(ctx, s)
		if err != nil || ready {
			return err
		}
		s.predecessor = nameOf(policy)
		s.lookAgain(successionDelay)
	}
	return nil
}

// unheld leaves out the AuthPolicy of the Gateway while it has to wait.
func (s *scope) unheld(requests []render.Request) []render.Request {
	if s.predecessor == "" {
		return requests
	}
	return slices.DeleteFunc(slices.Clone(requests), func(r render.Request) bool { return r.ID == access.GatewayAuthTemplate })
}

// replaceable tells whether the AuthPolicies of maas-api and of the models behind the
// Gateway are in force, or will not be for a reason that lasts. A model that names no
// Gateway may be behind it: its route was not looked for yet, or by a release that did
// not say so.
func (r *Reconciler) replaceable(ctx context.Context, s *scope) (bool, error) {
	key := types.NamespacedName{Namespace: r.Settings.InfraNamespace, Name: s.input.Tenant.MaaSAPIAuthPolicy()}
	policy, err := fetch.Optional(ctx, r.Client, key, kuadrant.New(kuadrant.AuthPolicy))
	if err != nil || kuadrant.ReadinessOf(policy, r.Clock.Now()).Waiting {
		return false, err
	}
	var models v1alpha1.MaaSModelRefList
	if err := r.Client.List(ctx, &models, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list the models behind Gateway %s: %w", s.input.Tenant.Gateway, err)
	}
	for i := range models.Items {
		m := &models.Items[i]
		behind := types.NamespacedName{Namespace: m.Status.HTTPRouteGatewayNamespace, Name: m.Status.HTTPRouteGatewayName}
		if m.DeletionTimestamp != nil || behind != s.input.Tenant.Gateway && behind != (types.NamespacedName{}) {
			continue
		}
		if meta.FindStatusCondition(m.Status.Conditions, string(v1alpha1.ConditionPoliciesApplied)) == nil {
			return false, nil // Nobody has looked at it yet.
		}
		key := types.NamespacedName{Namespace: m.Namespace, Name: model.AuthPolicyName(m.Name)}
		policy, err := fetch.Optional(ctx, r.Client, key, kuadrant.New(kuadrant.AuthPolicy))
		if err != nil || policy != nil && kuadrant.ReadinessOf(policy, r.Clock.Now()).Waiting {
			return false, err
		}
	}
	return true, nil
}

// usurped finds out which policies of others Kuadrant enforces on the Gateway in the
// place of the operator's, and which limits of others on the route to maas-api, where
// those of the Gateway are meant to hold. A policy of the Gateway may be overridden, but
// by policies of other routes.
func (r *Reconciler) usurped(ctx context.Context, s *scope) (err error) {
	for _, object := range s.objects {
		ref := apply.InventoryOf(object)[0]
		gateway := kuadrant.TargetGateway(object)
		if gateway == "" {
			continue
		}
		if kuadrant.Overridden(s.live[ref]) {
			s.usurpers[ref], err = r.inForce(ctx, object.GroupVersionKind(), object.GetNamespace(), func(other *unstructured.Unstructured) bool {
				return other.GetName() != object.GetName() && kuadrant.TargetGateway(other) == gateway
			})
		}
		if err == nil && object.GroupVersionKind() == kuadrant.TokenRateLimitPolicy {
			s.limiters[ref], err = r.inForce(ctx, object.GroupVersionKind(), r.Settings.InfraNamespace, func(other *unstructured.Unstructured) bool {
				return kuadrant.TargetRoute(other) == s.input.Tenant.MaaSAPIRoute()
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inForce are the policies of a kind in a namespace that Kuadrant enforces, of those
// that are looked for, by name.
func (r *Reconciler) inForce(
	ctx context.Context, kind schema.GroupVersionKind, namespace string, wanted func(*unstructured.Unstructured) bool,
) ([]*unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	if err := r.Client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list policies in namespace %s: %w", namespace, err)
	}
	var found []*unstructured.Unstructured
	for i := range list.Items {
		if other := &list.Items[i]; wanted(other) && kuadrant.InForce(other) && other.GetDeletionTimestamp() == nil {
			found = append(found, other)
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return found, nil
}
