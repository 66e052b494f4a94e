// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/addon"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/rollout"
)

// retryInterval is when to try again what the cluster did not take of an add-on, or what
// others have in its place. It is no error of the reconcile: everything else stands.
const retryInterval = 30 * time.Second

// addOn is a group of shared objects that the installation could do without. It never
// keeps anything else from working, and has a condition of its own.
type addOn struct {
	condition v1alpha1.ConditionType
	state     addon.State
	// requests are its objects, whether the cluster serves their kinds or not.
	requests []render.Request
	// objects are those to be applied.
	objects []*unstructured.Unstructured
}

// plan finds out which add-ons are wanted. It fills state and requests.
type plan func(context.Context, *scope) (*addOn, error)

// plans are those of all add-ons.
func (r *Reconciler) plans() map[v1alpha1.ConditionType]plan {
	return map[v1alpha1.ConditionType]plan{
		v1alpha1.ConditionMonitoringReady: r.monitoring,
		v1alpha1.ConditionUsageLogsReady:  r.usage,
	}
}

// addOns are what the installation has beside what it cannot do without, rendered.
func (r *Reconciler) addOns(ctx context.Context, s *scope) []*addOn {
	plans := r.plans()
	out := make([]*addOn, 0, len(plans))
	for condition, find := range plans {
		a, err := find(ctx, s)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Leaving an add-on as it is", "condition", condition)
			a = &addOn{state: addon.State{Wanted: true, Unread: true}}
		}
		a.condition = condition
		if a.state.Wanted && !a.state.Unread {
			r.renderAddOn(ctx, a, s)
		}
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b *addOn) int { return strings.Compare(string(a.condition), string(b.condition)) })
	return out
}

// renderAddOn renders the objects whose kinds the cluster serves.
func (r *Reconciler) renderAddOn(ctx context.Context, a *addOn, s *scope) {
	apis := optionalAPIs()
	var served []render.Request
	for _, request := range a.requests {
		api, optional := apis[request.ID]
		if !optional {
			served = append(served, request)
			continue
		}
		_, ok, err := r.APIs.Served(api)
		switch {
		case err != nil:
			ctrl.LoggerFrom(ctx).Error(err, "Leaving an add-on as it is", "condition", a.condition)
			a.state.Unread = true
			return
		case ok:
			served = append(served, request)
		default:
			a.state.MissingAPIs = append(a.state.MissingAPIs, api.CRD)
		}
	}
	objects, err := r.Engine.RenderAll(served)
	if err != nil {
		a.state.Unrendered = err.Error()
		return
	}
	owner := ownedBy(s.config)
	owner.Controller = new(true)
	for _, object := range objects {
		object.SetOwnerReferences([]metav1.OwnerReference{owner})
	}
	a.objects = objects
}

// known tells whether all that is wanted of the add-on is known, so that what is not
// wanted may go.
func (a *addOn) known() bool { return !a.state.Unread && a.state.Unrendered == "" }

// placeAddOn applies the objects of an add-on, and says in its condition what came of
// them. What was not taken is tried again.
func (r *Reconciler) placeAddOn(ctx context.Context, s *scope, a *addOn) {
	for _, object := range a.objects {
		result, err := r.applyShared(ctx, object)
		name := describe(object)
		_, foreign := errors.AsType[*apply.ConflictError](err)
		switch {
		case foreign:
			a.state.Foreign = append(a.state.Foreign, name)
		case meta.IsNoMatchError(err): // It went a moment ago, and a look at that is due.
			a.state.Refused = append(a.state.Refused, name)
		case err != nil:
			ctrl.LoggerFrom(ctx).Error(err, "Applying an object of an add-on again later", "object", name)
			a.state.Refused = append(a.state.Refused, name)
		case result.Outcome == apply.OptedOut:
			a.state.OptedOut = append(a.state.OptedOut, name)
		}
		if err == nil && result.Live != nil && !serves(result.Live) {
			a.state.NotAvailable = append(a.state.NotAvailable, name)
		}
		if err == nil && result.Live != nil && !accepted(result.Live) {
			a.state.NotAccepted = append(a.state.NotAccepted, name)
		}
	}
	// Nothing tells when an object of somebody else is gone.
	if len(a.state.Refused)+len(a.state.Foreign) > 0 || a.state.Unread {
		s.soon(retryInterval)
	}
	s.verdicts[a.condition] = addon.Decide(a.state)
}

// serves is false for a Deployment none of whose Pods serves, or that has given up on new
// ones: nothing waits for all of them, and each release replaces them. It is false for a
// collector that lacks Pods. Nothing is known of other kinds.
func serves(live *unstructured.Unstructured) bool {
	switch live.GetKind() {
	case "Deployment":
		serving, err := rollout.Serving(live)
		return err == nil && serving
	case "OpenTelemetryCollector":
		return rollout.Collecting(live)
	default:
		return true
	}
}

// accepted is false for what Perses was told and does not take: its operator says
// Degraded then. One of an earlier release goes on saying so after Perses took it later,
// and says Available beside it. Nothing is known of other kinds.
func accepted(live *unstructured.Unstructured) bool {
	if live.GroupVersionKind().Group != "perses.dev" {
		return true
	}
	list, _, err := unstructured.NestedSlice(live.Object, "status", "conditions")
	says := func(condition string) bool {
		return slices.ContainsFunc(list, func(item any) bool {
			c, ok := item.(map[string]any)
			return ok && c["type"] == condition && c["status"] == string(metav1.ConditionTrue)
		})
	}
	return err != nil || !says("Degraded") || says("Available")
}

// judgeAddOns writes the conditions of the add-ons that were looked at.
func (s *scope) judgeAddOns() {
	for _, condition := range slices.Sorted(maps.Keys(s.verdicts)) {
		switch v := s.verdicts[condition]; {
		case v.Keep:
		case !v.Present:
			conditions.Remove(&s.config.Status.Conditions, condition)
		default:
			s.set(condition, conditions.Value{Status: v.Status, Reason: string(v.Reason), Message: v.Message})
		}
	}
}

// optionalAPIs are the kinds that a cluster may lack, by the templates of their objects.
func optionalAPIs() map[render.ID]facts.API {
	apis := map[render.ID]facts.API{}
	for _, row := range desired.Table() {
		if sharedRow(row) && row.Optional {
			apis[row.ID] = facts.API{GroupKind: row.GVK.GroupKind(), CRD: row.Requires, Versions: []string{row.GVK.Version}}
		}
	}
	return apis
}

// watchOptional watches the optional kinds as soon as they are served, and looks at the
// installation each time one appears or goes.
func (r *Reconciler) watchOptional(ctx context.Context, mgr ctrl.Manager, c controller.Controller) error {
	again := func(context.Context) error { return c.Watch(trigger.EnqueueOnce(theConfig)) }
	seen := map[string]bool{}
	var errs []error
	for _, api := range optionalAPIs() {
		if seen[api.CRD] {
			continue
		}
		seen[api.CRD] = true
		r.APIs.OnGone(api, again)
		errs = append(errs,
			r.APIs.OnFirstServed(ctx, api, func(_ context.Context, gvk schema.GroupVersionKind) error {
				object := &unstructured.Unstructured{}
				object.SetGroupVersionKind(gvk)
				return c.Watch(source.Kind[client.Object](mgr.GetCache(), object, trigger.Enqueue(theConfig), shared()))
			}),
			r.APIs.OnServed(ctx, api, func(ctx context.Context, _ schema.GroupVersionKind) error { return again(ctx) }),
		)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("watch optional kinds of shared objects: %w", err)
	}
	return nil
}
