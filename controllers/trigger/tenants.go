// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// TenantMoved holds when an AITenant could give its models another gateway
// or provider.
func TenantMoved(before, after client.Object) bool {
	a, ok := before.(*v1alpha1.AITenant)
	b, alsoOK := after.(*v1alpha1.AITenant)
	return !ok || !alsoOK || NewGeneration(a, b) || !equality.Semantic.DeepEqual(a.Status.GatewayRef, b.Status.GatewayRef)
}

// TenantNamespace leaves out namespaces that have no say in tenancy.
var TenantNamespace = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return hasTenantLabel(e.Object) },
	DeleteFunc: func(e event.DeleteEvent) bool { return hasTenantLabel(e.Object) },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return hasTenantLabel(e.ObjectOld) != hasTenantLabel(e.ObjectNew) ||
			e.ObjectOld.GetLabels()[v1alpha1.LabelTenant] != e.ObjectNew.GetLabels()[v1alpha1.LabelTenant]
	},
}

func hasTenantLabel(object client.Object) bool {
	labels := object.GetLabels()
	return labels[v1alpha1.LabelTenant] != "" || labels[v1alpha1.LabelManagedByAITenant] == "true"
}
