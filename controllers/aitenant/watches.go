// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"context"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=aitenants,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=aitenants/status,verbs=patch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maastenantconfigs,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=tenants,verbs=list;watch
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gateways,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles,verbs=get;list;watch;create;update;patch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller and its watches; that of Gateways as soon
// as the cluster serves them.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	role := &unstructured.Unstructured{} // The kind of object the Applier reads.
	role.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("Role"))
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("aitenant").
		WithOptions(trigger.Options(r.MaxConcurrentReconciles)).
		For(&v1alpha1.AITenant{}, builder.WithPredicates(trigger.OnUpdate(tenantChanged))).
		Watches(&v1alpha1.MaasTenantConfig{}, trigger.Enqueue(r.ofConfig), when(configChanged)).
		Watches(&v1alpha1.Tenant{}, trigger.Enqueue(r.ofConfig), when(changed)).
		Watches(&corev1.Namespace{}, trigger.Enqueue(r.ofNamespace), when(namespaceChanged)).
		Watches(&corev1.ConfigMap{}, trigger.Enqueue(r.ofClaim), builder.WithPredicates(labelled(v1alpha1.LabelGatewayClaim), trigger.OnUpdate(changed))).
		Watches(&corev1.ConfigMap{}, trigger.Enqueue(r.ofTombstone), builder.WithPredicates(labelled(v1alpha1.LabelTenantTombstone))).
		Watches(role, trigger.Enqueue(r.ofRole), when(changed)).
		Watches(&batchv1.Job{}, trigger.Enqueue(ofJob)).
		Build(r.Metrics.Wrap("aitenant", v1alpha1.KindAITenant, r))
	if err != nil {
		return fmt.Errorf("set up controller aitenant: %w", err)
	}
	return errors.Join(r.watchGateways(ctx, mgr, c), r.setUpTombstones(mgr))
}

// watchGateways watches Gateways when they are served, and looks at all tenants each
// time that begins or ends.
func (r *Reconciler) watchGateways(ctx context.Context, mgr ctrl.Manager, c controller.Controller) error {
	all := func(context.Context) error { return c.Watch(trigger.EnqueueOnce(r.all)) }
	r.APIs.OnGone(gateways(), all)
	err := errors.Join(
		r.APIs.OnFirstServed(ctx, gateways(), func(context.Context, schema.GroupVersionKind) error {
			return c.Watch(source.Kind[client.Object](mgr.GetCache(), &gwapiv1.Gateway{}, trigger.Enqueue(r.ofGateway), trigger.OnUpdate(trigger.NewGeneration)))
		}),
		r.APIs.OnServed(ctx, gateways(), func(ctx context.Context, _ schema.GroupVersionKind) error { return all(ctx) }),
	)
	if err != nil {
		return fmt.Errorf("watch Gateways: %w", err)
	}
	return nil
}

// when lets pass the updates that matter; creations and deletions always do.
func when(matters func(before, after client.Object) bool) builder.WatchesOption {
	return builder.WithPredicates(trigger.OnUpdate(matters))
}

// changed holds for every change of an object without a status.
func changed(before, after client.Object) bool {
	return before.GetResourceVersion() != after.GetResourceVersion()
}

// tenantChanged leaves out nothing but changes of managed fields. A write of our own
// status counts: a look that came before it arrived in the cache compared with the old
// one.
func tenantChanged(before, after client.Object) bool {
	a, ok := before.(*v1alpha1.AITenant)
	b, alsoOK := after.(*v1alpha1.AITenant)
	return !ok || !alsoOK || trigger.Drifted(a, b) ||
		!slices.Equal(a.Finalizers, b.Finalizers) || !equality.Semantic.DeepEqual(a.Status, b.Status)
}

// configChanged holds when what the AITenant makes of a MaasTenantConfig may differ.
func configChanged(before, after client.Object) bool {
	a, ok := before.(*v1alpha1.MaasTenantConfig)
	b, alsoOK := after.(*v1alpha1.MaasTenantConfig)
	return !ok || !alsoOK || trigger.Drifted(a, b) ||
		!slices.Equal(a.Finalizers, b.Finalizers) || !equality.Semantic.DeepEqual(a.Status.Conditions, b.Status.Conditions)
}

// namespaceChanged holds for changes of metadata and of the phase.
func namespaceChanged(before, after client.Object) bool {
	a, ok := before.(*corev1.Namespace)
	b, alsoOK := after.(*corev1.Namespace)
	return !ok || !alsoOK || trigger.Drifted(a, b) || a.Status.Phase != b.Status.Phase
}

// labelled lets pass what carries a label that tells what it is.
func labelled(name string) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetLabels()[name] == "true" })
}

// all lists every AITenant.
func (r *Reconciler) all(ctx context.Context, _ client.Object) ([]types.NamespacedName, error) {
	return r.those(ctx, func(*v1alpha1.AITenant) bool { return true })
}

// those lists the AITenants for which something holds.
func (r *Reconciler) those(ctx context.Context, concerned func(*v1alpha1.AITenant) bool) ([]types.NamespacedName, error) {
	var list v1alpha1.AITenantList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list AITenants: %w", err)
	}
	var keys []types.NamespacedName
	for i := range list.Items {
		if concerned(&list.Items[i]) {
			keys = append(keys, client.ObjectKeyFromObject(&list.Items[i]))
		}
	}
	return keys, nil
}

// at tells whether the namespace is that of an AITenant.
func (r *Reconciler) at(t *v1alpha1.AITenant, namespace string) bool {
	return r.Settings.Tenancy.TenantNamespace(t.Name) == namespace
}

// ofConfig lists the AITenants in whose namespace an object is.
func (r *Reconciler) ofConfig(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	return r.those(ctx, func(t *v1alpha1.AITenant) bool { return r.at(t, object.GetNamespace()) })
}

// ofNamespace lists the AITenants whose namespace it is; the namespace of maas-api
// concerns all.
func (r *Reconciler) ofNamespace(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	if object.GetName() == r.Settings.Tenant.InfraNamespace {
		return r.all(ctx, object)
	}
	return r.those(ctx, func(t *v1alpha1.AITenant) bool { return r.at(t, object.GetName()) })
}

// ofGateway lists the AITenants that use a Gateway or ask for it.
func (r *Reconciler) ofGateway(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	return r.wanting(ctx, client.ObjectKeyFromObject(object))
}

func (r *Reconciler) wanting(ctx context.Context, gateway types.NamespacedName) ([]types.NamespacedName, error) {
	return r.those(ctx, func(t *v1alpha1.AITenant) bool {
		return r.Settings.Tenancy.GatewayOf(t) == gateway || (t.Status.GatewayRef != nil && *t.Status.GatewayRef == gatewayRef(gateway))
	})
}

// ofClaim lists the AITenant that has a claim and those that would like to.
func (r *Reconciler) ofClaim(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	return r.those(ctx, func(t *v1alpha1.AITenant) bool {
		wanted := r.Settings.Tenancy.GatewayOf(t)
		return t.Namespace == object.GetNamespace() &&
			(tenancy.GatewayClaim(wanted.Namespace, wanted.Name) == object.GetName() || aitenant.OwnershipOf(object, t) == aitenant.Ours)
	})
}

// ofTombstone lists the AITenants that wait while keys of an earlier tenant of their
// name may work.
func (r *Reconciler) ofTombstone(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	c, ok := object.(*corev1.ConfigMap)
	if !ok {
		return nil, nil
	}
	stone, err := aitenant.TombstoneFrom(c)
	if err != nil {
		return nil, nil //nolint:nilerr // What is no tombstone keeps nobody waiting.
	}
	return r.those(ctx, func(t *v1alpha1.AITenant) bool { return r.knownAs(t.Name) == stone.Tenant })
}

// ofRole lists the AITenants that have a Role of that name.
func (r *Reconciler) ofRole(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	return r.those(ctx, func(t *v1alpha1.AITenant) bool {
		return (r.at(t, object.GetNamespace()) && object.GetName() == tenancy.TenantAdminRole(t.Name)) ||
			(t.Namespace == object.GetNamespace() && object.GetName() == tenancy.ObjectAdminRole(t.Name))
	})
}

// ofJob names the AITenant for which a Job revokes keys.
func ofJob(_ context.Context, object client.Object) ([]types.NamespacedName, error) {
	if holder := aitenant.HolderOf(object); holder.AITenant.Name != "" && holder.Kind == "" {
		return []types.NamespacedName{holder.AITenant}, nil
	}
	return nil, nil
}
