// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
)

// finish writes what is left to be written of the status, and records what changed.
func (r *Reconciler) finish(ctx context.Context, s *scope) error {
	if s.gone || !s.decided {
		return nil
	}
	if err := r.persist(ctx, s); err != nil {
		return err
	}
	judge(ctx, s)
	r.announce(s)
	return nil
}

// persist writes the status when it says something else than what is stored.
func (r *Reconciler) persist(ctx context.Context, s *scope) error {
	if len(s.transitions) > 0 {
		s.tenant.Status.ObservedGeneration = s.tenant.Generation
	}
	if _, err := conditions.PatchStatus(ctx, r.Client, s.before, s.tenant, client.FieldOwner(v1alpha1.FieldOwner)); err != nil {
		return client.IgnoreNotFound(err)
	}
	s.before = s.tenant.DeepCopy()
	return nil
}

// judge counts how the reconcile ended.
func judge(ctx context.Context, s *scope) {
	switch s.tenant.Status.Phase {
	case v1alpha1.AITenantPhaseActive:
		metrics.Judge(ctx, metrics.Success)
	case v1alpha1.AITenantPhaseFailed:
		metrics.Judge(ctx, metrics.UserError)
	default:
		metrics.Judge(ctx, metrics.Waiting)
	}
}

// announce records one event for each condition that changed.
func (r *Reconciler) announce(s *scope) {
	for _, t := range s.transitions {
		if !t.Turned() {
			continue
		}
		severity, action := corev1.EventTypeNormal, v1alpha1.ActionReconcile
		if troubled(s.tenant.Status.Phase, t.After) {
			severity = corev1.EventTypeWarning
		}
		if s.tenant.DeletionTimestamp != nil {
			action = v1alpha1.ActionDelete
		}
		r.Events.Eventf(s.tenant, nil, severity, t.After.Reason, string(action), "%s", conditions.Note(t.After))
	}
}

// troubled holds for a condition because of which somebody should act.
func troubled(phase v1alpha1.AITenantPhase, c metav1.Condition) bool {
	switch v1alpha1.ConditionType(c.Type) {
	case v1alpha1.ConditionDegraded:
		return c.Status == metav1.ConditionTrue
	case v1alpha1.ConditionReady:
		blocked := c.Reason == string(v1alpha1.ReasonDeletionBlocked) || c.Reason == string(v1alpha1.ReasonCleanupForced)
		return c.Status == metav1.ConditionFalse && (phase == v1alpha1.AITenantPhaseFailed || blocked)
	default:
		return c.Status == metav1.ConditionFalse
	}
}
