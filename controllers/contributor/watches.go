// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package contributor

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/desired/attachment"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/facts"
)

// SetupWithManager registers the controller, which works on that many objects at
// once, and its watches; that of the generated policies as soon as the cluster
// serves their kind.
func (c *Controller[T]) SetupWithManager(ctx context.Context, mgr ctrl.Manager, apis *facts.OptionalAPIs, workers int) error {
	r := c.referrers()
	built, err := ctrl.NewControllerManagedBy(mgr).
		Named(c.kind.Name).
		For(c.kind.New(), builder.WithPredicates(trigger.OnUpdate(c.changed))).
		WithOptions(trigger.Options(workers)).
		Watches(&v1alpha1.MaaSModelRef{}, r.OfModel(), builder.WithPredicates(trigger.ModelJudged)).
		Watches(&v1alpha1.AITenant{}, r.All(), builder.WithPredicates(trigger.OnUpdate(trigger.TenantMoved))).
		Watches(&v1alpha1.MaasTenantConfig{}, r.OfNamespace(), builder.WithPredicates(trigger.OnUpdate(trigger.Drifted))).
		Watches(&v1alpha1.Tenant{}, r.OfNamespace(), builder.WithPredicates(trigger.OnUpdate(trigger.Drifted))).
		Watches(&corev1.Namespace{}, r.OfNamespace(), builder.WithPredicates(trigger.TenantNamespace)).
		Build(c.metrics.Wrap(c.kind.Name, c.kind.Kind, c))
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", c.kind.Name, err)
	}
	return trigger.WatchPolicies(ctx, apis, c.kind.Policies, trigger.Watch{Controller: built, Cache: mgr.GetCache(), Handler: trigger.EnqueueDue(c.concerned)})
}

func (c *Controller[T]) referrers() trigger.Referrers {
	return trigger.Referrers{Reader: c.client, List: c.kind.NewList, Index: c.kind.Index}
}

// changed holds for a new generation and for a new status. The latter is our own
// write: a look that came between the write and its arrival in the cache may have
// compared with the old status, and concerned certainly did.
func (c *Controller[T]) changed(before, after client.Object) bool {
	a, ok := before.(T)
	b, alsoOK := after.(T)
	return !ok || !alsoOK || trigger.NewGeneration(a, b) || !equality.Semantic.DeepEqual(c.kind.Status(a), c.kind.Status(b))
}

// concerned finds whose verdict follows from a policy and is not in its status
// yet. A policy shared by many objects is written and judged often, and each time
// that changes nothing for nearly all of them.
func (c *Controller[T]) concerned(ctx context.Context, before, after client.Object) (trigger.Due, error) {
	due := trigger.Due{}
	was, had := c.modelOf(before)
	now, has := c.modelOf(after)
	if has {
		if err := c.unsettled(ctx, after, now, due); err != nil {
			return nil, err
		}
	}
	if had && (!has || was != now) {
		if err := c.all(ctx, was, due); err != nil {
			return nil, err
		}
	}
	for _, policy := range []client.Object{before, after} {
		if policy == nil || policy.GetLabels()[v1alpha1.LabelManagedBy] == v1alpha1.ManagedByValue {
			continue
		}
		keys, err := c.judge.Concerned(ctx, policy)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			due[key] = 0
		}
	}
	return due, nil
}

// modelOf returns the model whose generated policy this is, or would be but for its
// labels.
func (c *Controller[T]) modelOf(policy client.Object) (types.NamespacedName, bool) {
	if policy == nil {
		return types.NamespacedName{}, false
	}
	if key, ours := trigger.ModelOfPolicy(policy); ours {
		return key, true
	}
	name, ok := model.OfPolicyName(policy.GetName())
	return types.NamespacedName{Namespace: policy.GetNamespace(), Name: name}, ok
}

// unsettled adds the objects whose status does not say yet what follows from the
// policy, and the others when that changes by itself.
func (c *Controller[T]) unsettled(ctx context.Context, object client.Object, key types.NamespacedName, due trigger.Due) error {
	policy, ok := object.(*unstructured.Unstructured)
	if !ok || object.GetName() != c.kind.PolicyName(key.Name) || object.GetNamespace() != key.Namespace {
		return c.all(ctx, key, due) // A policy under another name is not looked at, but may hide one that is.
	}
	now := c.clock.Now()
	seen := attachment.PolicyOf(policy, now)
	return c.each(ctx, key, func(item T) {
		name := client.ObjectKeyFromObject(item)
		if !c.judge.Settled(seen, item, key) {
			due[name] = 0
		} else if until := seen.Until(); !until.IsZero() {
			due[name] = until.Sub(now)
		}
	})
}

// all adds the objects that refer to a model.
func (c *Controller[T]) all(ctx context.Context, key types.NamespacedName, due trigger.Due) error {
	return c.each(ctx, key, func(item T) { due[client.ObjectKeyFromObject(item)] = 0 })
}

// each visits the objects that refer to a model. They belong to the cache.
func (c *Controller[T]) each(ctx context.Context, key types.NamespacedName, visit func(T)) error {
	list := c.kind.NewList()
	if err := c.client.List(ctx, list, client.MatchingFields{c.kind.Index: key.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list what refers to model %s: %w", key, err)
	}
	err := meta.EachListItem(list, func(item runtime.Object) error {
		object, ok := item.(T)
		if !ok {
			return fmt.Errorf("got %T", item)
		}
		visit(object)
		return nil
	})
	if err != nil {
		return fmt.Errorf("visit what refers to model %s: %w", key, err)
	}
	return nil
}
