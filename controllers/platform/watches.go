// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// SetupWithManager registers the controller and its watches.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	// The manager's cache has only Deployments that the operator made.
	own, err := trigger.CacheOf(mgr, deploymentMetadata(), r.deploymentKey())
	if err != nil {
		return err
	}
	all := trigger.Enqueue(theConfig)
	b := ctrl.NewControllerManagedBy(mgr).
		Named("platform").
		WithOptions(trigger.Options(1)).
		For(&v1alpha1.Config{}, builder.WithPredicates(named(configKey()))).
		WatchesRawSource(source.Kind[client.Object](own, deploymentMetadata(), all)).
		Watches(&v1alpha1.AITenant{}, all, builder.WithPredicates(r.tenants())).
		Watches(&v1alpha1.MaasTenantConfig{}, all, builder.WithPredicates(r.tenantConfigs())).
		Watches(&corev1.ConfigMap{}, all, builder.WithPredicates(tombstones())).
		Watches(&corev1.Namespace{}, all, builder.WithPredicates(r.ownNamespace(), trigger.OnUpdate(namespaceChanged)))
	for _, kind := range sharedKinds(false) {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		b = b.Watches(object, all, builder.WithPredicates(shared()))
	}
	c, err := b.Build(r.Metrics.Wrap("platform", v1alpha1.KindConfig, r))
	if err != nil {
		return fmt.Errorf("set up controller platform: %w", err)
	}
	return r.watchOptional(ctx, mgr, c)
}

// theConfig is the one key there is.
func theConfig(context.Context, client.Object) ([]types.NamespacedName, error) {
	return []types.NamespacedName{configKey()}, nil
}

// named lets pass one object.
func named(key types.NamespacedName) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(object client.Object) bool { return client.ObjectKeyFromObject(object) == key })
}

// tenants lets pass the default AITenant; of the others that they come and go, which
// matters to a teardown.
func (r *Reconciler) tenants() predicate.Predicate {
	key := r.defaultTenantKey()
	return trigger.OnUpdate(func(_, after client.Object) bool { return client.ObjectKeyFromObject(after) == key })
}

// tenantConfigs lets pass when one comes or goes, or when the owners of the default
// tenant's change.
func (r *Reconciler) tenantConfigs() predicate.Predicate {
	key := r.defaultConfigKey()
	return trigger.OnUpdate(func(before, after client.Object) bool {
		return client.ObjectKeyFromObject(after) == key &&
			!equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences())
	})
}

// tombstones lets pass when one comes, goes, is given up, or ceases to be one.
func tombstones() predicate.Predicate {
	is := func(object client.Object) bool { return object.GetLabels()[v1alpha1.LabelTenantTombstone] == yes }
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return is(e.Object) },
		DeleteFunc: func(e event.DeleteEvent) bool { return is(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return is(e.ObjectOld) != is(e.ObjectNew) || is(e.ObjectNew) && trigger.NewGeneration(e.ObjectOld, e.ObjectNew)
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// ownNamespace lets pass the namespaces that the installation keeps, and that of
// monitoring, which others keep.
func (r *Reconciler) ownNamespace() predicate.Predicate {
	concerned := append(r.namespaces(), r.Settings.MonitoringNamespace)
	return predicate.NewPredicateFuncs(func(object client.Object) bool { return slices.Contains(concerned, object.GetName()) })
}

// namespaceChanged holds when a namespace may have to be repaired, or can be.
func namespaceChanged(before, after client.Object) bool {
	a, ok := before.(*corev1.Namespace)
	b, alsoOK := after.(*corev1.Namespace)
	return !ok || !alsoOK || a.Status.Phase != b.Status.Phase ||
		a.Labels[v1alpha1.LabelGeneratedNamespace] != b.Labels[v1alpha1.LabelGeneratedNamespace] || trigger.NewGeneration(a, b)
}

// shared lets pass the shared objects of the installation, and those that cease to be
// labelled as such, unless only their status changed and says the same of their Pods.
func shared() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return isShared(e.Object) },
		DeleteFunc: func(e event.DeleteEvent) bool { return isShared(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return (isShared(e.ObjectOld) || isShared(e.ObjectNew)) && objectDrifted(e.ObjectOld, e.ObjectNew)
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

func isShared(object client.Object) bool {
	for name, value := range tenancy.SharedTracking() {
		if object.GetLabels()[name] != value {
			return false
		}
	}
	return true
}

// objectDrifted holds for every change but one of a status that leaves it serving and
// accepted, or not, as before.
func objectDrifted(before, after client.Object) bool {
	a, ok := before.(*unstructured.Unstructured)
	b, alsoOK := after.(*unstructured.Unstructured)
	if !ok || !alsoOK {
		return true
	}
	return trigger.Rewritten(a, b) || serves(a) != serves(b) || accepted(a) != accepted(b) || !equality.Semantic.DeepEqual(a.GetOwnerReferences(), b.GetOwnerReferences())
}
