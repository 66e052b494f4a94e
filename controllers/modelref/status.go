// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/modelstatus"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
)

// finish writes the verdict on the facts, in one patch and only when it says
// something else than before, and records what changed.
func (r *Reconciler) finish(ctx context.Context, s *scope) (ctrl.Result, error) {
	before := s.model.DeepCopy()
	transitions := s.writeStatus(modelstatus.Decide(s.facts))
	_, err := conditions.PatchStatus(ctx, r.Client, before, s.model, client.FieldOwner(v1alpha1.FieldOwner))
	if err != nil {
		return trigger.Outcome(ctx, client.IgnoreNotFound(err))
	}
	metrics.Judge(ctx, metrics.OfPhase(s.model.Status.Phase))
	r.report(s, transitions)
	return ctrl.Result{}, nil
}

// writeStatus puts the verdict into the status. Conditions of other controllers
// stay as they are.
func (s *scope) writeStatus(v modelstatus.Verdict) []conditions.Transition {
	status := &s.model.Status
	status.ObservedGeneration = s.model.Generation
	status.Phase = v.Phase
	status.Endpoint, status.BaseURL = v.Endpoint, v.BaseURL
	status.ResolvedModelAlias = s.facts.Identity.Alias
	status.Tenant, status.ResolvedTenantRef = s.tenant.Name, ""
	if s.facts.Tenant.Problem == "" {
		status.ResolvedTenantRef = s.model.Spec.TenantRef
	}
	s.writeRoute()
	transitions := make([]conditions.Transition, 0, len(v.Conditions))
	for _, c := range v.Conditions {
		value := conditions.Value{Status: c.Status, Reason: c.Reason, Message: c.Message}
		transitions = append(transitions, conditions.Set(&status.Conditions, c.Type, c.ObservedGeneration, value))
	}
	return transitions
}

func (s *scope) writeRoute() {
	status, route := &s.model.Status, s.facts.Route
	status.HTTPRouteName, status.HTTPRouteNamespace, status.HTTPRouteHostnames = "", "", nil
	status.HTTPRouteGatewayName, status.HTTPRouteGatewayNamespace = route.Gateway.Name, route.Gateway.Namespace
	if route.Object == nil {
		return
	}
	status.HTTPRouteName, status.HTTPRouteNamespace = route.Object.Name, route.Object.Namespace
	for _, h := range route.Object.Spec.Hostnames {
		status.HTTPRouteHostnames = append(status.HTTPRouteHostnames, string(h))
	}
}

// report records one event for each condition that changed. RuntimeReady has none
// of its own: Ready tells the same.
func (r *Reconciler) report(s *scope, transitions []conditions.Transition) {
	for _, t := range transitions {
		switch v1alpha1.ConditionType(t.After.Type) {
		case v1alpha1.ConditionReady:
			r.reportReady(s.model, t)
		case v1alpha1.ConditionGovernanceAttached:
			if t.StatusChanged() && (t.Existed() || t.After.Status == metav1.ConditionTrue) {
				r.emit(s.model, t.After.Reason, t.After)
			}
		case v1alpha1.ConditionModelIdentityUnique:
			r.reportIdentity(s.model, t)
		default:
		}
	}
}

func (r *Reconciler) reportReady(model *v1alpha1.MaaSModelRef, t conditions.Transition) {
	if t.Turned() {
		r.emit(model, t.After.Reason, t.After)
	}
}

func (r *Reconciler) reportIdentity(model *v1alpha1.MaaSModelRef, t conditions.Transition) {
	switch {
	case t.After.Status == metav1.ConditionFalse && t.Changed():
		r.emit(model, t.After.Reason, t.After)
	case t.After.Status == metav1.ConditionTrue && t.Before.Status == metav1.ConditionFalse:
		r.emit(model, string(v1alpha1.EventModelNameConflictResolved), t.After)
	}
}

// emit records an event. A model that waits for its route needs nobody; every other
// condition that does not hold does.
func (r *Reconciler) emit(model *v1alpha1.MaaSModelRef, reason string, c metav1.Condition) {
	severity := corev1.EventTypeNormal
	waiting := c.Type == string(v1alpha1.ConditionReady) && model.Status.Phase == v1alpha1.ModelPhasePending
	if c.Status == metav1.ConditionFalse && !waiting {
		severity = corev1.EventTypeWarning
	}
	r.Events.Eventf(model, nil, severity, reason, string(v1alpha1.ActionReconcile), "%s", conditions.Note(c))
}
