// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

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
	if r.brake.holds(req) {
		return reconcile.Result{RequeueAfter: stallPoll}, nil
	}
	r.clock.observe(req, u.GetGeneration())
	if wait := r.clock.remaining(req); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}

	p := newPolicy(req.kind, u)
	t, err := r.survey(ctx, p)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("survey around %s %s: %w", req.kind, req.name, err)
	}
	return reconcile.Result{}, r.write(ctx, u, r.checker.judge(p, t))
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
