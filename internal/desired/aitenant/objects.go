// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// StampOf is the metadata of what an AITenant owns, with its UID.
func StampOf(t *v1alpha1.AITenant, namespace string) tenancy.Stamp {
	stamp := tenancy.StampOf(types.NamespacedName{Namespace: t.Namespace, Name: t.Name}, namespace)
	if t.UID != "" {
		stamp.Annotations[v1alpha1.AnnotationAITenantUID] = string(t.UID)
	}
	return stamp
}

// NewNamespace is the namespace of a tenant for which there is none yet.
func NewNamespace(t *v1alpha1.AITenant, name string) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:        name,
		Annotations: map[string]string{v1alpha1.AnnotationCreatedByAITenant: "true"},
	}}
	MarkNamespace(ns, t)
	return ns
}

// MarkNamespace puts on a namespace what marks it as the tenant's. One that somebody
// else made is not marked as created; it gets the label by which network policies of
// the platform admit its traffic all the same.
func MarkNamespace(ns *corev1.Namespace, t *v1alpha1.AITenant) {
	mark(ns, StampOf(t, ns.Name))
	ns.Labels[v1alpha1.LabelGeneratedNamespace] = "true"
}

// NewConfig is the MaasTenantConfig of a tenant that has none yet. What its spec leaves
// out has defaults.
func NewConfig(t *v1alpha1.AITenant, namespace string) *v1alpha1.MaasTenantConfig {
	config := &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.DefaultTenantConfigName}}
	MarkConfig(config, t)
	return config
}

// MarkConfig puts on a MaasTenantConfig what marks it as the tenant's. Its spec is the
// users'.
func MarkConfig(config *v1alpha1.MaasTenantConfig, t *v1alpha1.AITenant) {
	mark(config, StampOf(t, config.Namespace))
}

// mark adds labels and annotations and leaves those of others.
func mark(object metav1.Object, stamp tenancy.Stamp) {
	object.SetLabels(merged(object.GetLabels(), stamp.Labels))
	object.SetAnnotations(merged(object.GetAnnotations(), stamp.Annotations))
}

func merged(base, over map[string]string) map[string]string {
	out := make(map[string]string, len(base)+len(over))
	maps.Copy(out, base)
	maps.Copy(out, over)
	return out
}

// Members of the data of a claim.
const (
	ClaimGatewayNamespace = "gatewayNamespace"
	ClaimGatewayName      = "gatewayName"
)

// Claim is the ConfigMap by which a tenant claims a Gateway. All who want the Gateway
// want an object of the same name, which only one of them can create.
func Claim(t *v1alpha1.AITenant, gateway types.NamespacedName) *corev1.ConfigMap {
	stamp := StampOf(t, "")
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: t.Namespace,
			Name:      tenancy.GatewayClaim(gateway.Namespace, gateway.Name),
			Labels: map[string]string{
				v1alpha1.LabelManagedBy:         v1alpha1.ManagedByValue,
				v1alpha1.LabelGatewayClaim:      "true",
				v1alpha1.LabelManagedByAITenant: "true",
			},
			Annotations:     stamp.Annotations,
			OwnerReferences: []metav1.OwnerReference{ownerReference(t)},
		},
		Data: map[string]string{ClaimGatewayNamespace: gateway.Namespace, ClaimGatewayName: gateway.Name},
	}
}

// ownerReference names the AITenant as the controller of an object. It does not block
// the deletion of the AITenant, which has a finalizer for that.
func ownerReference(t *v1alpha1.AITenant) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindAITenant,
		Name: t.Name, UID: t.UID, Controller: new(true),
	}
}

// Claimed is the Gateway that a claim is about.
func Claimed(claim *corev1.ConfigMap) types.NamespacedName {
	return types.NamespacedName{Namespace: claim.Data[ClaimGatewayNamespace], Name: claim.Data[ClaimGatewayName]}
}

// MarkClaim completes a claim of the AITenant that an earlier release made, or that
// somebody has changed.
func MarkClaim(claim *corev1.ConfigMap, t *v1alpha1.AITenant) {
	want := Claim(t, Claimed(claim))
	mark(claim, tenancy.Stamp{Labels: want.Labels, Annotations: want.Annotations})
	if metav1.GetControllerOf(claim) == nil {
		claim.OwnerReferences = append(claim.OwnerReferences, want.OwnerReferences...)
	}
}
