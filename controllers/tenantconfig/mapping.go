// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// all is every tenant: for what concerns the installation.
func (r *Reconciler) all(ctx context.Context, _ client.Object) ([]types.NamespacedName, error) {
	return trigger.Keys(ctx, r.Client, &v1alpha1.MaasTenantConfigList{})
}

// in is the config of a namespace.
func in(namespace string) []types.NamespacedName {
	return []types.NamespacedName{{Namespace: namespace, Name: v1alpha1.DefaultTenantConfigName}}
}

// ofAITenant is the config of a tenant.
func (r *Reconciler) ofAITenant(_ context.Context, object client.Object) ([]types.NamespacedName, error) {
	if object.GetNamespace() != r.Tenants.Settings.AITenantNamespace {
		return nil, nil
	}
	return in(r.Tenants.Settings.TenantNamespace(object.GetName())), nil
}

// ofLegacyTenant is the config beside a Tenant of an earlier release, whose provider
// may be a problem.
func (r *Reconciler) ofLegacyTenant(_ context.Context, object client.Object) ([]types.NamespacedName, error) {
	return in(object.GetNamespace()), nil
}

// ofMember is the config of the namespace of a subscription or auth policy.
func ofMember(_ context.Context, object client.Object) ([]types.NamespacedName, error) {
	return in(object.GetNamespace()), nil
}

// ofOperand is the config that an object was made for. An object of somebody else
// under a name of ours says nothing of whose it would be; its tenant tries again.
func ofOperand(_ context.Context, object client.Object) ([]types.NamespacedName, error) {
	labels := object.GetLabels()
	namespace := labels[v1alpha1.LabelTenantNamespace]
	if namespace == "" || labels[v1alpha1.LabelManagedBy] != v1alpha1.ManagedByValue {
		return nil, nil
	}
	return in(namespace), nil
}

// ofPolicy is the config that a policy was made for, or the tenants on whose Gateway
// somebody else has put one, an earlier release for example. One of somebody else on a
// route beside those to maas-api may be on that of any tenant.
func (r *Reconciler) ofPolicy(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	policy, ok := object.(*unstructured.Unstructured)
	keys, err := ofOperand(ctx, object)
	if err != nil || !ok || len(keys) > 0 {
		return keys, err
	}
	if kuadrant.TargetRoute(policy) != "" && policy.GetNamespace() == r.Settings.InfraNamespace {
		return r.all(ctx, object)
	}
	if kuadrant.TargetGateway(policy) == "" {
		return nil, nil
	}
	gateway := &gwapiv1.Gateway{}
	gateway.SetNamespace(policy.GetNamespace())
	gateway.SetName(kuadrant.TargetGateway(policy))
	return r.ofGateway(ctx, gateway)
}

// ofGateway are the tenants whose Gateway it is: as their AITenants say, or the default
// one by the manager's settings.
func (r *Reconciler) ofGateway(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	settings := r.Tenants.Settings
	gateway := client.ObjectKeyFromObject(object)
	var keys []types.NamespacedName
	if gateway == settings.Gateway {
		keys = in(settings.DefaultNamespace)
	}
	var list v1alpha1.AITenantList
	if err := r.Client.List(ctx, &list, client.InNamespace(settings.AITenantNamespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list AITenants of Gateway %s: %w", gateway, err)
	}
	for i := range list.Items {
		if ref := list.Items[i].Status.GatewayRef; ref != nil && ref.Namespace == gateway.Namespace && ref.Name == gateway.Name {
			keys = append(keys, in(settings.TenantNamespace(list.Items[i].Name))...)
		}
	}
	return keys, nil
}

// ofModel is the tenant of a model: what it accepts depends on those that an
// ExternalModel serves, and each has to get into the configuration of its Gateway.
func (r *Reconciler) ofModel(_ context.Context, object client.Object) ([]types.NamespacedName, error) {
	model, ok := object.(*v1alpha1.MaaSModelRef)
	if !ok || model.Status.Tenant == "" {
		return nil, nil
	}
	return in(r.Tenants.Settings.TenantNamespace(model.Status.Tenant)), nil
}

// publishes holds when a model may begin or cease to be one of a tenant, or of an
// ExternalModel.
func publishes(before, after client.Object) bool {
	a, ok := before.(*v1alpha1.MaaSModelRef)
	b, alsoOK := after.(*v1alpha1.MaaSModelRef)
	return !ok || !alsoOK || a.Spec.ModelRef != b.Spec.ModelRef || a.Status.Tenant != b.Status.Tenant
}

// ofExternalModel are the tenants whose models an ExternalModel serves.
func (r *Reconciler) ofExternalModel(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	var list v1alpha1.MaaSModelRefList
	if err := r.Client.List(ctx, &list, client.InNamespace(object.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list models of ExternalModel %s: %w", client.ObjectKeyFromObject(object), err)
	}
	var keys []types.NamespacedName
	for i := range list.Items {
		if ref := list.Items[i].Spec.ModelRef; ref.Kind != v1alpha1.BackendExternalModel || ref.Name != object.GetName() {
			continue
		}
		found, err := r.ofModel(ctx, &list.Items[i])
		if err != nil {
			return nil, err
		}
		keys = append(keys, found...)
	}
	return keys, nil
}

// formatChanged holds when a model begins or ceases to take the messages format.
func formatChanged(before, after client.Object) bool {
	a, ok := before.(*inferencev1alpha1.ExternalModel)
	b, alsoOK := after.(*inferencev1alpha1.ExternalModel)
	return !ok || !alsoOK || speaksMessages(a) != speaksMessages(b)
}
