// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/index"
)

// SetupWithManager registers the controller and its watches. The watch of the
// generated policies, with [Reconciler.PolicyHandler], is added by the caller
// once their kind exists.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) (controller.Controller, error) {
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("subscription").
		For(&v1alpha1.MaaSSubscription{}, builder.WithPredicates(trigger.SpecChanged)).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.MaxConcurrentReconciles}).
		Watches(&v1alpha1.MaaSModelRef{}, r.referrers().OfModel(), builder.WithPredicates(trigger.ModelPresence)).
		Build(r)
	if err != nil {
		return nil, fmt.Errorf("set up controller subscription: %w", err)
	}
	return c, nil
}

// PolicyHandler enqueues the objects that contribute to a generated policy.
func (r *Reconciler) PolicyHandler() handler.EventHandler { return r.referrers().OfPolicy() }

func (r *Reconciler) referrers() trigger.Referrers {
	return trigger.Referrers{
		Reader: r.Client,
		List:   func() client.ObjectList { return &v1alpha1.MaaSSubscriptionList{} },
		Index:  index.SubscriptionByModel,
	}
}
