// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// Stamp is the metadata that marks what an AITenant owns: its namespace, its
// MaasTenantConfig and the Roles of its administrators.
type Stamp struct {
	Labels      map[string]string
	Annotations map[string]string
}

// StampOf returns the stamp of an AITenant whose objects are in the namespace.
func StampOf(aiTenant types.NamespacedName, tenantNamespace string) Stamp {
	return Stamp{
		Labels: map[string]string{
			v1alpha1.LabelManagedBy:         v1alpha1.ManagedByValue,
			v1alpha1.LabelPartOf:            v1alpha1.PartOfTenant,
			v1alpha1.LabelManagedByAITenant: "true",
			v1alpha1.LabelTenant:            aiTenant.Name,
			v1alpha1.LabelTenantName:        aiTenant.Name,
			v1alpha1.LabelTenantNamespace:   tenantNamespace,
			v1alpha1.LabelGatewayAccess:     "true",
		},
		Annotations: map[string]string{
			v1alpha1.AnnotationAITenantName:      aiTenant.Name,
			v1alpha1.AnnotationAITenantNamespace: aiTenant.Namespace,
		},
	}
}

// Tracking are the labels on everything that is made for a MaasTenantConfig, in
// whatever namespace. An object that lacks them belongs to somebody else.
func Tracking(tenantName, tenantNamespace string) map[string]string {
	return map[string]string{
		v1alpha1.LabelTenantName:      tenantName,
		v1alpha1.LabelTenantNamespace: tenantNamespace,
	}
}

// SharedTracking are the labels on everything that is made for the Config.
func SharedTracking() map[string]string {
	return map[string]string{v1alpha1.LabelConfig: v1alpha1.ConfigName}
}
