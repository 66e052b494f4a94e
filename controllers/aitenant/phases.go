// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/finalizer"
)

const (
	// soon is when to look again for what is there but not seen everywhere yet.
	soon = time.Second
	// later is when to look again for what nothing watched tells of.
	later = 30 * time.Second
)

// phase is one step of setting a tenant up.
type phase struct {
	do func(context.Context, *scope) error
	// reason and trouble are what Ready says when the step fails and the user is not to
	// blame; without them it says what it said before.
	reason  v1alpha1.ConditionReason
	trouble string
}

// phases are the steps in their order.
func (r *Reconciler) phases(s *scope) []phase {
	start := []phase{
		{do: r.ensureFinalizer},
		{r.migrateLegacy, v1alpha1.ReasonLegacyTenantMigrationFailed, "The Tenant of an earlier release could not be migrated; see the controller's log."},
		{r.findGateway, v1alpha1.ReasonGatewayCheckFailed, "The Gateway could not be read; see the controller's log."},
		{r.claimGateway, v1alpha1.ReasonGatewayClaimFailed, "The Gateway could not be claimed; see the controller's log."},
		{do: r.publish},
	}
	gateway := []phase{{do: r.requireGateway}, {do: r.labelInfraNamespace}}
	home := []phase{
		{r.ensureNamespace, v1alpha1.ReasonTenantNamespaceFailed, "The tenant's namespace could not be written; see the controller's log."},
		{r.ensureConfig, v1alpha1.ReasonTenantConfigReconcileFailed, "The tenant's MaasTenantConfig could not be written; see the controller's log."},
		{r.retireLegacy, v1alpha1.ReasonLegacyTenantMigrationFailed, "The Tenant of an earlier release could not be retired; see the controller's log."},
	}
	end := []phase{
		{r.ensureRoles, v1alpha1.ReasonRBACReconcileFailed, "The Roles of the tenant's administrators could not be written; see the controller's log."},
		{r.releaseFormer, v1alpha1.ReasonGatewayClaimFailed, "A Gateway that the tenant no longer uses could not be released; see the controller's log."},
		{do: r.awaitConfig},
	}
	if aitenant.IsDefault(s.tenant.Name, r.Settings.Tenancy) {
		// Dashboards and admission rely on them, whether or not there is a Gateway yet.
		return slices.Concat(start, home, gateway, end)
	}
	return slices.Concat(start, gateway, home, end)
}

// place decides where the tenant's objects go, and whether it may have any.
func (r *Reconciler) place(s *scope) {
	s.namespace = r.Settings.Tenancy.TenantNamespace(s.tenant.Name)
	s.misplaced = aitenant.Place(s.key(), r.Settings.Tenancy, r.Settings.Tenant.InfraNamespace)
	s.tenant.Status.TenantNamespace = ""
	if s.misplaced == nil {
		s.tenant.Status.TenantNamespace = s.namespace
	}
}

// run takes the phases in order until one fails or ends the work.
func (r *Reconciler) run(ctx context.Context, s *scope) error {
	if s.tenant.DeletionTimestamp != nil {
		return r.delete(ctx, s)
	}
	if s.misplaced != nil {
		return s.report(phase{}, s.misplaced)
	}
	for _, p := range r.phases(s) {
		if err := p.do(ctx, s); err != nil {
			return s.report(p, err)
		}
		if s.stopped {
			break
		}
	}
	return s.postponed
}

// report turns the error of a phase into the condition, and decides whether to try
// again.
func (s *scope) report(p phase, err error) error {
	if apierrors.IsConflict(err) {
		s.decided = false
		return err // Decided on a stale object: nothing is known.
	}
	if user, ok := apperr.AsUser(err); ok {
		s.say(v1alpha1.AITenantPhaseFailed, conditions.False(user.Reason, user.Message))
		return s.postponed
	}
	if unchecked, ok := apperr.AsUnchecked(err); ok {
		// What could not be looked at may be as it should be: the phase stays.
		if s.tenant.Status.Phase == "" {
			s.tenant.Status.Phase = v1alpha1.AITenantPhasePending
		}
		s.set(v1alpha1.ConditionReady, conditions.Unknown(unchecked.Reason, "What the tenant depends on could not be read; see the controller's log."))
		return err
	}
	if p.reason != "" {
		s.say(v1alpha1.AITenantPhaseFailed, conditions.False(p.reason, p.trouble))
	}
	return err
}

// ensureFinalizer comes before anything is made for the tenant.
func (r *Reconciler) ensureFinalizer(ctx context.Context, s *scope) error {
	if err := finalizer.Add(ctx, r.Client, s.tenant, v1alpha1.FinalizerAITenantCleanup); err != nil {
		return err
	}
	if !controllerutil.ContainsFinalizer(s.tenant, v1alpha1.FinalizerAITenantCleanup) {
		s.stopped, s.gone = true, true // Without the object nobody would clean up.
	}
	return nil
}

// findGateway looks for the Gateway that the spec names. Whether it works is said
// elsewhere.
func (r *Reconciler) findGateway(ctx context.Context, s *scope) error {
	s.wanted = r.Settings.Tenancy.GatewayOf(s.tenant)
	_, served, err := r.APIs.Served(gateways())
	if err != nil {
		return apperr.Unchecked(v1alpha1.ReasonGatewayCheckFailed, err)
	}
	if !served {
		return nil
	}
	s.gateway, err = fetch.Optional(ctx, r.Client, s.wanted, &gwapiv1.Gateway{})
	return apperr.Unchecked(v1alpha1.ReasonGatewayCheckFailed, err)
}

// publish writes the Gateway into the status before there is a MaasTenantConfig, for
// which it is looked up. A tenant that is to move stays where it is until the new
// Gateway exists and is its own: what is put on a Gateway must not be put on that of
// another tenant.
func (r *Reconciler) publish(ctx context.Context, s *scope) error {
	status := &s.tenant.Status
	if status.Phase == "" {
		status.Phase = v1alpha1.AITenantPhasePending
	}
	if s.unclaimed == nil && (s.gateway != nil || status.GatewayRef == nil) {
		status.GatewayRef = &v1alpha1.TenantGatewayRef{Namespace: s.wanted.Namespace, Name: s.wanted.Name}
	}
	return r.persist(ctx, s)
}

// requireGateway ends the work until the Gateway exists and is the tenant's.
func (r *Reconciler) requireGateway(ctx context.Context, s *scope) error {
	if s.gateway != nil && s.unclaimed == nil {
		return nil
	}
	s.postponed = errors.Join(s.postponed, r.releaseStray(ctx, s))
	if s.gateway != nil {
		return s.unclaimed
	}
	staying := ""
	if ref := s.tenant.Status.GatewayRef; ref != nil && *ref != gatewayRef(s.wanted) {
		staying = " The tenant stays at Gateway " + ref.Namespace + "/" + ref.Name + " until then."
	}
	return apperr.Userf(v1alpha1.ReasonGatewayCheckFailed,
		"Gateway %s does not exist: a network or cluster administrator must create it, or spec.gateway.name must name another one.%s", s.wanted, staying)
}

func gatewayRef(key types.NamespacedName) v1alpha1.TenantGatewayRef {
	return v1alpha1.TenantGatewayRef{Namespace: key.Namespace, Name: key.Name}
}
