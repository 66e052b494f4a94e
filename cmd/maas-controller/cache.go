// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
)

// cacheOptions keeps out of memory what nothing reads, and keeps once what many
// objects have in common.
func cacheOptions() cache.Options {
	return cache.Options{DefaultTransform: newSlimmer().slim}
}

// sharedTexts bounds the texts that are looked for in several objects: some
// hundreds are common to the policies of all models, the others come and go.
const sharedTexts = 4096

// slimmer makes objects smaller before they enter the cache.
type slimmer struct {
	// texts maps a text to the one copy of it that objects share.
	texts *lru.Cache
}

func newSlimmer() slimmer { return slimmer{texts: lru.New(sharedTexts)} }

// slim drops managedFields, often the larger half of an object, from kinds that the
// apply engine never writes; from the others what it rarely needs. Of an
// LLMInferenceService it keeps only what is read.
func (s slimmer) slim(obj any) (any, error) {
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		if o.GroupVersionKind().GroupKind() == kserve.GroupKind {
			kserve.Trim(o)
			break
		}
		apply.Trim(o, v1alpha1.FieldOwner)
		s.share(o.Object)
	case *metav1.PartialObjectMetadata, *v1alpha1.MaaSModelRef, *v1alpha1.MaaSAuthPolicy, *v1alpha1.MaaSSubscription,
		*v1alpha1.AITenant, *v1alpha1.MaasTenantConfig, *v1alpha1.Tenant, *v1alpha1.ExternalModel,
		*corev1.Namespace, *gwapiv1.HTTPRoute, *gwapiv1.Gateway:
		if typed, ok := obj.(client.Object); ok {
			typed.SetManagedFields(nil)
		}
	}
	return obj, nil
}

// share replaces the texts in a value by those of other objects: the policies of
// two models differ in a few of their hundred expressions only.
func (s slimmer) share(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = s.share(member)
		}
	case []any:
		for i, item := range v {
			v[i] = s.share(item)
		}
	case string:
		if known, ok := s.texts.Get(v); ok {
			return known
		}
		s.texts.Add(v, value)
	}
	return value
}
