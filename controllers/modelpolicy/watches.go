// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// SetupWithManager registers the controller and its watches; those of the
// generated policies as soon as the cluster serves their kinds.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	r.paced = newPacer(clock.RealClock{})
	tenants := r.paced.collect(r.allModels)
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("modelpolicy").
		WithOptions(trigger.Options(r.MaxConcurrentReconciles)).
		Watches(&v1alpha1.MaaSModelRef{}, trigger.Enqueue(r.sharingRoute), when(trigger.ModelMoved)).
		Watches(&v1alpha1.MaaSModelRef{}, trigger.EnqueueAfter(itself, r.paced.settle), when(judged)).
		Watches(&v1alpha1.MaaSAuthPolicy{}, r.paced.collect(modelsOfAuthPolicy), when(trigger.NewGeneration)).
		Watches(&v1alpha1.MaaSSubscription{}, r.paced.collect(modelsOfSubscription), when(subscriptionChanged)).
		Watches(&v1alpha1.AITenant{}, tenants, when(trigger.TenantMoved)).
		Watches(&v1alpha1.Tenant{}, tenants, when(trigger.Drifted)).
		Watches(&v1alpha1.MaasTenantConfig{}, tenants, when(trigger.Drifted)).
		Watches(&corev1.Namespace{}, tenants, builder.WithPredicates(trigger.TenantNamespace)).
		Build(r.Metrics.Wrap("modelpolicy", v1alpha1.KindMaaSModelRef, r))
	if err != nil {
		return fmt.Errorf("set up controller modelpolicy: %w", err)
	}
	drift := trigger.Watch{Controller: c, Cache: mgr.GetCache(), Handler: drifted(trigger.EnqueueAfter(r.modelsOfPolicy, r.paced.settle))}
	for _, api := range policyAPIs() {
		if err := trigger.WatchPolicies(ctx, r.APIs, api, drift); err != nil {
			return fmt.Errorf("watch %s: %w", api.CRD, err)
		}
		lookAgain := func() error { return c.Watch(trigger.EnqueueOnce(r.allModels)) }
		if err := r.APIs.OnServed(ctx, api, func(context.Context, schema.GroupVersionKind) error { return lookAgain() }); err != nil {
			return fmt.Errorf("enqueue models for %s: %w", api.CRD, err)
		}
		r.APIs.OnGone(api, func(context.Context) error { return lookAgain() })
	}
	return r.watchInference(ctx, mgr, c)
}

// when lets pass the updates that matter; creations and deletions always do.
func when(changed func(before, after client.Object) bool) builder.WatchesOption {
	return builder.WithPredicates(trigger.OnUpdate(changed))
}

// judged holds when this controller's conditions changed. That is our own write: a
// look that came between the write and its arrival in the cache compared with the
// old status, and may have left out what had to be written.
func judged(before, after client.Object) bool {
	a, ok := before.(*v1alpha1.MaaSModelRef)
	b, alsoOK := after.(*v1alpha1.MaaSModelRef)
	return ok && alsoOK && slices.ContainsFunc(ownConditions(), func(kind v1alpha1.ConditionType) bool {
		return !equality.Semantic.DeepEqual(meta.FindStatusCondition(a.Status.Conditions, string(kind)), meta.FindStatusCondition(b.Status.Conditions, string(kind)))
	})
}

func itself(_ context.Context, object client.Object) ([]types.NamespacedName, error) {
	return []types.NamespacedName{client.ObjectKeyFromObject(object)}, nil
}

// policyAPIs are the kinds this controller writes.
func policyAPIs() []facts.API {
	return []facts.API{trigger.AuthPolicies, trigger.TokenRateLimitPolicies}
}

// collect enqueues the models that a change concerns after the pacer's pause.
func (p *pacer) collect(of trigger.Concerned) handler.Funcs { return trigger.EnqueueAfter(of, p.wait) }

// drifted leaves out what changed in a policy's status only, unless others are now
// enforced in the place of a generated one, or are no longer; or one of others is.
func drifted(h handler.Funcs) handler.Funcs {
	enqueue := h.UpdateFunc
	h.UpdateFunc = func(ctx context.Context, e event.UpdateEvent, q trigger.Queue) {
		if trigger.Drifted(e.ObjectOld, e.ObjectNew) || displaced(e.ObjectOld) != displaced(e.ObjectNew) || deciding(e.ObjectOld) != deciding(e.ObjectNew) {
			enqueue(ctx, e, q)
		}
	}
	return h
}

func displaced(object client.Object) bool {
	policy, ok := object.(*unstructured.Unstructured)
	return ok && kuadrant.Displaced(policy)
}

// deciding tells whether a policy of others is in force.
func deciding(object client.Object) bool {
	policy, ok := object.(*unstructured.Unstructured)
	if _, ours := trigger.ModelOfPolicy(object); ours {
		return false
	}
	return ok && kuadrant.InForce(policy)
}

// sharingRoute returns a model and those that use the same route: when the one
// that owns it leaves, the next one takes over.
func (r *Reconciler) sharingRoute(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	keys := []types.NamespacedName{client.ObjectKeyFromObject(object)}
	ref, ok := object.(*v1alpha1.MaaSModelRef)
	if !ok {
		return keys, nil
	}
	siblings, err := r.onRoute(ctx, ref)
	for i := range siblings {
		keys = append(keys, client.ObjectKeyFromObject(&siblings[i]))
	}
	return keys, err
}

// modelsOfPolicy returns the model of a generated policy, or of a foreign one
// that stands under the name of a generated one, since its place is free when it
// goes; and those that use the route it targets, for they may take over or give
// way.
func (r *Reconciler) modelsOfPolicy(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	var keys []types.NamespacedName
	if key, ours := trigger.ModelOfPolicy(object); ours {
		keys = append(keys, key)
	} else if name, ok := model.OfPolicyName(object.GetName()); ok {
		keys = append(keys, types.NamespacedName{Namespace: object.GetNamespace(), Name: name})
	}
	policy, ok := object.(*unstructured.Unstructured)
	if !ok || kuadrant.TargetRoute(policy) == "" {
		return keys, nil
	}
	route := index.Key(policy.GetNamespace(), kuadrant.TargetRoute(policy))
	sharing, err := trigger.Keys(ctx, r.Client, &v1alpha1.MaaSModelRefList{}, client.InNamespace(policy.GetNamespace()), client.MatchingFields{index.ModelByRoute: route})
	return append(keys, sharing...), err
}

func modelsOfAuthPolicy(_ context.Context, object client.Object) ([]types.NamespacedName, error) {
	if policy, ok := object.(*v1alpha1.MaaSAuthPolicy); ok {
		return index.GrantedModels(policy), nil
	}
	return nil, nil
}

func modelsOfSubscription(_ context.Context, object client.Object) ([]types.NamespacedName, error) {
	if subscription, ok := object.(*v1alpha1.MaaSSubscription); ok {
		return index.SubscribedModels(subscription), nil
	}
	return nil, nil
}

// subscriptionChanged adds the moment in which the identity is decided.
func subscriptionChanged(before, after client.Object) bool {
	a, ok := before.(*v1alpha1.MaaSSubscription)
	b, alsoOK := after.(*v1alpha1.MaaSSubscription)
	return !ok || !alsoOK || trigger.NewGeneration(a, b) || a.Status.RateLimitIdentity != b.Status.RateLimitIdentity
}

// allModels lists every model: a tenant's change is rare and may concern any.
func (r *Reconciler) allModels(ctx context.Context, _ client.Object) ([]types.NamespacedName, error) {
	return trigger.Keys(ctx, r.Client, &v1alpha1.MaaSModelRefList{})
}
