// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/addon"
	"github.com/opendatahub-io/maas-operator/internal/desired/telemetry"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/desired/usage"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/rollout"
)

// addOn is what a reconcile knows of a part that the tenant works without. What is wrong
// with it degrades the tenant, and keeps nothing else from being written.
type addOn struct {
	condition v1alpha1.ConditionType
	state     addon.State
	// requests are what is wanted and can be written, last those that wait for the others
	// to serve.
	requests, last []render.Request
	// objects are those rendered.
	objects []*unstructured.Unstructured
}

// addOns are those of a tenant whose Gateway exists.
func (r *Reconciler) addOns(ctx context.Context, s *scope) []*addOn {
	logs, err := r.usageLogs(ctx, s)
	s.unextended = errors.Join(s.unextended, err)
	return []*addOn{r.telemetry(s), logs, r.payload(ctx, s)}
}

// telemetry is what labels the metrics of the Gateway.
func (r *Reconciler) telemetry(s *scope) *addOn {
	a := &addOn{condition: v1alpha1.ConditionTelemetryReady, state: addon.State{Name: "Telemetry"}}
	requests, err := telemetry.Build(telemetry.Input{
		Tenant: s.input.Tenant, Spec: s.config.Spec.Telemetry, Labels: tenant.Labels(s.input.Tenant, s.config.Namespace),
	})
	if err != nil {
		a.state.Unrendered = err.Error()
	}
	a.state.Wanted = err != nil || len(requests) > 0
	a.requests = s.offered(a, requests)
	return a
}

// offered leaves out requests of kinds that are not served, and notes what is missing.
func (s *scope) offered(a *addOn, requests []render.Request) []render.Request {
	requires := map[render.ID]string{}
	for _, row := range components() {
		requires[row.ID] = row.Requires
	}
	kept := make([]render.Request, 0, len(requests))
	for _, request := range requests {
		if crd := requires[request.ID]; crd == "" || s.served[crd] {
			kept = append(kept, request)
		} else {
			a.state.MissingAPIs = append(a.state.MissingAPIs, crd)
		}
	}
	return kept
}

// extend brings the add-ons in place. Each is tried, whatever becomes of the others. An
// error is for the work queue, once the status is written.
func (r *Reconciler) extend(ctx context.Context, s *scope) error {
	s.addOns = r.addOns(ctx, s)
	for _, a := range s.addOns {
		if err := r.install(ctx, s, a); err != nil {
			s.unextended = errors.Join(s.unextended, fmt.Errorf("bring %s in place: %w", a.condition, err))
		}
		if verdict := addon.Decide(a.state); verdict.Degrades() {
			s.warn(warningOf(verdict.Reason), verdict.Message)
		}
	}
	return nil
}

// warningOf is the reason of the warning about an add-on: an API that is missing is one
// of the things that administrators should provide.
func warningOf(reason v1alpha1.ConditionReason) v1alpha1.ConditionReason {
	if reason == v1alpha1.ReasonAPIMissing {
		return v1alpha1.ReasonPrerequisitesWarning
	}
	return reason
}

// install renders and applies the objects of one add-on. Nothing of it is written unless
// all of it renders.
func (r *Reconciler) install(ctx context.Context, s *scope, a *addOn) error {
	if !a.state.Wanted || a.state.Unrendered != "" || a.state.Unread {
		return nil
	}
	first, err := r.Engine.RenderAll(a.requests)
	if err == nil {
		var last []*unstructured.Unstructured
		last, err = r.Engine.RenderAll(a.last)
		a.objects = append(first, last...) //nolint:gocritic // What is rendered first is kept as it is.
	}
	if err != nil {
		a.objects, a.state.Unrendered = nil, err.Error()
		return nil //nolint:nilerr // The status says so; trying again renders the same.
	}
	if err := r.rescale(ctx, s, a); err != nil {
		a.state.Unread = true
		return err
	}
	var errs []error
	errs = append(errs, r.supply(ctx, s, a, first...))
	last := a.objects[len(first):]
	ready, err := s.serving(a, s.hadAll(last))
	errs = append(errs, err)
	if ready {
		errs = append(errs, r.supply(ctx, s, a, last...))
	} else {
		a.objects = first // Until then the others must not exist.
	}
	r.heed(s, a)
	return errors.Join(errs...)
}

// hadAll tells whether the objects were in place before.
func (s *scope) hadAll(objects []*unstructured.Unstructured) bool {
	for _, object := range objects {
		if !s.inventoried[apply.InventoryOf(object)[0]] {
			return false
		}
	}
	return true
}

// supply records objects in the inventory, then brings them in place.
func (r *Reconciler) supply(ctx context.Context, s *scope, a *addOn, objects ...*unstructured.Unstructured) error {
	if err := r.record(ctx, s, apply.InventoryOf(objects...)); err != nil {
		a.state.Unread = true
		return err
	}
	var errs []error
	for _, object := range objects {
		errs = append(errs, r.supplyOne(ctx, s, a, object))
	}
	return errors.Join(errs...)
}

// supplyOne brings one object in place, or notes why it could not.
func (r *Reconciler) supplyOne(ctx context.Context, s *scope, a *addOn, object *unstructured.Unstructured) error {
	name, ref := nameOf(object), apply.InventoryOf(object)[0]
	other, err := r.ownedByOther(ctx, s, object)
	if err != nil {
		a.state.Unread = true
		return err
	}
	if other {
		s.foreign(a, name)
		return nil
	}
	result, err := r.Applier.ApplyWith(ctx, object, scaled(object))
	_, theirs := errors.AsType[*apply.ConflictError](err)
	switch {
	case err == nil:
	case theirs:
		s.foreign(a, name)
		return nil
	case apierrors.IsConflict(err):
		a.state.Unread = true
		return err
	default:
		a.state.Refused = append(a.state.Refused, name)
		return err
	}
	s.live[ref] = result.Live
	if result.Outcome == apply.OptedOut && !writtenOnce(object) {
		a.state.OptedOut = append(a.state.OptedOut, name)
	}
	if result.Repaired {
		r.tellRepaired(ctx, s, object)
	}
	return nil
}

// scaled keeps the number of Pods of a Deployment that does not say one: an autoscaler
// goes on from it.
func scaled(object *unstructured.Unstructured) apply.CallOptions {
	if object.GetKind() != "Deployment" {
		return apply.CallOptions{}
	}
	return apply.CallOptions{Keep: []string{"spec", "replicas"}}
}

// foreign notes an object of somebody else. Nothing tells when it is gone.
func (s *scope) foreign(a *addOn, name string) {
	a.state.Foreign = append(a.state.Foreign, name)
	s.lookAgain(handBackDelay)
}

// writtenOnce holds for what is written to be changed by others: it says so itself.
func writtenOnce(object *unstructured.Unstructured) bool {
	return object.GetKind() == "ConfigMap" && object.GetAnnotations()[v1alpha1.AnnotationManaged] == "false"
}

// serving tells whether what waits for the Deployments of an add-on may be written, and
// notes which do not serve. Before it is written for the first time as many Pods as are
// wished must run. After that Pods come and go, with the load and with each release.
func (s *scope) serving(a *addOn, already bool) (bool, error) {
	enough := rollout.Complete
	if already {
		enough = rollout.Serving
	}
	ready := len(a.state.Refused)+len(a.state.Foreign) == 0 && !a.state.Unread
	for _, object := range a.objects {
		live := s.live[apply.InventoryOf(object)[0]]
		if object.GetKind() != "Deployment" || live == nil {
			continue
		}
		out, err := enough(live)
		if err != nil {
			a.state.Unread = true
			return false, err
		}
		if !out {
			ready = false
			a.state.NotAvailable = append(a.state.NotAvailable, nameOf(object))
		}
	}
	return ready || already, nil
}

// heed notes what Kuadrant says of policies among the objects. That it says nothing is no
// reason to complain: what it is extended by may be switched off, and nothing else
// depends on it.
func (r *Reconciler) heed(s *scope, a *addOn) {
	for _, object := range a.objects {
		live := s.live[apply.InventoryOf(object)[0]]
		if live == nil || kuadrant.TargetGateway(live) == "" {
			continue
		}
		readiness := kuadrant.ReadinessOf(live, r.Clock.Now())
		switch {
		case readiness.Enforced:
		case !readiness.Waiting:
			a.state.NotAccepted = append(a.state.NotAccepted, nameOf(object))
		case !readiness.Until.IsZero():
			s.lookAgain(readiness.Until.Sub(r.Clock.Now()))
		}
	}
}

// additions are the objects of add-ons that are wanted.
func (s *scope) additions() []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, a := range s.addOns {
		objects = append(objects, a.objects...)
	}
	return objects
}

// uncertain tells of a kind whether it is among those of an add-on of which it is not
// known what it should consist of: what there is of them stays. A processor goes with what
// has the gateway ask it, which is of the same kind as what logs usage.
func (s *scope) uncertain(kind schema.GroupKind) bool {
	for _, a := range s.addOns {
		if a.state.Unrendered == "" && !a.state.Unread {
			continue
		}
		labels := a.condition == v1alpha1.ConditionTelemetryReady
		for _, row := range components() {
			of := row.ID == telemetry.PolicyTemplate || row.ID == telemetry.LatencyTemplate
			if !labels {
				of = row.ID == usage.AccessLogTemplate || strings.HasPrefix(string(row.ID), "payload/")
			}
			if of && row.GVK.GroupKind() == kind {
				return true
			}
		}
	}
	return false
}

// decideAddOns puts what is known of the add-ons into the status. Where they were not
// looked at, what was known may still hold.
func (s *scope) decideAddOns() {
	list := &s.config.Status.Conditions
	if s.facts.Halt.Idle {
		for _, kind := range addOnConditions() {
			conditions.Remove(list, kind)
		}
	}
	for _, a := range s.addOns {
		switch verdict := addon.Decide(a.state); {
		case !verdict.Present:
			conditions.Remove(list, a.condition)
		case !verdict.Keep:
			value := conditions.Value{Status: verdict.Status, Reason: string(verdict.Reason), Message: verdict.Message}
			s.transitions = append(s.transitions, conditions.Set(list, a.condition, s.config.Generation, value))
		}
	}
}

// addOnConditions are the types of conditions about add-ons.
func addOnConditions() []v1alpha1.ConditionType {
	return []v1alpha1.ConditionType{v1alpha1.ConditionTelemetryReady, v1alpha1.ConditionPayloadProcessingReady, v1alpha1.ConditionUsageLogsReady}
}
