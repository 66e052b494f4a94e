// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/index"
)

// SetupWithManager registers the controller and its watches; those of the
// generated policies as soon as the cluster serves their kinds.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	paced := newPacer(clock.RealClock{})
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("modelpolicy").
		WithOptions(controller.Options{MaxConcurrentReconciles: r.MaxConcurrentReconciles}).
		Watches(&v1alpha1.MaaSModelRef{}, paced.forgetting(atOnce(r.sharingRoute, trigger.ModelMoved))).
		Watches(&v1alpha1.MaaSAuthPolicy{}, paced.collect(modelsOfAuthPolicy, trigger.NewGeneration)).
		Watches(&v1alpha1.MaaSSubscription{}, paced.collect(modelsOfSubscription, subscriptionChanged)).
		Watches(&v1alpha1.AITenant{}, paced.collect(r.allModels, trigger.TenantMoved)).
		Watches(&v1alpha1.Tenant{}, paced.collect(r.allModels, trigger.Drifted)).
		Watches(&v1alpha1.MaasTenantConfig{}, paced.collect(r.allModels, trigger.Drifted)).
		Watches(&corev1.Namespace{}, paced.collect(r.allModels, always), builder.WithPredicates(trigger.TenantNamespace)).
		Build(r)
	if err != nil {
		return fmt.Errorf("set up controller modelpolicy: %w", err)
	}
	drift := trigger.Watch{Controller: c, Cache: mgr.GetCache(), Handler: enqueue(modelOfPolicy, trigger.Drifted, paced.settle)}
	for _, api := range policyAPIs() {
		if err := trigger.WatchPolicies(ctx, r.APIs, api, drift); err != nil {
			return fmt.Errorf("watch %s: %w", api.CRD, err)
		}
		if err := r.APIs.OnServed(ctx, api, func(context.Context, schema.GroupVersionKind) error {
			return c.Watch(source.Func(r.enqueueAll))
		}); err != nil {
			return fmt.Errorf("enqueue models for %s: %w", api.CRD, err)
		}
	}
	return nil
}

// policyAPIs are the kinds this controller writes.
func policyAPIs() []facts.API {
	return []facts.API{trigger.AuthPolicies, trigger.TokenRateLimitPolicies}
}

// enqueueAll looks at every model once a kind of policies has appeared.
func (r *Reconciler) enqueueAll(ctx context.Context, q queue) error {
	for _, key := range r.allModels(ctx, nil) {
		q.Add(ctrl.Request{NamespacedName: key})
	}
	return nil
}

type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// relevance tells whether an update matters.
type relevance func(before, after client.Object) bool

// concerned maps an object to the models it concerns.
type concerned func(context.Context, client.Object) []types.NamespacedName

// atOnce enqueues the models that a change concerns without delay.
func atOnce(of concerned, relevant relevance) handler.Funcs {
	return enqueue(of, relevant, func(types.NamespacedName) time.Duration { return 0 })
}

// collect enqueues the models that a change concerns after the pacer's pause.
func (p *pacer) collect(of concerned, relevant relevance) handler.Funcs {
	return enqueue(of, relevant, p.wait)
}

// forgetting drops the pauses of models that are gone.
func (p *pacer) forgetting(h handler.Funcs) handler.Funcs {
	enqueue := h.DeleteFunc
	h.DeleteFunc = func(ctx context.Context, e event.DeleteEvent, q queue) {
		p.forget(client.ObjectKeyFromObject(e.Object))
		enqueue(ctx, e, q)
	}
	return h
}

// enqueue looks at both the old and the new object, so that a model that was
// taken off a list is looked at too.
func enqueue(of concerned, relevant relevance, delay func(types.NamespacedName) time.Duration) handler.Funcs {
	add := func(ctx context.Context, q queue, objects ...client.Object) {
		for _, object := range objects {
			for _, key := range of(ctx, object) {
				q.AddAfter(ctrl.Request{NamespacedName: key}, delay(key))
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { add(ctx, q, e.Object) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { add(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if relevant(e.ObjectOld, e.ObjectNew) {
				add(ctx, q, e.ObjectOld, e.ObjectNew)
			}
		},
	}
}

// sharingRoute returns a model and those that use the same route: when the one
// that owns it leaves, the next one takes over.
func (r *Reconciler) sharingRoute(ctx context.Context, object client.Object) []types.NamespacedName {
	keys := []types.NamespacedName{client.ObjectKeyFromObject(object)}
	ref, ok := object.(*v1alpha1.MaaSModelRef)
	if !ok || ref.Status.HTTPRouteName == "" {
		return keys
	}
	siblings, err := r.onRoute(ctx, ref)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing the models of a route", "MaaSModelRef", keys[0])
	}
	for i := range siblings {
		if key := client.ObjectKeyFromObject(&siblings[i]); key != keys[0] {
			keys = append(keys, key)
		}
	}
	return keys
}

// modelOfPolicy returns the model of a generated policy, or of a foreign one
// that stands under the name of a generated one: when it goes, its place is free.
func modelOfPolicy(_ context.Context, object client.Object) []types.NamespacedName {
	if key, ours := trigger.ModelOfPolicy(object); ours {
		return []types.NamespacedName{key}
	}
	if name, ok := model.OfPolicyName(object.GetName()); ok {
		return []types.NamespacedName{{Namespace: object.GetNamespace(), Name: name}}
	}
	return nil
}

func modelsOfAuthPolicy(_ context.Context, object client.Object) []types.NamespacedName {
	policy, ok := object.(*v1alpha1.MaaSAuthPolicy)
	if !ok {
		return nil
	}
	return index.GrantedModels(policy)
}

func modelsOfSubscription(_ context.Context, object client.Object) []types.NamespacedName {
	subscription, ok := object.(*v1alpha1.MaaSSubscription)
	if !ok {
		return nil
	}
	return index.SubscribedModels(subscription)
}

// subscriptionChanged adds the moment in which the identity is decided.
func subscriptionChanged(before, after client.Object) bool {
	a, ok := before.(*v1alpha1.MaaSSubscription)
	b, alsoOK := after.(*v1alpha1.MaaSSubscription)
	return !ok || !alsoOK || trigger.NewGeneration(a, b) || a.Status.RateLimitIdentity != b.Status.RateLimitIdentity
}

func always(_, _ client.Object) bool { return true }

// allModels lists every model: a tenant's change is rare and may concern any
// of them. The list comes from the cache, so it does not wait for a server.
func (r *Reconciler) allModels(ctx context.Context, _ client.Object) []types.NamespacedName {
	var list v1alpha1.MaaSModelRefList
	if err := r.Client.List(ctx, &list); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing models for a changed tenant")
		return nil
	}
	keys := make([]types.NamespacedName, 0, len(list.Items))
	for i := range list.Items {
		keys = append(keys, client.ObjectKeyFromObject(&list.Items[i]))
	}
	return keys
}
