// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=maas-db-config,verbs=get

// Keys are revoked by a Job on the database, which needs neither the tenant's maas-api
// nor anything else of the tenant. What proves it is written down before the next step:
//
//  1. a tombstone is raised; from here on the keys end even if the AITenant disappears;
//  2. the Job runs to completion;
//  3. the status says so;
//  4. the rest is taken down;
//  5. the tombstone goes, and then the finalizer.
//
// After a crash between any two of them the step before is found done, or is repeated
// without harm.

// revokeKeys makes sure that no key of the tenant works any more. It returns what it
// waits for.
func (r *Reconciler) revokeKeys(ctx context.Context, s *scope) (waiting string, err error) {
	decision, err := r.revocation(ctx, s)
	if err != nil {
		return "", err
	}
	switch decision {
	case aitenant.Revoked:
		return "", nil
	case aitenant.RevokedByHand, aitenant.NotItsKeys:
		return r.stopJob(ctx, s)
	}
	stone, err := r.raise(ctx, r.tombstoneOf(s))
	if err != nil {
		return "", err
	}
	former, err := r.stoneBefore(ctx, stone)
	if err != nil {
		return "", err
	}
	if former.Name != "" {
		s.lookAgain(later)
		return "The API keys of an earlier tenant of the same name are revoked first: see ConfigMap " + former.String() + ".", nil
	}
	return r.awaitJob(ctx, s, stone)
}

// revocation decides what has to happen to the keys.
func (r *Reconciler) revocation(ctx context.Context, s *scope) (aitenant.Revocation, error) {
	facts := aitenant.RevocationFacts{Misplaced: s.misplaced != nil}
	if d := aitenant.RevocationOf(s.tenant, facts); d == aitenant.Revoked || d == aitenant.RevokedByHand {
		return d, nil
	}
	config, err := fetch.Optional(ctx, r.APIReader, s.configKey(), &v1alpha1.MaasTenantConfig{})
	if err != nil {
		return aitenant.Revoke, err
	}
	if s.config = config; config != nil {
		facts.Config = aitenant.MarkedFor(config, s.tenant)
	}
	if facts.Rival, err = r.hasRival(ctx, s); err != nil {
		return aitenant.Revoke, err
	}
	return aitenant.RevocationOf(s.tenant, facts), nil
}

// hasRival tells whether another AITenant, at its proper place, has the same name for
// maas-api.
func (r *Reconciler) hasRival(ctx context.Context, s *scope) (bool, error) {
	var list v1alpha1.AITenantList
	if err := r.Client.List(ctx, &list, client.InNamespace(r.Settings.Tenancy.AITenantNamespace)); err != nil {
		return false, fmt.Errorf("list AITenants: %w", err)
	}
	for i := range list.Items {
		other := &list.Items[i]
		if other.UID != s.tenant.UID && r.knownAs(other.Name) == r.knownAs(s.tenant.Name) &&
			aitenant.Place(client.ObjectKeyFromObject(other), r.Settings.Tenancy, r.Settings.Tenant.InfraNamespace) == nil {
			return true, nil
		}
	}
	return false, nil
}

// knownAs is the name of an AITenant's tenant for maas-api.
func (r *Reconciler) knownAs(aiTenant string) string {
	if aiTenant == r.Settings.Tenancy.DefaultNamespace {
		return tenancy.DefaultName
	}
	return aiTenant
}

func (r *Reconciler) tombstoneOf(s *scope) aitenant.Tombstone {
	stone := aitenant.Tombstone{AITenant: s.key(), UID: s.tenant.UID, Tenant: r.knownAs(s.tenant.Name)}
	if s.config != nil && s.config.Spec.APIKeys != nil && s.config.Spec.APIKeys.DeletionRetentionDays != nil {
		stone.RetentionDays = *s.config.Spec.APIKeys.DeletionRetentionDays
	}
	return stone
}

// awaitJob runs the Job until it is complete. A failed one is deleted and made again
// after a while, and the condition APIKeysRevoked keeps when that was.
func (r *Reconciler) awaitJob(ctx context.Context, s *scope, stone aitenant.Tombstone) (waiting string, err error) {
	if rest := r.resting(s); rest > 0 {
		s.lookAgain(rest)
		return "", jobFailed(r.jobKey(stone))
	}
	state, err := r.workOff(ctx, stone)
	if err != nil {
		return "", err
	}
	switch state {
	case aitenant.JobComplete:
		s.set(v1alpha1.ConditionAPIKeysRevoked, conditions.True(v1alpha1.ReasonRevocationJobCompleted, "The tenant's API keys are revoked."))
		return "", r.persist(ctx, s)
	case aitenant.JobFailed:
		failure := jobFailed(r.jobKey(stone))
		s.set(v1alpha1.ConditionAPIKeysRevoked, conditions.False(v1alpha1.ReasonRevocationJobFailed, "The tenant's API keys are not revoked: the last Job for it failed."))
		if err := r.persist(ctx, s); err != nil { // Before the Job goes, which is the only other witness.
			return "", err
		}
		if _, err := r.Applier.Delete(ctx, jobKind(), r.jobKey(stone)); err != nil {
			return "", err
		}
		s.lookAgain(later)
		return "", failure
	}
	s.lookAgain(later)
	if state == aitenant.JobOthers {
		s.lookAgain(soon)
	}
	if c := s.revokedCondition(); c != nil {
		s.set(v1alpha1.ConditionAPIKeysRevoked, conditions.Unknown(v1alpha1.ReasonRevocationJobFailed, "The revocation of the tenant's API keys is tried again."))
		return "", jobFailed(r.jobKey(stone))
	}
	return "The tenant's API keys are being revoked by Job " + r.jobKey(stone).String() + ".", nil
}

func (s *scope) revokedCondition() *metav1.Condition {
	return meta.FindStatusCondition(s.tenant.Status.Conditions, string(v1alpha1.ConditionAPIKeysRevoked))
}

// resting is how long to wait before the next Job after a failed one.
func (r *Reconciler) resting(s *scope) time.Duration {
	c := s.revokedCondition()
	if c == nil || c.Status != metav1.ConditionFalse {
		return 0
	}
	return later - r.Clock.Since(c.LastTransitionTime.Time)
}

func jobFailed(job types.NamespacedName) error {
	return apperr.Userf(v1alpha1.ReasonDeletionBlocked,
		"The tenant's API keys could not be revoked: Job %s failed and is tried again. Look at its Pods and at Secret %s, or revoke the keys by hand and annotate the AITenant %s=true.",
		job, v1alpha1.DatabaseSecretName, v1alpha1.AnnotationAPIKeysRevoked)
}

func (r *Reconciler) jobKey(stone aitenant.Tombstone) types.NamespacedName {
	return types.NamespacedName{Namespace: r.Settings.Tenant.InfraNamespace, Name: stone.JobName()}
}

// readJob reads past the cache: a Job that is not seen yet must not be made twice, and
// one that is gone proves nothing.
func (r *Reconciler) readJob(ctx context.Context, key types.NamespacedName) (*batchv1.Job, error) {
	return fetch.Optional(ctx, r.APIReader, key, &batchv1.Job{})
}

// workOff does the next step of the revocation and returns how far it is. A failed Job
// is left to the caller. An [apperr.UserError] says what somebody has to provide.
func (r *Reconciler) workOff(ctx context.Context, stone aitenant.Tombstone) (aitenant.JobState, error) {
	key := r.jobKey(stone)
	job, err := r.readJob(ctx, key)
	if err != nil {
		return aitenant.JobMissing, err
	}
	state := aitenant.JobStateOf(job, stone.UID)
	switch state {
	case aitenant.JobMissing:
		return state, r.createJob(ctx, stone)
	case aitenant.JobOthers:
		// It goes; the watch tells when, and then it is missing.
		return state, r.deleteJob(ctx, key)
	default:
		return state, nil
	}
}

// createJob makes the Job unless it could not start. One that exists is never applied
// again: its Pod template cannot be changed.
func (r *Reconciler) createJob(ctx context.Context, stone aitenant.Tombstone) error {
	key := types.NamespacedName{Namespace: r.Settings.Tenant.InfraNamespace, Name: v1alpha1.DatabaseSecretName}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	secret, err := fetch.Optional(ctx, r.APIReader, key, secret)
	if err != nil {
		return err
	}
	if secret == nil {
		return apperr.Userf(v1alpha1.ReasonDeletionBlocked,
			"The tenant's API keys cannot be revoked, because Secret %s with the database's address does not exist: create it, or, if there are no keys any more, annotate the AITenant %s=true.",
			key, v1alpha1.AnnotationAPIKeysRevoked)
	}
	object, err := r.Engine.Render(tenant.RevocationJob(tenant.JobInput{
		AITenant: stone.AITenant, UID: stone.UID, Tenant: stone.Context(), Settings: r.Settings.Tenant, RetentionDays: stone.RetentionDays,
	}))
	if err != nil {
		return fmt.Errorf("render the Job that revokes keys: %w", err)
	}
	_, err = r.Applier.Apply(ctx, object)
	return err
}

// deleteJob asks for the deletion of a Job of ours under that name.
func (r *Reconciler) deleteJob(ctx context.Context, key types.NamespacedName) error {
	result, err := r.Applier.Delete(ctx, jobKind(), key)
	if err == nil && (result.Outcome == apply.NotOurs || result.Outcome == apply.OptedOut) {
		return apperr.Userf(v1alpha1.ReasonDeletionBlocked, "Job %s has the name of the one that revokes the tenant's API keys, but is not the operator's: delete it.", key)
	}
	return err
}

// stopJob ends a Job of this tenant that is under way although nobody needs it: later
// it could meet a successor of the tenant.
func (r *Reconciler) stopJob(ctx context.Context, s *scope) (waiting string, err error) {
	key := r.jobKey(aitenant.Tombstone{AITenant: s.key()})
	job, err := r.readJob(ctx, key)
	if err != nil {
		return "", err
	}
	switch aitenant.JobStateOf(job, s.tenant.UID) {
	case aitenant.JobRunning, aitenant.JobFailed:
		uid := job.UID
		err := r.Client.Delete(ctx, job, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationForeground))
		if client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("delete Job %s: %w", key, err)
		}
	case aitenant.JobEnding:
	default:
		return "", nil
	}
	s.lookAgain(later)
	return "Job " + key.String() + " is being stopped, because the keys need it no longer.", nil
}
