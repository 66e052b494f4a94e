// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;patch

// yes is the value of annotations that say that something is so.
const yes = "true"

// deploymentMetadata returns an empty object for the metadata of a Deployment.
func deploymentMetadata() *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	return object
}

// release takes off the operator's Deployment what earlier releases put on it, first
// of all: with the owner reference, the deletion of the Config would take the operator
// along. An old completion ends with the request it answered. A Deployment that is
// being deleted is only let go.
func (r *Reconciler) release(ctx context.Context, s *scope) error {
	s.stopped = s.deployment.DeletionTimestamp != nil
	err := r.patchDeployment(ctx, s, func(after *metav1.PartialObjectMetadata) {
		after.OwnerReferences = slices.DeleteFunc(after.OwnerReferences, refersToConfig)
		controllerutil.RemoveFinalizer(after, v1alpha1.FinalizerLegacyDeployment)
		if s.request() != byAnnotation && !s.stopped {
			delete(after.Annotations, v1alpha1.AnnotationTeardownCompleted)
		}
	})
	if s.stopped {
		s.config = nil // Nothing more is said about an installation without an operator.
	}
	return err
}

// patchDeployment changes the metadata of the operator's Deployment when there is
// something to change. It fails with a conflict when the object has moved on.
func (r *Reconciler) patchDeployment(ctx context.Context, s *scope, change func(*metav1.PartialObjectMetadata)) error {
	after := s.deployment.DeepCopy()
	change(after)
	if sameMetadata(s.deployment, after) {
		return nil
	}
	patch := client.MergeFromWithOptions(s.deployment, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, after, patch, client.FieldOwner(v1alpha1.FieldOwner)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("change the metadata of Deployment %s: %w", r.deploymentKey(), err)
	}
	s.deployment = after
	return nil
}

func sameMetadata(before, after *metav1.PartialObjectMetadata) bool {
	return len(before.OwnerReferences) == len(after.OwnerReferences) && len(before.Finalizers) == len(after.Finalizers) &&
		before.Annotations[v1alpha1.AnnotationTeardownCompleted] == after.Annotations[v1alpha1.AnnotationTeardownCompleted]
}

// refersToConfig holds for an owner reference to a Config of any version and UID.
func refersToConfig(ref metav1.OwnerReference) bool {
	group, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && group.Group == v1alpha1.GroupVersion.Group && ref.Kind == v1alpha1.KindConfig && ref.Name == v1alpha1.ConfigName
}
