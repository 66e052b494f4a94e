// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/internal/render"
)

// guard writes the policies of the Gateway itself, whatever else is missing: from the
// moment the Gateway is the tenant's, it lets nobody in whom no policy admits. What the
// user has to correct first, such as the provider, does not hold them up. Only a policy
// of an earlier release does, see [Reconciler.succeed].
func (r *Reconciler) guard(ctx context.Context, s *scope) error {
	if s.gateway == nil {
		return nil
	}
	var unread error
	s.input.AcceptKeyHeader, unread = r.acceptsKeyHeader(ctx, s)
	out, err := tenant.Build(s.input)
	if _, user := apperr.AsUser(err); err != nil && !user {
		return s.unbuildable(err)
	}
	if err := r.succeed(ctx, s); err != nil {
		return err
	}
	requests := s.unheld(out.Guard)
	if unread == nil { // The phase that computes the rest says so.
		requests = slices.Concat(requests, s.standing(out.Access()))
	}
	return r.place(ctx, s, r.render(s, s.writable(requests)))
}

// standing are the requests for objects that were written before. The policy of
// maas-api is kept as it should be as long as there is a route, also while what maas-api
// itself needs is missing; the first time it comes with the rest.
func (s *scope) standing(requests []render.Request) []render.Request {
	recorded := s.recorded()
	return slices.DeleteFunc(requests, func(r render.Request) bool {
		return !slices.ContainsFunc(recorded, func(ref apply.Ref) bool {
			return ref.Kind == kuadrant.AuthPolicy.Kind && ref.Namespace == r.Namespace && ref.Name == r.Name
		})
	})
}

// compute decides what should exist, and renders it. Nothing is written unless all of
// it renders.
func (r *Reconciler) compute(ctx context.Context, s *scope) (err error) {
	if s.input.AcceptKeyHeader, err = r.acceptsKeyHeader(ctx, s); err != nil {
		return err
	}
	if s.input.Selector, err = r.selector(ctx, s); err != nil {
		return err
	}
	if s.input.Leads, err = r.kept(ctx, s); err != nil {
		return err
	}
	out, err := tenant.Build(s.input)
	if err != nil {
		return s.unbuildable(err)
	}
	for _, w := range out.Warnings {
		s.warn(w.Reason, w.Message)
	}
	s.objects = r.render(s, slices.Concat(s.unheld(out.Guard), out.Workload))
	return nil
}

// selector reads what the tenant's Deployment selects by; nil when there is none. The
// cache lacks one that an earlier release did not label as the operator's.
func (r *Reconciler) selector(ctx context.Context, s *scope) (labels map[string]string, err error) {
	key := types.NamespacedName{Namespace: r.Settings.InfraNamespace, Name: s.input.Tenant.MaaSAPI()}
	for _, reader := range []client.Reader{r.Client, r.APIReader} {
		live, err := fetch.Optional(ctx, reader, key, operand(appsv1.SchemeGroupVersion.WithKind("Deployment")))
		if err != nil {
			return nil, err
		}
		if live != nil {
			labels, _, err = unstructured.NestedStringMap(live.Object, "spec", "selector", "matchLabels")
			return labels, err
		}
	}
	return nil, nil
}

// unbuildable puts an error of the pure part into words.
func (s *scope) unbuildable(err error) error {
	if user, ok := apperr.AsUser(err); ok {
		s.fail(v1alpha1.ConditionReason(user.Reason), user.Message)
		return nil
	}
	s.fail(v1alpha1.ReasonPlatformReconcileFailed, "It could not be computed what the tenant needs; see the controller's log. What runs stays in place.")
	return err
}

// render makes objects of requests. What cannot be rendered stops the reconcile:
// trying again renders the same.
func (r *Reconciler) render(s *scope, requests []render.Request) []*unstructured.Unstructured {
	objects, err := r.Engine.RenderAll(requests)
	if err != nil {
		s.fail(v1alpha1.ReasonPlatformReconcileFailed, fmt.Sprintf("The tenant's objects could not be rendered: %v. What runs stays in place.", err))
		return nil
	}
	for _, object := range objects {
		s.claim(object)
	}
	return objects
}

// claim makes the config the owner of the Roles and RoleBindings in its own namespace.
// Objects elsewhere cannot be owned by it, and policies never are: an owner's deletion
// would take along what somebody opted out of management.
func (s *scope) claim(object *unstructured.Unstructured) {
	kind := object.GroupVersionKind().GroupKind()
	if object.GetNamespace() != s.config.Namespace || kind.Group != rbacv1.GroupName {
		return
	}
	object.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindMaasTenantConfig,
		Name: s.config.Name, UID: s.config.UID, Controller: new(true),
	}})
}

// write brings everything in place that is wanted.
func (r *Reconciler) write(ctx context.Context, s *scope) error { return r.place(ctx, s, s.objects) }

// place records objects in the inventory, then applies them. The route comes last and
// only when all before it succeeded. It leads somewhere when it is guarded, see
// [Reconciler.open].
func (r *Reconciler) place(ctx context.Context, s *scope, objects []*unstructured.Unstructured) error {
	if s.stopped {
		return nil
	}
	if err := r.record(ctx, s, apply.InventoryOf(objects...)); err != nil {
		return err
	}
	var errs []error
	for _, object := range objects {
		ref := apply.InventoryOf(object)[0]
		if s.placed[ref] || isRoute(object) && (len(errs) > 0 || s.unguarded) {
			continue
		}
		s.placed[ref] = true
		if err := r.apply(ctx, s, object); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// isAuthPolicy holds for what decides who may pass. While it is another's, no route is
// written that it would open.
func isAuthPolicy(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind() == kuadrant.AuthPolicy
}

func isRoute(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().Group == gwapiv1.GroupName
}

// record adds to the inventory what is about to be written. Without this a crash
// after the write would leave an object that nothing names.
func (r *Reconciler) record(ctx context.Context, s *scope, wanted apply.Inventory) error {
	recorded := s.recorded()
	if len(wanted.Without(recorded)) == 0 {
		return nil
	}
	s.config.Status.Inventory = recorded.Union(wanted).Entries()
	if _, err := conditions.PatchStatus(ctx, r.Client, s.before, s.config, client.FieldOwner(v1alpha1.FieldOwner)); err != nil {
		return err
	}
	s.before = s.config.DeepCopy()
	return nil
}

// apply brings one object in place. What somebody opted out of management, or what
// another controller owns, stays as it is, and a warning says so.
func (r *Reconciler) apply(ctx context.Context, s *scope, object *unstructured.Unstructured) error {
	name := nameOf(object)
	other, err := r.ownedByOther(ctx, s, object)
	if err != nil {
		return err
	}
	if other {
		if isAuthPolicy(object) {
			s.unguarded = true
			s.lookAgain(handBackDelay)
		}
		s.warn(v1alpha1.ReasonForeignObject, fmt.Sprintf("%s is owned by another controller and was left alone: remove its controller reference, or delete it.", name))
		return nil
	}
	var opts apply.CallOptions
	if isRoute(object) {
		// What leads somewhere was judged as this object, with these rules.
		opts.UID, opts.Generation = s.input.Leads.Route, s.input.Leads.Generation
	}
	result, err := r.Applier.ApplyWith(ctx, object, opts)
	if err != nil {
		return s.unwritable(name, err)
	}
	ref := apply.InventoryOf(object)[0]
	s.live[ref] = result.Live
	if result.Outcome == apply.OptedOut {
		s.handsOff[ref] = true
		s.warn(v1alpha1.ReasonOptedOut, fmt.Sprintf("%s is annotated %s=false and was left alone: remove the annotation to have it managed again.", name, v1alpha1.AnnotationManaged))
	}
	// A route that somebody deleted is made anew in another state than it had.
	if result.Repaired || isRoute(object) && result.Outcome == apply.Created && s.inventoried[ref] {
		ctrl.LoggerFrom(ctx).Info("Repairing a generated object that somebody changed or deleted", "objectKind", object.GetKind(), "object", object.GetName())
		r.Events.Eventf(s.config, object, corev1.EventTypeWarning, string(v1alpha1.EventDriftRepaired), string(v1alpha1.ActionReconcile),
			"Somebody changed or deleted %s, and it was put back. Annotate it %s=false to manage it by hand.", name, v1alpha1.AnnotationManaged)
	}
	return nil
}

// unwritable puts a refused write into words. One that met a newer object means
// nothing.
func (s *scope) unwritable(name string, err error) error {
	conflict, foreign := errors.AsType[*apply.ConflictError](err)
	switch {
	case foreign:
		s.fail(v1alpha1.ReasonForeignObject, conflict.Error()+".")
	case errors.Is(err, apply.ErrTerminating):
		s.fail(v1alpha1.ReasonPlatformReconcileFailed, name+" is being deleted and waits for finalizers that others put on it. Remove them, so that it can be made anew.")
	case apierrors.IsConflict(err):
		s.stale = true
	default:
		s.fail(v1alpha1.ReasonPlatformReconcileFailed, "The cluster refused "+name+"; see the controller's log. It is tried again.")
	}
	return err
}

// ownedByOther tells whether another controller owns the live object. One that could
// not be read is not taken for free.
func (r *Reconciler) ownedByOther(ctx context.Context, s *scope, object *unstructured.Unstructured) (bool, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(object.GroupVersionKind())
	live, err := fetch.Optional(ctx, r.Client, client.ObjectKeyFromObject(object), live)
	if err != nil || live == nil {
		return false, err
	}
	owner := metav1.GetControllerOf(live)
	return owner != nil && owner.UID != s.config.UID && owner.UID != s.anchor, nil
}

// nameOf names an object for people.
func nameOf(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetKind() + " " + object.GetName()
	}
	return object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
}
