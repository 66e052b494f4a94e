// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
)

// cacheOptions keeps out of memory what nothing reads.
func cacheOptions() cache.Options {
	return cache.Options{DefaultTransform: slim}
}

// slim drops managedFields, often the larger half of an object, from kinds that the
// apply engine never writes; there it needs them to see foreign owners. Of an
// LLMInferenceService it keeps only what is read.
func slim(obj any) (any, error) {
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		if o.GroupVersionKind().GroupKind() == kserve.GroupKind {
			kserve.Trim(o)
		}
	case *metav1.PartialObjectMetadata, *v1alpha1.MaaSModelRef, *v1alpha1.MaaSAuthPolicy, *v1alpha1.MaaSSubscription,
		*v1alpha1.AITenant, *v1alpha1.MaasTenantConfig, *v1alpha1.Tenant, *v1alpha1.ExternalModel,
		*corev1.Namespace, *gwapiv1.HTTPRoute, *gwapiv1.Gateway:
		if typed, ok := obj.(client.Object); ok {
			typed.SetManagedFields(nil)
		}
	}
	return obj, nil
}
