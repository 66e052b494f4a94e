// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
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
	metrics.Judge(ctx, judged(verdict.Phase))
	if failed != nil { // What was not looked at to the end stays as it was.
		verdict.Conditions = slices.DeleteFunc(verdict.Conditions, aside)
	}
	if s.acts {
		r.nameRoute(s)
	}
	return r.tell(ctx, s.before, s.object, verdict)
}

// nameRoute tells MaaSModelRefs, and whoever else reads it, by which route the model is
// reached. What was not looked at stays as it was, and so does the name of the route of an
// earlier release that could not be removed: by that it is found again.
func (r *Reconciler) nameRoute(s *scope) {
	switch {
	case s.route != nil && s.retired && !s.elsewhere():
		s.theirs.Status.HTTPRouteName = s.ownName().Name
	case s.facts.Refused != "" && s.retired:
		s.theirs.Status.HTTPRouteName = ""
	}
}

// aside holds for all conditions but the one that sums up.
func aside(c metav1.Condition) bool { return c.Type != string(v1alpha1.ConditionReady) }

// conditionsOf are those in the status of an ExternalModel of either group.
func conditionsOf(object client.Object) *[]metav1.Condition {
	switch model := object.(type) {
	case *v1alpha1.ExternalModel:
		return &model.Status.Conditions
	case *inferencev1alpha1.ExternalModel:
		return &model.Status.Conditions
	default:
		return nil
	}
}

// tell writes what a verdict says of an ExternalModel of either group.
func (r *Reconciler) tell(ctx context.Context, before, object client.Object, verdict external.Verdict) error {
	switch model := object.(type) {
	case *v1alpha1.ExternalModel:
		model.Status.Phase, model.Status.ObservedGeneration = verdict.Phase, model.Generation
	case *inferencev1alpha1.ExternalModel:
		model.Status.Phase, model.Status.ObservedGeneration = inferencev1alpha1.Phase(verdict.Phase), model.Generation
	}
	var ready conditions.Transition
	for _, c := range verdict.Conditions {
		t := conditions.Set(conditionsOf(object), c.Type, c.ObservedGeneration, conditions.Value{Status: c.Status, Reason: c.Reason, Message: c.Message})
		if c.Type == string(v1alpha1.ConditionReady) {
			ready = t
		}
	}
	if _, err := conditions.PatchStatus(ctx, r.Client, before, object, client.FieldOwner(v1alpha1.FieldOwner)); err != nil {
		return client.IgnoreNotFound(err)
	}
	if ready.Turned() {
		severity := corev1.EventTypeNormal
		if ready.After.Status != metav1.ConditionTrue && verdict.Phase == v1alpha1.ExternalModelPhaseFailed {
			severity = corev1.EventTypeWarning
		}
		r.Events.Eventf(object, nil, severity, ready.After.Reason, string(v1alpha1.ActionReconcile), "%s", conditions.Note(ready.After))
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
