// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/addon"
	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// components are the first parts of the ids of the templates of shared objects.
func components() []string { return []string{"platform/", "observability/", "usage/"} }

// sharedRow tells whether a row of the component table is of a shared object.
func sharedRow(row desired.Component) bool {
	return slices.ContainsFunc(components(), func(c string) bool { return strings.HasPrefix(string(row.ID), c) })
}

// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterroles,verbs=list;watch
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterroles,resourceNames=maas-api;payload-processing-reader,verbs=get;create;update;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;update;patch;delete

// share makes the shared objects what they should be. Whatever it is about to write is
// recorded first, and what is no longer wanted goes last.
func (r *Reconciler) share(ctx context.Context, s *scope) error {
	objects, err := r.wanted(s)
	if user, ok := apperr.AsUser(err); ok {
		s.fail(v1alpha1.ConditionReason(user.Reason), user.Message)
		return nil
	}
	if err != nil {
		return err
	}
	addOns := r.addOns(ctx, s)
	current, known := apply.InventoryOf(objects...), true
	for _, a := range addOns {
		current, known = current.Union(apply.InventoryOf(a.objects...)), known && a.known()
	}
	if err := r.record(ctx, s, s.inventory.Union(current)); err != nil {
		return err
	}
	complete := true
	var errs []error
	for _, object := range objects {
		placed, err := r.place(ctx, s, object)
		complete, errs = complete && placed, append(errs, err)
	}
	for _, a := range addOns {
		r.placeAddOn(ctx, s, a)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.shared = complete
	if !known {
		return nil // What is not wanted any more goes when that is known.
	}
	pruned, err := r.Applier.Prune(ctx, s.inventory, current, apply.PruneOptions{Tracking: tenancy.SharedTracking()})
	s.inventory = pruned.Inventory
	return err
}

// wanted renders the shared objects; nothing is applied unless all render.
func (r *Reconciler) wanted(s *scope) ([]*unstructured.Unstructured, error) {
	out, err := platform.Build(platform.Input{
		Config: s.config, Platform: r.Settings.Platform,
		ControllerNamespace: r.Settings.ControllerNamespace, InfraNamespace: r.Settings.InfraNamespace,
		GatewayNamespace: r.Settings.GatewayNamespace, MonitoringNamespace: r.Settings.MonitoringNamespace,
		AuthorinoNamespaces: r.Settings.AuthorinoNamespaces, PayloadProcessing: r.Settings.PayloadProcessing,
	})
	if err != nil {
		return nil, err
	}
	for _, warning := range out.Warnings {
		s.note(warning)
	}
	objects, err := r.Engine.RenderAll(out.Requests)
	if err != nil {
		return nil, apperr.Userf(v1alpha1.ReasonRenderFailed, "The shared objects could not be rendered: %v. The last good ones stay in place.", err)
	}
	owner := ownedBy(s.config)
	owner.Controller = new(true)
	for _, object := range objects {
		object.SetOwnerReferences([]metav1.OwnerReference{owner})
	}
	return objects, nil
}

// record writes the inventory into the status when it grew.
func (r *Reconciler) record(ctx context.Context, s *scope, inventory apply.Inventory) error {
	s.inventory = inventory
	after := s.config.DeepCopy()
	after.Status.Inventory = inventory.Entries()
	if _, err := conditions.PatchStatus(ctx, r.Client, s.config, after, client.FieldOwner(v1alpha1.FieldOwner)); err != nil {
		return fmt.Errorf("record what is about to be written: %w", err)
	}
	s.config = after
	return nil
}

// place applies one object and tells whether it is there as it should be, or as
// somebody wants it who opted it out. What somebody has to act on is said in the
// condition and keeps nothing else from being applied.
func (r *Reconciler) place(ctx context.Context, s *scope, object *unstructured.Unstructured) (bool, error) {
	result, err := r.applyShared(ctx, object)
	if conflict, ok := errors.AsType[*apply.ConflictError](err); ok {
		s.fail(v1alpha1.ReasonForeignObject, conflict.Error()+".")
		return false, nil
	}
	switch {
	case result.Outcome == apply.OptedOut:
		s.note(fmt.Sprintf("%s is not managed because of its annotation %s=false: remove the annotation to hand it back.", describe(object), v1alpha1.AnnotationManaged))
		return true, nil
	case refusesEgress(err):
		s.fail(v1alpha1.ReasonApplyFailed, fmt.Sprintf("The cluster refuses %s: correct spec.networkPolicyEgressRules and spec.networkPolicyAdditionalEgressRules of Config %s. The last good one stays in place.", describe(object), v1alpha1.ConfigName))
		return false, nil
	case errors.Is(err, apply.ErrTerminating):
		s.fail(v1alpha1.ReasonApplyFailed, describe(object)+" is being deleted and waits for finalizers that others put on it. Remove them, so that it can be made anew.")
	}
	return err == nil, err
}

// applyShared applies one object, and takes over what an earlier release made for the
// Config without the label.
func (r *Reconciler) applyShared(ctx context.Context, object *unstructured.Unstructured) (apply.Result, error) {
	result, err := r.Applier.Apply(ctx, object)
	if _, conflict := errors.AsType[*apply.ConflictError](err); conflict && result.Live != nil &&
		slices.ContainsFunc(result.Live.GetOwnerReferences(), refersToConfig) {
		return r.Applier.ApplyWith(ctx, object, apply.CallOptions{Adopt: true})
	}
	return result, err
}

// refusesEgress holds when the API server finds fault with the egress rules of a
// NetworkPolicy: its checks are stricter than those of a Config.
func refusesEgress(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && apierrors.IsInvalid(err) && status.ErrStatus.Details != nil &&
		slices.ContainsFunc(status.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool { return strings.HasPrefix(c.Field, "spec.egress") })
}

func describe(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetKind() + " " + object.GetName()
	}
	return object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
}

// sharedKinds are the kinds of shared objects, sorted; those that every cluster serves,
// or all.
func sharedKinds(optional bool) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, row := range desired.Table() {
		if sharedRow(row) && (optional || !row.Optional) && !slices.Contains(kinds, row.GVK) {
			kinds = append(kinds, row.GVK)
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return kinds
}

// removeShared deletes the shared objects: those recorded, and those that carry the
// labels. Whatever opted out of management stays behind, and the condition says so.
func (r *Reconciler) removeShared(ctx context.Context, s *scope) error {
	pruned, err := r.Applier.Prune(ctx, s.inventory, nil, apply.PruneOptions{Tracking: tenancy.SharedTracking()})
	s.inventory = pruned.Inventory
	deletions := pruned.Deletions
	for condition := range r.plans() {
		s.verdicts[condition] = addon.Verdict{} // There is nothing to say of what goes.
	}
	for _, kind := range sharedKinds(true) {
		more, listErr := r.Applier.DeleteAllByLabels(ctx, kind, tenancy.SharedTracking(), "")
		err, deletions = errors.Join(err, listErr), append(deletions, more...)
	}
	for _, d := range deletions {
		if d.Outcome == apply.OptedOut {
			s.note(fmt.Sprintf("%s is annotated %s=false and stays behind: delete it when it is no longer needed.", d.Ref, v1alpha1.AnnotationManaged))
		}
	}
	return err
}
