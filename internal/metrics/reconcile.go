// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
)

// Outcome is what a reconcile came to.
type Outcome string

// Outcomes of reconciles.
const (
	// Success: the object is as it should be.
	Success Outcome = "success"
	// Waiting: something else has to happen first, and will wake the controller.
	Waiting Outcome = "waiting"
	// UserError: somebody has to act, as the object's status says.
	UserError Outcome = "user_error"
	// Conflict: a write met a newer object, and is tried again at once.
	Conflict Outcome = "conflict"
	// Failure: the reconcile is tried again, later each time.
	Failure Outcome = "error"
)

// Outcomes lists all outcomes, for series that begin at zero.
func Outcomes() []Outcome { return []Outcome{Success, Waiting, UserError, Conflict, Failure} }

// verdictKey finds the verdict of a reconcile in its context.
type verdictKey struct{}

// verdict belongs to one reconcile, which runs in one goroutine.
type verdict struct{ outcome Outcome }

// Judge says what the reconcile that runs in this context comes to, unless it
// returns an error; the last word counts. Without it, a reconcile that returns
// no error is a success.
func Judge(ctx context.Context, outcome Outcome) {
	if v, ok := ctx.Value(verdictKey{}).(*verdict); ok {
		v.outcome = outcome
	}
}

// OfPhase is the outcome of a reconcile that left an object in a phase.
func OfPhase[P v1alpha1.Phase | v1alpha1.ModelPhase](phase P) Outcome {
	switch string(phase) {
	case string(v1alpha1.PhaseActive), string(v1alpha1.ModelPhaseReady):
		return Success
	case string(v1alpha1.PhasePending), string(v1alpha1.ModelPhaseUnhealthy), "":
		return Waiting
	default:
		return UserError
	}
}

// OfCondition is the outcome of a reconcile that ended in this value of the
// condition PoliciesApplied.
func OfCondition(status metav1.ConditionStatus, reason v1alpha1.ConditionReason) Outcome {
	switch {
	case status == metav1.ConditionTrue, reason == v1alpha1.ReasonNoPolicies:
		return Success
	case status != metav1.ConditionFalse, reason == v1alpha1.ReasonRouteNotFound, reason == v1alpha1.ReasonDependencyMissing, reason == v1alpha1.ReasonTenantNotReady:
		return Waiting
	default:
		return UserError
	}
}

// Wrap returns a reconciler that counts how the given one ends. The kind is that
// of the objects it is called for.
func (m *Metrics) Wrap(controller, kind string, r reconcile.Reconciler) reconcile.Reconciler {
	if m == nil {
		return r
	}
	for _, outcome := range Outcomes() {
		m.reconciles.WithLabelValues(controller, kind, string(outcome))
	}
	return reconcile.Func(func(ctx context.Context, req reconcile.Request) (_ reconcile.Result, err error) {
		v, ended := &verdict{outcome: Success}, false
		defer func() {
			outcome := v.outcome
			if err != nil || !ended {
				outcome = ofError(err)
			}
			m.reconciles.WithLabelValues(controller, kind, string(outcome)).Inc()
		}()
		result, err := r.Reconcile(context.WithValue(ctx, verdictKey{}, v), req)
		ended = true
		return result, err
	})
}

// ofError is the outcome of a reconcile that returned an error, or panicked.
func ofError(err error) Outcome {
	if _, user := apperr.AsUser(err); user || errors.Is(err, reconcile.TerminalError(nil)) {
		return UserError
	}
	return Failure
}
