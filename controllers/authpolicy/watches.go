// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authpolicy

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// SetupWithManager registers the controller and its watches; that of the
// generated policies as soon as the cluster serves their kind.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, apis *facts.OptionalAPIs) error {
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("authpolicy").
		For(&v1alpha1.MaaSAuthPolicy{}, builder.WithPredicates(trigger.SpecChanged)).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.MaxConcurrentReconciles}).
		Watches(&v1alpha1.MaaSModelRef{}, r.referrers().OfModel(), builder.WithPredicates(trigger.ModelPresence)).
		Watches(&v1alpha1.AITenant{}, r.referrers().All(), builder.WithPredicates(trigger.OnUpdate(trigger.TenantMoved))).
		Watches(&v1alpha1.MaasTenantConfig{}, r.referrers().OfNamespace(), builder.WithPredicates(trigger.OnUpdate(trigger.Drifted))).
		Watches(&v1alpha1.Tenant{}, r.referrers().OfNamespace(), builder.WithPredicates(trigger.OnUpdate(trigger.Drifted))).
		Watches(&corev1.Namespace{}, r.referrers().OfNamespace(), builder.WithPredicates(trigger.TenantNamespace)).
		Build(r)
	if err != nil {
		return fmt.Errorf("set up controller authpolicy: %w", err)
	}
	return trigger.WatchPolicies(ctx, apis, trigger.AuthPolicies, trigger.Watch{Controller: c, Cache: mgr.GetCache(), Handler: trigger.Enqueue(r.concerned)})
}

// concerned lists the objects that contribute to a generated policy, or whose
// models use the route that a foreign one targets.
func (r *Reconciler) concerned(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	if key, ours := trigger.ModelOfPolicy(object); ours {
		return r.referrers().OfModelKey(ctx, key)
	}
	policy, ok := object.(*unstructured.Unstructured)
	if !ok || kuadrant.TargetRoute(policy) == "" {
		return nil, nil
	}
	route := index.Key(policy.GetNamespace(), kuadrant.TargetRoute(policy))
	models, err := trigger.Keys(ctx, r.Client, &v1alpha1.MaaSModelRefList{}, client.MatchingFields{index.ModelByRoute: route})
	if err != nil {
		return nil, err
	}
	var out []types.NamespacedName
	for _, model := range models {
		keys, err := r.referrers().OfModelKey(ctx, model)
		if err != nil {
			return nil, err
		}
		out = append(out, keys...)
	}
	return out, nil
}

func (r *Reconciler) referrers() trigger.Referrers {
	return trigger.Referrers{
		Reader: r.Client,
		List:   func() client.ObjectList { return &v1alpha1.MaaSAuthPolicyList{} },
		Index:  index.AuthPolicyByModel,
	}
}
