// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authpolicy

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/index"
)

// SetupWithManager registers the controller and its watches. The watch of the
// generated policies, with [Reconciler.PolicyHandler], is added by the caller
// once their kind exists.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) (controller.Controller, error) {
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("authpolicy").
		For(&v1alpha1.MaaSAuthPolicy{}, builder.WithPredicates(trigger.SpecChanged)).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.MaxConcurrentReconciles}).
		Watches(&v1alpha1.MaaSModelRef{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
			return r.referring(ctx, client.ObjectKeyFromObject(object))
		}), builder.WithPredicates(trigger.ModelPresence)).
		Build(r)
	if err != nil {
		return nil, fmt.Errorf("set up controller authpolicy: %w", err)
	}
	return c, nil
}

// PolicyHandler enqueues the objects that a generated policy holds.
func (r *Reconciler) PolicyHandler() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		var out []reconcile.Request
		for _, key := range trigger.ModelOfPolicy(object) {
			out = append(out, r.referring(ctx, key)...)
		}
		return out
	})
}

// referring lists the objects that refer to a model.
func (r *Reconciler) referring(ctx context.Context, model types.NamespacedName) []reconcile.Request {
	var list v1alpha1.MaaSAuthPolicyList
	if err := r.Client.List(ctx, &list, client.MatchingFields{index.AuthPolicyByModel: model.String()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing MaaSAuthPolicies of a model", "MaaSModelRef", model)
		return nil
	}
	out := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return out
}
