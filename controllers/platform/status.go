// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
)

// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// finish writes the status, in one patch and only when it says something else than
// before, and records what changed.
func (r *Reconciler) finish(ctx context.Context, s *scope) error {
	metrics.Judge(ctx, s.outcome())
	if s.config == nil {
		return nil
	}
	before := s.config.DeepCopy()
	status := &s.config.Status
	status.Inventory = s.inventory.Entries()
	if s.ready.Status != "" {
		status.ObservedGeneration = s.config.Generation
		s.set(v1alpha1.ConditionReady, s.ready)
	}
	switch {
	case s.torn.Status != "":
		s.set(v1alpha1.ConditionTeardownCompleted, s.torn)
	case s.request() == none:
		conditions.Remove(&status.Conditions, v1alpha1.ConditionTeardownCompleted)
	}
	s.judgeAddOns()
	if _, err := conditions.PatchStatus(ctx, r.Client, before, s.config, client.FieldOwner(v1alpha1.FieldOwner)); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.announce(s)
	return nil
}

func (s *scope) set(kind v1alpha1.ConditionType, value conditions.Value) {
	s.transitions = append(s.transitions, conditions.Set(&s.config.Status.Conditions, kind, s.config.Generation, value))
}

func (s *scope) outcome() metrics.Outcome {
	switch {
	case s.ready.Status == metav1.ConditionTrue, s.torn.Status == metav1.ConditionTrue, s.config == nil:
		return metrics.Success
	case s.stopped, s.ready.Status != metav1.ConditionFalse:
		return metrics.Waiting
	default:
		return metrics.UserError
	}
}

// announce records an event for each condition that changed its status or reason.
func (r *Reconciler) announce(s *scope) {
	for _, t := range s.transitions {
		if !t.Turned() {
			continue
		}
		severity := corev1.EventTypeNormal
		if t.After.Status != metav1.ConditionTrue && !s.stopped {
			severity = corev1.EventTypeWarning
		}
		r.Events.Eventf(s.config, nil, severity, t.After.Reason, string(v1alpha1.ActionReconcile), "%s", conditions.Note(t.After))
	}
}
