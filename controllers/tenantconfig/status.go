// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenantstatus"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
)

// finish writes the status in one patch, and only when it changed. A write that met a
// newer object proves nothing, unless something else failed too.
func (r *Reconciler) finish(ctx context.Context, s *scope) error {
	if s.silent || s.stale && s.facts.Failure.Reason == "" {
		return nil
	}
	s.decide()
	judge(ctx, s.config.Status.Phase)
	if _, err := conditions.PatchStatus(ctx, r.Client, s.before, s.config, client.FieldOwner(v1alpha1.FieldOwner)); err != nil {
		return errors.Join(client.IgnoreNotFound(err), s.unpruned)
	}
	r.announce(s)
	return s.unpruned
}

// decide puts what is known into the status.
func (s *scope) decide() {
	status := &s.config.Status
	verdict := tenantstatus.Decide(s.facts)
	for _, c := range verdict.Conditions {
		value := conditions.Value{Status: c.Status, Reason: c.Reason, Message: c.Message}
		s.transitions = append(s.transitions, conditions.Set(&status.Conditions, c.Type, c.ObservedGeneration, value))
	}
	for _, kind := range verdict.Removed {
		conditions.Remove(&status.Conditions, kind)
	}
	status.Phase, status.ObservedGeneration = verdict.Phase, s.config.Generation
}

// judge counts how the reconcile ended.
func judge(ctx context.Context, phase v1alpha1.TenantPhase) {
	switch phase {
	case v1alpha1.TenantPhaseActive, v1alpha1.TenantPhaseDegraded, "":
		metrics.Judge(ctx, metrics.Success)
	case v1alpha1.TenantPhaseFailed:
		metrics.Judge(ctx, metrics.UserError)
	default:
		metrics.Judge(ctx, metrics.Waiting)
	}
}

// announce records an event when Ready or Degraded changed. The other conditions tell
// the same in parts.
func (r *Reconciler) announce(s *scope) {
	for _, t := range s.transitions {
		if !t.Turned() {
			continue
		}
		kind := v1alpha1.ConditionType(t.After.Type)
		degraded := kind == v1alpha1.ConditionDegraded && (t.Existed() || t.After.Status == metav1.ConditionTrue) && t.After.Status != metav1.ConditionUnknown
		if kind != v1alpha1.ConditionReady && !degraded {
			continue
		}
		severity, action := corev1.EventTypeNormal, v1alpha1.ActionReconcile
		if kind == v1alpha1.ConditionReady && s.config.Status.Phase == v1alpha1.TenantPhaseFailed || degraded && t.After.Status == metav1.ConditionTrue {
			severity = corev1.EventTypeWarning
		}
		if s.config.DeletionTimestamp != nil {
			action = v1alpha1.ActionDelete
		}
		r.Events.Eventf(s.config, nil, severity, t.After.Reason, string(action), "%s", conditions.Note(t.After))
	}
}
