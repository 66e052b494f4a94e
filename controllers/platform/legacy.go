// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
)

// Only the objects of these names are touched. The rights name none: those of other
// controllers to the same kinds cannot, and would cover any that do.
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;delete
// +kubebuilder:rbac:groups="",resources=services;configmaps,verbs=get;delete
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes,verbs=get;delete

// legacyObject names one object of the maas-api of an earlier release.
type legacyObject struct {
	gvk  schema.GroupVersionKind
	name string
}

// legacyObjects are in the order in which they go: first nothing leads to the
// Deployment any more. It goes last, for it tells whether anything is left.
func legacyObjects() []legacyObject {
	return []legacyObject{
		{schema.GroupVersion(gwapiv1.GroupVersion).WithKind("HTTPRoute"), "maas-api-route"},
		{corev1.SchemeGroupVersion.WithKind("Service"), "maas-api"},
		{corev1.SchemeGroupVersion.WithKind("ConfigMap"), "maas-api-config"},
		{appsv1.SchemeGroupVersion.WithKind("Deployment"), "maas-api"},
	}
}

// retireLegacyAPI removes the maas-api that earlier releases ran in the operator's own
// namespace, once the default tenant has one elsewhere that works. It is tried until
// it succeeds, and the Config remembers that.
func (r *Reconciler) retireLegacyAPI(ctx context.Context, s *scope) error {
	if r.Settings.InfraNamespace == "" || r.Settings.InfraNamespace == r.Settings.ControllerNamespace ||
		!s.tenantActive() || s.config.Annotations[v1alpha1.AnnotationLegacyMaaSAPIRemoved] == yes {
		return nil
	}
	objects := legacyObjects()
	last, err := r.readLegacy(ctx, objects[len(objects)-1])
	if err != nil {
		return err
	}
	if last != nil {
		for _, object := range objects {
			if err := r.removeLegacy(ctx, object); err != nil {
				return err
			}
		}
		ctrl.LoggerFrom(ctx).Info("Removed the maas-api of an earlier release", "namespace", r.Settings.ControllerNamespace)
	}
	return r.annotateConfig(ctx, s, v1alpha1.AnnotationLegacyMaaSAPIRemoved, yes)
}

// readLegacy returns the object, or nil when there is none that an earlier release
// made.
func (r *Reconciler) readLegacy(ctx context.Context, o legacyObject) (*metav1.PartialObjectMetadata, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(o.gvk)
	object, err := fetch.Optional(ctx, r.APIReader, types.NamespacedName{Namespace: r.Settings.ControllerNamespace, Name: o.name}, object)
	if err != nil || object == nil || object.Labels[v1alpha1.LabelPartOf] != v1alpha1.PartOfMaaS {
		return nil, err
	}
	return object, nil
}

func (r *Reconciler) removeLegacy(ctx context.Context, o legacyObject) error {
	object, err := r.readLegacy(ctx, o)
	if err != nil || object == nil {
		return err
	}
	if err := r.delete(ctx, object); err != nil {
		return fmt.Errorf("remove the maas-api of an earlier release: %w", err)
	}
	return nil
}
