// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/test/standins/status"
)

// stallPoll is how often a stalled stand-in looks whether it may go on.
const stallPoll = 100 * time.Millisecond

// request names one policy.
type request struct {
	kind Kind
	name types.NamespacedName
}

type reconciler struct {
	client  client.Client
	checker *checker
	clock   *clock
	brake   *brake
	losses  *losses
}

// Reconcile brings the status of one policy up to date.
func (r *reconciler) Reconcile(ctx context.Context, req request) (reconcile.Result, error) {
	u := newUnstructured(req.kind)
	if err := r.client.Get(ctx, req.name, u); err != nil {
		r.clock.forget(req)
		r.brake.forget(req)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !u.GetDeletionTimestamp().IsZero() || u.GetAnnotations()[AnnotationStall] == "true" {
		return reconcile.Result{}, nil
	}
	if r.losses.holds(req, versionOf(u)) {
		return reconcile.Result{}, nil
	}
	if !r.brake.begin(req) {
		return reconcile.Result{RequeueAfter: stallPoll}, nil
	}
	defer r.brake.end()
	r.clock.observe(req, u.GetGeneration())
	if wait := r.clock.remaining(req); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}

	p := newPolicy(req.kind, u)
	t, err := r.survey(ctx, p)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("survey around %s %s: %w", req.kind, req.name, err)
	}
	if r.losses.lose(req, versionOf(u)) {
		return reconcile.Result{}, nil
	}
	if err := r.write(ctx, u, r.checker.judge(p, t)); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.mark(ctx, p)
}

// mark says in the status of a route that an AuthPolicy concerns it, as the real
// operator does at the end of a pass.
func (r *reconciler) mark(ctx context.Context, p *policy) error {
	if p.kind != AuthPolicy || p.target.kind != kindHTTPRoute {
		return nil
	}
	route := &gwapiv1.HTTPRoute{}
	if err := r.client.Get(ctx, p.target.name, route); err != nil {
		return client.IgnoreNotFound(err)
	}
	before := route.DeepCopy()
	markAffected(route)
	if equality.Semantic.DeepEqual(before.Status, route.Status) {
		return nil
	}
	if err := r.client.Status().Update(ctx, route); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("update status of HTTPRoute %s: %w", p.target.name, err))
	}
	return nil
}

// markAffected adds the condition for each Gateway that the route names.
//
// Source: kuadrant-operator 1.5, internal/controller/route_policy_discoverability_reconciler.go.
func markAffected(route *gwapiv1.HTTPRoute) {
	for _, ref := range route.Spec.ParentRefs {
		if !isGateway(ref) {
			continue
		}
		name := gatewayName(route, ref)
		at := slices.IndexFunc(route.Status.Parents, func(s gwapiv1.RouteParentStatus) bool {
			return s.ControllerName == policyController && gatewayName(route, s.ParentRef) == name
		})
		if at < 0 {
			at = len(route.Status.Parents)
			route.Status.Parents = append(route.Status.Parents, gwapiv1.RouteParentStatus{
				ControllerName: policyController,
				ParentRef: gwapiv1.ParentReference{
					Kind: new(gwapiv1.Kind(kindGateway)), Namespace: new(gwapiv1.Namespace(name.Namespace)), Name: gwapiv1.ObjectName(name.Name),
				},
			})
		}
		c := status.Condition("kuadrant.io/AuthPolicyAffected", true, "Accepted", "Object affected by AuthPolicy")
		c.ObservedGeneration = route.Generation
		meta.SetStatusCondition(&route.Status.Parents[at].Conditions, c)
	}
}

// write updates the status when it is not right yet.
func (r *reconciler) write(ctx context.Context, u *unstructured.Unstructured, v verdict) error {
	conditions, err := status.Conditions(u)
	if err != nil {
		return err
	}
	observed, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	if !v.applyTo(&conditions) && observed == u.GetGeneration() {
		return nil
	}
	u = u.DeepCopy()
	typed := struct {
		ObservedGeneration int64              `json:"observedGeneration,omitempty"`
		Conditions         []metav1.Condition `json:"conditions,omitempty"`
	}{ObservedGeneration: u.GetGeneration(), Conditions: conditions}
	if err := status.Set(u, &typed); err != nil {
		return err
	}
	err = r.client.Status().Update(ctx, u)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("update status of %s %s/%s: %w", u.GetKind(), u.GetNamespace(), u.GetName(), err)
	}
	ctrl.LoggerFrom(ctx).V(1).Info("Wrote policy status", "kind", u.GetKind(), "policy", client.ObjectKeyFromObject(u).String(),
		"generation", u.GetGeneration())
	return nil
}

func newUnstructured(kind Kind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind.GVK())
	return u
}
