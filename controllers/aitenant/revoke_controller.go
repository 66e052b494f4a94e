// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
)

// tombstones revokes the keys of tenants whose AITenant is gone and left a tombstone: a
// forced deletion did, or somebody who took the finalizer off. While the AITenant is
// there its own deletion is in charge.
type tombstones struct{ *Reconciler }

// Tombstones is the reconciler of tombstones that goes with one of AITenants, which sets
// it up.
func Tombstones(r *Reconciler) reconcile.Reconciler { return tombstones{r} }

// setUpTombstones registers the controller.
func (r *Reconciler) setUpTombstones(mgr ctrl.Manager) error {
	t := tombstones{r}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("tombstone").
		WithOptions(trigger.Options(1)).
		For(&corev1.ConfigMap{}, builder.WithPredicates(labelled(v1alpha1.LabelTenantTombstone))).
		Watches(&batchv1.Job{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
			return t.requests(types.UID(o.GetAnnotations()[v1alpha1.AnnotationAITenantUID]))
		})).
		Watches(&v1alpha1.AITenant{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
			return t.requests(o.GetUID())
		}), builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetDeletionTimestamp() != nil }))).
		Complete(r.Metrics.Wrap("tombstone", v1alpha1.KindAITenant, t))
	if err != nil {
		return fmt.Errorf("set up controller tombstone: %w", err)
	}
	return nil
}

// requests are for the tombstone of a UID, wherever it is.
func (t tombstones) requests(uid types.UID) []reconcile.Request {
	if uid == "" {
		return nil
	}
	var all []reconcile.Request
	for _, place := range t.stonePlaces() {
		all = append(all, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: place, Name: aitenant.TombstoneName(uid)}})
	}
	return all
}

// Reconcile does the next step for one tombstone.
func (t tombstones) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	again, err := t.workOffStone(ctx, req.NamespacedName)
	if user, ok := apperr.AsUser(err); ok {
		ctrl.LoggerFrom(ctx).Info("Waiting to revoke the keys of a tenant that is gone", "reason", user.Message)
		err = nil
	}
	result, err := trigger.Outcome(ctx, err)
	if err == nil && result.RequeueAfter == 0 {
		result.RequeueAfter = again
	}
	return result, err
}

// workOffStone returns when to look again although nothing watched tells; 0 for never.
func (t tombstones) workOffStone(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	object, err := fetch.Optional(ctx, t.APIReader, key, &corev1.ConfigMap{}) // The cache may show one that is done.
	if err != nil || object == nil || object.DeletionTimestamp != nil {
		return 0, err
	}
	stone, err := aitenant.TombstoneFrom(object)
	if err != nil {
		return 0, reconcile.TerminalError(err)
	}
	owner, err := fetch.Optional(ctx, t.APIReader, stone.AITenant, &v1alpha1.AITenant{})
	if err != nil {
		return 0, err
	}
	if owner != nil && owner.UID == stone.UID && controllerutil.ContainsFinalizer(owner, v1alpha1.FinalizerAITenantCleanup) {
		return 0, nil
	}
	former, err := t.stoneBefore(ctx, stone)
	if err != nil || former.Name != "" {
		return later, err
	}
	retry := aitenant.RetryAfter(t.Clock.Since(object.CreationTimestamp.Time))
	state, err := t.workOff(ctx, stone)
	if err != nil {
		return retry, err
	}
	switch state {
	case aitenant.JobComplete:
		return 0, t.settle(ctx, object, stone)
	case aitenant.JobFailed:
		return t.tryAgain(ctx, object, stone, retry)
	default:
		return later, nil
	}
}

// settle ends a tombstone whose Job is complete. The Job goes last: until the tombstone
// is gone it is the proof.
func (t tombstones) settle(ctx context.Context, object *corev1.ConfigMap, stone aitenant.Tombstone) error {
	if err := t.remove(ctx, object); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Revoked the keys of a tenant that is gone", "AITenant", stone.AITenant.String(), "uid", stone.UID)
	t.Events.Eventf(object, nil, corev1.EventTypeNormal, string(v1alpha1.ReasonRevocationJobCompleted), string(v1alpha1.ActionDelete),
		"The API keys of AITenant %s, which is gone, are revoked.", stone.AITenant)
	_, err := t.Applier.Delete(ctx, jobKind(), t.jobKey(stone))
	return err
}

// tryAgain keeps a failed Job until it is time for the next one, and deletes it then.
func (t tombstones) tryAgain(ctx context.Context, object *corev1.ConfigMap, stone aitenant.Tombstone, retry time.Duration) (time.Duration, error) {
	job, err := t.readJob(ctx, t.jobKey(stone))
	if err != nil || job == nil {
		return later, err
	}
	failed := job.CreationTimestamp.Time
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobFailed {
			failed = c.LastTransitionTime.Time
		}
	}
	if rest := retry - t.Clock.Since(failed); rest > 0 {
		return rest, nil
	}
	t.Events.Eventf(object, nil, corev1.EventTypeWarning, string(v1alpha1.ReasonRevocationJobFailed), string(v1alpha1.ActionDelete),
		"The API keys of AITenant %s, which is gone, could not be revoked: Job %s failed and is made again. If there are no such keys any more, delete this ConfigMap.", stone.AITenant, t.jobKey(stone))
	return later, t.deleteJob(ctx, t.jobKey(stone))
}
