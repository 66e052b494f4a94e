// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// Ownership is what an object is to an AITenant.
type Ownership int

const (
	// Nobodys means that no AITenant owns the object.
	Nobodys Ownership = iota
	// Ours means that the AITenant owns it.
	Ours
	// Former means that it belonged to an earlier AITenant of the same name, which is
	// gone: the API server keeps names apart.
	Former
	// Others means that another AITenant owns it, or something else altogether.
	Others
)

// Holder names the owner of an object. Nothing in it is verified.
type Holder struct {
	// AITenant is the key of the owner; its namespace is empty when only an owner
	// reference tells.
	AITenant types.NamespacedName
	// UID is the owner's, empty when it is not recorded.
	UID types.UID
	// Kind is that of the controlling owner when it is no AITenant; otherwise empty.
	Kind string
}

// HolderOf reads the owner off an object; the zero value when there is none. A
// controlling owner reference beats the annotations, which anybody may write who may
// write the object.
func HolderOf(object metav1.Object) Holder {
	annotations := object.GetAnnotations()
	name, namespace := annotations[v1alpha1.AnnotationAITenantName], annotations[v1alpha1.AnnotationAITenantNamespace]
	ref := metav1.GetControllerOf(object)
	if ref == nil {
		if name == "" && namespace == "" {
			return Holder{}
		}
		return Holder{
			AITenant: types.NamespacedName{Namespace: namespace, Name: name},
			UID:      types.UID(annotations[v1alpha1.AnnotationAITenantUID]),
		}
	}
	h := Holder{AITenant: types.NamespacedName{Namespace: object.GetNamespace(), Name: ref.Name}, UID: ref.UID}
	if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != v1alpha1.GroupVersion.Group || ref.Kind != v1alpha1.KindAITenant {
		h.Kind = ref.Kind
	}
	return h
}

// OwnershipOf tells what the object is to the AITenant. Only for objects whose
// controller may be an AITenant: claims and Jobs. See [MarkedFor] for the others.
func OwnershipOf(object metav1.Object, t *v1alpha1.AITenant) Ownership {
	return HolderOf(object).ownership(t)
}

// MarkedFor tells by the annotations alone what an object is to the AITenant: for
// namespaces, MaasTenantConfigs and Roles, which other objects may control.
func MarkedFor(object metav1.Object, t *v1alpha1.AITenant) Ownership {
	annotations := object.GetAnnotations()
	return HolderOf(&metav1.ObjectMeta{Annotations: annotations}).ownership(t)
}

func (h Holder) ownership(t *v1alpha1.AITenant) Ownership {
	switch {
	case h == Holder{}:
		return Nobodys
	case h.Kind != "" || h.AITenant.Name != t.Name || h.AITenant.Namespace != t.Namespace:
		return Others
	case h.UID != "" && t.UID != "" && h.UID != t.UID:
		return Former
	default:
		return Ours
	}
}
