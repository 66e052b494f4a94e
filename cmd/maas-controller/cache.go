// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/dedup"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
)

// cacheOptions keeps out of memory what nothing reads, and keeps once what many
// objects have in common.
func cacheOptions(c Config) cache.Options {
	return cache.Options{DefaultTransform: newSlimmer().slim, ByObject: written(c.ControllerNamespace)}
}

// written restricts the cache of kinds that a cluster has very many of, and that
// the operator only writes, to what it has written. Among Deployments is also the
// operator's own, in its own namespace, which somebody else has written.
func written(controllerNamespace string) map[client.Object]cache.ByObject {
	ours := labels.SelectorFromSet(labels.Set{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue})
	by := map[client.Object]cache.ByObject{
		&appsv1.Deployment{}: {Namespaces: map[string]cache.Config{
			controllerNamespace: {LabelSelector: labels.Everything()},
			cache.AllNamespaces: {LabelSelector: ours},
		}},
	}
	for _, object := range []client.Object{
		&corev1.Service{}, &corev1.ServiceAccount{}, &corev1.ConfigMap{}, &batchv1.CronJob{}, &batchv1.Job{}, &networkingv1.NetworkPolicy{},
		&rbacv1.Role{}, &rbacv1.RoleBinding{}, &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{},
	} {
		by[object] = cache.ByObject{Label: ours}
	}
	return by
}

// onlyWritten are the optional kinds of others that the operator only writes. The
// cache cannot be restricted by a label before they are served, so what others have
// written of them is kept without its content.
func onlyWritten(kind schema.GroupKind) bool {
	switch kind {
	case schema.GroupKind{Group: "cert-manager.io", Kind: "Certificate"}, schema.GroupKind{Group: "networking.istio.io", Kind: "DestinationRule"}:
		return true
	default:
		return false
	}
}

// sharedParts bounds the parts that are looked for in several objects: some
// hundreds are common to the policies of all models, the others come and go.
const sharedParts = 8192

// slimmer makes objects smaller before they enter the cache. An informer hands it
// each object before anybody else has it, but those of its first list twice; parts
// of them belong to other objects too after the first time, so that the second must
// not write to them.
type slimmer struct{ pool *dedup.Pool }

func newSlimmer() slimmer { return slimmer{dedup.New(sharedParts)} }

// slim drops managedFields, often the larger half of an object, from kinds that the
// apply engine never writes; from the others what it rarely needs, and shares the
// rest. Of an LLMInferenceService it keeps only what is read.
func (s slimmer) slim(obj any) (any, error) {
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		if o.GroupVersionKind().GroupKind() == kserve.GroupKind {
			kserve.Trim(o)
			break
		}
		if onlyWritten(o.GroupVersionKind().GroupKind()) && !apply.Owns(o, v1alpha1.FieldOwner) {
			delete(o.Object, "spec")
			delete(o.Object, "status")
			o.SetManagedFields(nil)
			break
		}
		apply.Trim(o, v1alpha1.FieldOwner)
		s.share(o)
	case *metav1.PartialObjectMetadata, *v1alpha1.MaaSModelRef, *v1alpha1.MaaSAuthPolicy, *v1alpha1.MaaSSubscription,
		*v1alpha1.AITenant, *v1alpha1.MaasTenantConfig, *v1alpha1.Tenant, *v1alpha1.ExternalModel, *v1alpha1.Config,
		*corev1.Namespace, *gwapiv1.HTTPRoute, *gwapiv1.Gateway:
		if typed, ok := obj.(client.Object); ok {
			typed.SetManagedFields(nil)
		}
	}
	return obj, nil
}

// share replaces the parts of an object by those of others. An object as a whole,
// and its metadata, are like no other.
func (s slimmer) share(object *unstructured.Unstructured) {
	metadata, _ := object.Object["metadata"].(map[string]any)
	for name, member := range metadata {
		metadata[name] = s.pool.Share(member)
	}
	for name, member := range object.Object {
		if name != "metadata" {
			object.Object[name] = s.pool.Share(member)
		}
	}
}
