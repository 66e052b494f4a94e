// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/desired/endpoint"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// claimGateway claims the Gateway for the tenant, so that no other one gets it. When
// another one has it, the scope says so; the default tenant goes on for a while all the
// same.
func (r *Reconciler) claimGateway(ctx context.Context, s *scope) error {
	want := aitenant.Claim(s.tenant, s.wanted)
	live, err := r.liveClaim(ctx, s, client.ObjectKeyFromObject(want))
	if err != nil {
		return err
	}
	if live == nil {
		if live, err = createOrRead(ctx, r, want, &corev1.ConfigMap{}); err != nil {
			return fmt.Errorf("create ConfigMap %s: %w", client.ObjectKeyFromObject(want), err)
		}
	}
	if s.holds(live) {
		return r.keepClaim(ctx, s, live)
	}
	s.unclaimed = refused(s.wanted, live)
	s.lookAgain(later) // Of what a tenant leaves behind that is gone, nothing tells.
	return nil
}

// liveClaim reads a claim; nil when nobody has it any more. One that is not the tenant's
// is looked at where the truth is: the cache may not know yet that its holder is gone.
func (r *Reconciler) liveClaim(ctx context.Context, s *scope, key types.NamespacedName) (*corev1.ConfigMap, error) {
	live, err := fetch.Optional(ctx, r.Client, key, &corev1.ConfigMap{})
	if live != nil && !s.holds(live) {
		live, err = fetch.Optional(ctx, r.APIReader, key, &corev1.ConfigMap{})
	}
	if err != nil {
		return nil, apperr.Unchecked(v1alpha1.ReasonGatewayClaimFailed, err)
	}
	if live == nil || s.holds(live) {
		return live, nil
	}
	abandoned, err := r.abandoned(ctx, s, live)
	if err != nil || !abandoned {
		return live, err
	}
	return nil, r.deleteClaim(ctx, live)
}

// holds tells whether a claim is the tenant's, and there to stay.
func (s *scope) holds(claim *corev1.ConfigMap) bool {
	return claim.DeletionTimestamp == nil && aitenant.OwnershipOf(claim, s.tenant) == aitenant.Ours
}

// keepClaim completes the tenant's own claim.
func (r *Reconciler) keepClaim(ctx context.Context, s *scope, live *corev1.ConfigMap) error {
	if aitenant.Claimed(live) != s.wanted {
		s.unclaimed = apperr.Userf(v1alpha1.ReasonGatewayClaimFailed,
			"ConfigMap %s should be the claim on Gateway %s but names another one: delete it.", client.ObjectKeyFromObject(live), s.wanted)
		return nil
	}
	marked := live.DeepCopy()
	aitenant.MarkClaim(marked, s.tenant)
	return patch(ctx, r, live, marked)
}

// abandoned tells whether the AITenant that a claim belongs to is gone. Only the API
// server knows.
func (r *Reconciler) abandoned(ctx context.Context, s *scope, claim *corev1.ConfigMap) (bool, error) {
	switch aitenant.OwnershipOf(claim, s.tenant) {
	case aitenant.Former:
		return true, nil
	case aitenant.Others:
	default:
		return false, nil
	}
	holder := aitenant.HolderOf(claim)
	if holder.Kind != "" || holder.AITenant.Namespace != s.tenant.Namespace {
		return false, nil
	}
	other, err := fetch.Optional(ctx, r.APIReader, holder.AITenant, &v1alpha1.AITenant{})
	if err != nil {
		return false, apperr.Unchecked(v1alpha1.ReasonGatewayClaimFailed, err)
	}
	return other == nil || (holder.UID != "" && holder.UID != other.UID), nil
}

// refused says why the tenant may not have a Gateway.
func refused(gateway types.NamespacedName, claim *corev1.ConfigMap) error {
	key, holder := client.ObjectKeyFromObject(claim), aitenant.HolderOf(claim)
	switch {
	case claim.DeletionTimestamp != nil:
		return apperr.Userf(v1alpha1.ReasonGatewayClaimFailed, "The claim on Gateway %s, ConfigMap %s, is being deleted.", gateway, key)
	case holder.AITenant.Name == "" || holder.Kind != "":
		return apperr.Userf(v1alpha1.ReasonGatewayClaimFailed, "ConfigMap %s should be the claim on Gateway %s but belongs to no AITenant: delete it.", key, gateway)
	default:
		return apperr.Userf(v1alpha1.ReasonGatewayClaimFailed,
			"Gateway %s is already used by AITenant %s: each AITenant needs a Gateway of its own, so name another one in spec.gateway.name.", gateway, holder.AITenant.Name)
	}
}

// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes,verbs=get

// releaseFormer gives up the Gateways the tenant had before, each once nothing leads
// from it to the tenant's maas-api any more: clients of the next tenant to get it would
// be served by this one.
func (r *Reconciler) releaseFormer(ctx context.Context, s *scope) error {
	return r.giveUp(ctx, s, func(gateway types.NamespacedName, route *gwapiv1.HTTPRoute) {
		s.stop(v1alpha1.ReasonTenantConfigNotReady, fmt.Sprintf(
			"HTTPRoute %s still leads from Gateway %s to the tenant's maas-api: see the conditions of MaasTenantConfig %s.", client.ObjectKeyFromObject(route), gateway, s.configKey()))
		s.lookAgain(later) // The config tells as a rule.
	}, s.wanted)
}

// releaseStray gives up the Gateways that a tenant on its way to another one asked for in
// between, without having got there: nobody else could have them.
func (r *Reconciler) releaseStray(ctx context.Context, s *scope) error {
	keep := []types.NamespacedName{s.wanted}
	if ref := s.tenant.Status.GatewayRef; ref != nil {
		keep = append(keep, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	}
	return r.giveUp(ctx, s, func(types.NamespacedName, *gwapiv1.HTTPRoute) {}, keep...)
}

// giveUp releases the Gateways but those to keep. It tells of those that stay because the
// route to the tenant's maas-api leads from them.
func (r *Reconciler) giveUp(ctx context.Context, s *scope, stays func(types.NamespacedName, *gwapiv1.HTTPRoute), keep ...types.NamespacedName) error {
	former, err := r.claims(ctx, s, keep...)
	if err != nil || len(former) == 0 {
		return err
	}
	route, err := r.readRoute(ctx, s)
	if err != nil {
		return err
	}
	var errs []error
	for _, claim := range former {
		if gateway := aitenant.Claimed(claim); leadsFrom(gateway, route) {
			stays(gateway, route)
			continue
		}
		errs = append(errs, r.release(ctx, claim))
	}
	return errors.Join(errs...)
}

// readRoute reads the route to the tenant's maas-api, past the cache; nil when there is
// none. A tenant that never had a Gateway has none.
func (r *Reconciler) readRoute(ctx context.Context, s *scope) (*gwapiv1.HTTPRoute, error) {
	if s.tenant.Status.GatewayRef == nil {
		return nil, nil
	}
	t, err := r.Settings.Tenancy.OfTenant(s.tenant)
	if err != nil {
		return nil, err
	}
	key := types.NamespacedName{Namespace: r.Settings.Tenant.InfraNamespace, Name: t.MaaSAPIRoute()}
	return fetch.Optional(ctx, r.APIReader, key, &gwapiv1.HTTPRoute{})
}

// leadsFrom tells whether a Gateway is a parent of the route, which may be nil.
func leadsFrom(gateway types.NamespacedName, route *gwapiv1.HTTPRoute) bool {
	if route == nil {
		return false
	}
	judged, _ := endpoint.PickRoute([]gwapiv1.HTTPRoute{*route}, gateway)
	return judged.Attached
}

// claims lists the tenant's claims on Gateways but those to keep.
func (r *Reconciler) claims(ctx context.Context, s *scope, keep ...types.NamespacedName) ([]*corev1.ConfigMap, error) {
	var list corev1.ConfigMapList
	if err := r.Client.List(ctx, &list, client.InNamespace(s.tenant.Namespace), client.MatchingLabels{v1alpha1.LabelGatewayClaim: "true"}); err != nil {
		return nil, fmt.Errorf("list claims on Gateways: %w", err)
	}
	var found []*corev1.ConfigMap
	for i := range list.Items {
		claim := &list.Items[i]
		owned := aitenant.OwnershipOf(claim, s.tenant)
		if (owned == aitenant.Ours || owned == aitenant.Former) && !slices.Contains(keep, aitenant.Claimed(claim)) {
			found = append(found, claim)
		}
	}
	return found, nil
}

// releaseGateways gives up every Gateway the tenant has a claim on.
func (r *Reconciler) releaseGateways(ctx context.Context, s *scope) error {
	claims, err := r.claims(ctx, s)
	errs := make([]error, 0, len(claims)+1)
	errs = append(errs, err)
	for _, claim := range claims {
		errs = append(errs, r.release(ctx, claim))
	}
	return errors.Join(errs...)
}

// release takes away the labels of the infrastructure namespace that only the Gateway of
// a claim needed, and then the claim, so that an interruption forgets none. A claim that
// names another Gateway than its own says nothing about labels.
func (r *Reconciler) release(ctx context.Context, claim *corev1.ConfigMap) error {
	gateway := aitenant.Claimed(claim)
	if claim.Name == tenancy.GatewayClaim(gateway.Namespace, gateway.Name) {
		if err := r.unlabelFor(ctx, gateway); err != nil {
			return err
		}
	}
	return r.deleteClaim(ctx, claim)
}

// deleteClaim deletes exactly the claim that was judged.
func (r *Reconciler) deleteClaim(ctx context.Context, claim *corev1.ConfigMap) error {
	uid, version := claim.UID, claim.ResourceVersion
	err := r.Client.Delete(ctx, claim, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete ConfigMap %s: %w", client.ObjectKeyFromObject(claim), err)
	}
	return nil
}
