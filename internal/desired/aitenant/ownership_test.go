// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
)

func red() *v1alpha1.AITenant {
	return &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: "ai-tenants", Name: "red", UID: "uid-of-red"}}
}

func annotated(name, namespace, uid string) metav1.ObjectMeta {
	annotations := map[string]string{v1alpha1.AnnotationAITenantName: name, v1alpha1.AnnotationAITenantNamespace: namespace}
	if uid != "" {
		annotations[v1alpha1.AnnotationAITenantUID] = uid
	}
	return metav1.ObjectMeta{Namespace: "ai-tenants", Name: "object", Annotations: annotations}
}

func controlled(meta metav1.ObjectMeta, apiVersion, kind, name, uid string) metav1.ObjectMeta {
	meta.Namespace = "ai-tenants"
	meta.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(uid), Controller: new(true)}}
	return meta
}

// E-70, E-71, E-98, W-13.
func TestOwnershipOf(t *testing.T) {
	t.Parallel()
	group := v1alpha1.GroupVersion.String()
	tests := map[string]struct {
		object                metav1.ObjectMeta
		wantOwned, wantMarked aitenant.Ownership
	}{
		"nothing tells of an owner":                   {metav1.ObjectMeta{}, aitenant.Nobodys, aitenant.Nobodys},
		"annotations of an earlier release":           {annotated("red", "ai-tenants", ""), aitenant.Ours, aitenant.Ours},
		"annotations with the UID":                    {annotated("red", "ai-tenants", "uid-of-red"), aitenant.Ours, aitenant.Ours},
		"annotations with the UID of a predecessor":   {annotated("red", "ai-tenants", "uid-of-former"), aitenant.Former, aitenant.Former},
		"annotations of another tenant":               {annotated("blue", "ai-tenants", ""), aitenant.Others, aitenant.Others},
		"annotations of a tenant elsewhere":           {annotated("red", "elsewhere", ""), aitenant.Others, aitenant.Others},
		"half of the annotations":                     {annotated("red", "", ""), aitenant.Others, aitenant.Others},
		"an owner without annotations":                {controlled(metav1.ObjectMeta{}, group, "AITenant", "red", "uid-of-red"), aitenant.Ours, aitenant.Nobodys},
		"an owner of the same name that is gone":      {controlled(metav1.ObjectMeta{}, group, "AITenant", "red", "uid-of-former"), aitenant.Former, aitenant.Nobodys},
		"our annotations, but owned by another":       {controlled(annotated("red", "ai-tenants", "uid-of-red"), group, "AITenant", "blue", "uid-of-blue"), aitenant.Others, aitenant.Ours},
		"annotations of another, but owned by us":     {controlled(annotated("blue", "ai-tenants", ""), group, "AITenant", "red", "uid-of-red"), aitenant.Ours, aitenant.Others},
		"owned by something else of our name":         {controlled(metav1.ObjectMeta{}, "v1", "ConfigMap", "red", "uid-of-red"), aitenant.Others, aitenant.Nobodys},
		"owned by an AITenant of another group":       {controlled(metav1.ObjectMeta{}, "example.com/v1", "AITenant", "red", "uid-of-red"), aitenant.Others, aitenant.Nobodys},
		"controlled by a config, with our annotation": {controlled(annotated("red", "ai-tenants", ""), group, "MaasTenantConfig", "default-tenant", "uid"), aitenant.Others, aitenant.Ours},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := &corev1.ConfigMap{ObjectMeta: tt.object}
			if got := aitenant.OwnershipOf(object, red()); got != tt.wantOwned {
				t.Errorf("OwnershipOf() = %d, want %d", got, tt.wantOwned)
			}
			if got := aitenant.MarkedFor(object, red()); got != tt.wantMarked {
				t.Errorf("MarkedFor() = %d, want %d", got, tt.wantMarked)
			}
		})
	}
}
