// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/finalizer"
)

// delete takes the tenant down, one step after the other, and takes the finalizer off
// when nothing is left. What it deletes it finds by names, labels and annotations;
// nothing is rendered for it but the Job that revokes keys.
func (r *Reconciler) delete(ctx context.Context, s *scope) error {
	if !controllerutil.ContainsFinalizer(s.tenant, v1alpha1.FinalizerAITenantCleanup) {
		s.gone = true
		return nil
	}
	rest := r.untilForced(s)
	if r.DeletionTimeout > 0 && rest <= 0 {
		return r.force(ctx, s)
	}
	if r.DeletionTimeout > 0 {
		s.lookAgain(rest)
	}
	waiting, failures := r.takeDown(ctx, s)
	switch {
	case len(failures) > 0:
		return s.blocked(failures)
	case waiting != "":
		s.say(v1alpha1.AITenantPhaseTerminating, conditions.False(v1alpha1.ReasonDeletionInProgress, waiting))
		return nil
	default:
		return r.letGo(ctx, s)
	}
}

// untilForced is how long the deletion has until it is forced.
func (r *Reconciler) untilForced(s *scope) time.Duration {
	return r.DeletionTimeout - r.Clock.Since(s.tenant.DeletionTimestamp.Time)
}

// takeDown takes the steps. It returns what it waits for, or what failed. The keys come
// first, and then what runs for the tenant; of the rest every step is tried, whatever
// fails.
func (r *Reconciler) takeDown(ctx context.Context, s *scope) (waiting string, failures []failure) {
	for _, step := range []struct {
		what string
		do   func(context.Context, *scope) (string, error)
	}{
		{"revoking the tenant's API keys", r.revokeKeys},
		{"deleting the tenant's MaasTenantConfig", r.removeConfig},
	} {
		waiting, err := step.do(ctx, s)
		if err != nil {
			return "", []failure{{step.what, err}}
		}
		if waiting != "" {
			return waiting, nil
		}
	}
	return "", r.removeRest(ctx, s)
}

// removeRest takes the steps that depend on no other, all of them.
func (r *Reconciler) removeRest(ctx context.Context, s *scope) []failure {
	var failures []failure
	for _, step := range []struct {
		what string
		do   func(context.Context, *scope) error
	}{
		{"deleting the Roles of the tenant's administrators", r.removeRoles},
		{"releasing the tenant's namespace", r.releaseNamespace},
		{"deleting the AuthPolicy that an earlier release put on the Gateway", r.removeFormerPolicy},
		{"releasing the tenant's Gateway", r.releaseGateways},
	} {
		if err := step.do(ctx, s); err != nil {
			failures = append(failures, failure{step.what, err})
		}
	}
	return failures
}

// letGo ends the deletion. The tombstone goes before the finalizer, because a name whose
// tombstone stands cannot be used again, and the Job last.
func (r *Reconciler) letGo(ctx context.Context, s *scope) error {
	bindings := r.leftBindings(ctx, s)
	if err := r.lower(ctx, s.tenant.UID); err != nil {
		return s.blocked([]failure{{"removing the tombstone of the tenant", err}})
	}
	if err := finalizer.Drop(ctx, r.Client, s.tenant, v1alpha1.FinalizerAITenantCleanup); err != nil {
		return s.blocked([]failure{{"taking the finalizer off the AITenant", err}})
	}
	s.gone = true
	if bindings == "" {
		r.Events.Eventf(s.tenant, nil, corev1.EventTypeNormal, string(v1alpha1.EventAITenantCleanedUp), string(v1alpha1.ActionDelete),
			"The tenant is taken down. Namespace %s and what users have in it stay.", s.namespace)
	} else {
		r.Events.Eventf(s.tenant, nil, corev1.EventTypeWarning, string(v1alpha1.EventAITenantCleanedUp), string(v1alpha1.ActionDelete),
			"%s", conditions.Truncate("The tenant is taken down. RoleBindings for its administrators stay and take effect again when a tenant of this name is made: "+bindings+"."))
	}
	r.dropJob(ctx, s)
	return nil
}

// dropJob deletes the Job that has revoked the tenant's keys. It would also go by
// itself.
func (r *Reconciler) dropJob(ctx context.Context, s *scope) {
	key := r.jobKey(aitenant.Tombstone{AITenant: s.key()})
	job, err := r.readJob(ctx, key)
	if err == nil && aitenant.JobStateOf(job, s.tenant.UID) == aitenant.JobComplete {
		_, err = r.Applier.Delete(ctx, jobKind(), key)
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("Leaving a completed Job to its time to live", "Job", key.String(), "reason", err.Error())
	}
}

// force ends a deletion that has taken too long. The tombstone remembers keys that are
// not known to be revoked; without it the AITenant stays. Everything else is tried once.
func (r *Reconciler) force(ctx context.Context, s *scope) error {
	keys, err := r.keepKeysInMind(ctx, s)
	if err != nil {
		return s.blocked([]failure{{"remembering that the tenant's API keys are to be revoked", err}})
	}
	s.say(v1alpha1.AITenantPhaseTerminating, conditions.False(v1alpha1.ReasonCleanupForced,
		"The deletion took longer than allowed and is ended without a proof that everything is gone. "+keys))
	if err := r.persist(ctx, s); err != nil {
		return s.staleOr(err)
	}
	log := ctrl.LoggerFrom(ctx)
	if _, err := r.removeConfig(ctx, s); err != nil {
		log.Error(err, "Leaving a MaasTenantConfig behind")
	}
	for _, f := range r.removeRest(ctx, s) {
		log.Error(f.err, "Leaving a part of a tenant behind", "step", f.step)
	}
	if err := finalizer.Drop(ctx, r.Client, s.tenant, v1alpha1.FinalizerAITenantCleanup); err != nil {
		return s.staleOr(err)
	}
	s.gone = true
	r.Events.Eventf(s.tenant, nil, corev1.EventTypeWarning, string(v1alpha1.EventAITenantCleanupForced), string(v1alpha1.ActionDelete),
		"%s", conditions.Truncate("The deletion took longer than allowed; the finalizer was taken off without a proof that everything of the tenant is gone. "+keys))
	r.dropJob(ctx, s)
	return nil
}

// keepKeysInMind makes sure that keys which may work are revoked after the AITenant is
// gone, and says what becomes of them.
func (r *Reconciler) keepKeysInMind(ctx context.Context, s *scope) (string, error) {
	decision, err := r.revocation(ctx, s)
	if err != nil {
		return "", err
	}
	if decision != aitenant.Revoke {
		return "Its API keys are revoked, or are not its own.", r.lower(ctx, s.tenant.UID)
	}
	stone, err := r.raise(ctx, r.tombstoneOf(s))
	switch {
	case errors.Is(err, errNoPlace):
		return "API keys may still work for as long as its maas-api runs: the namespaces of the installation are being deleted.", nil
	case err != nil:
		return "", err
	default:
		return "API keys may still work until Job " + r.jobKey(stone).String() + " has succeeded, which ConfigMap " + aitenant.TombstoneName(stone.UID) + " stands for.", nil
	}
}
