// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
)

// finish writes the status in one patch, and only when it changed. A write that met a
// newer object proves nothing.
func (r *Reconciler) finish(ctx context.Context, s *scope, failed error) error {
	if s.stale {
		return nil
	}
	verdict := external.Decide(s.facts)
	status := &s.model.Status
	status.Phase, status.ObservedGeneration = verdict.Phase, s.model.Generation
	var ready conditions.Transition
	for _, c := range verdict.Conditions {
		if failed != nil && c.Type != string(v1alpha1.ConditionReady) {
			continue // What was not looked at to the end stays as it was.
		}
		t := conditions.Set(&status.Conditions, c.Type, c.ObservedGeneration, conditions.Value{Status: c.Status, Reason: c.Reason, Message: c.Message})
		if c.Type == string(v1alpha1.ConditionReady) {
			ready = t
		}
	}
	metrics.Judge(ctx, judged(verdict.Phase))
	if _, err := conditions.PatchStatus(ctx, r.Client, s.before, s.model, client.FieldOwner(v1alpha1.FieldOwner)); err != nil {
		return client.IgnoreNotFound(err)
	}
	if ready.Turned() {
		severity := corev1.EventTypeNormal
		if ready.After.Status != metav1.ConditionTrue && verdict.Phase == v1alpha1.ExternalModelPhaseFailed {
			severity = corev1.EventTypeWarning
		}
		r.Events.Eventf(s.model, nil, severity, ready.After.Reason, string(v1alpha1.ActionReconcile), "%s", conditions.Note(ready.After))
	}
	return nil
}

// judged is how the metrics call a phase.
func judged(phase v1alpha1.ExternalModelPhase) metrics.Outcome {
	switch phase {
	case v1alpha1.ExternalModelPhaseReady:
		return metrics.Success
	case v1alpha1.ExternalModelPhaseFailed:
		return metrics.UserError
	default:
		return metrics.Waiting
	}
}
