// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
)

// Only the objects of these names are touched. Most of the rights name none: those of
// other controllers to the same kinds cannot, and would cover any that do.
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;delete
// +kubebuilder:rbac:groups="",resources=services;configmaps,verbs=get;delete
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes,verbs=get;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterrolebindings,verbs=get;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterroles,resourceNames=maas-api-supplemental,verbs=get;delete

// former is what earlier releases made and nobody needs any more.
type former struct {
	// what it is, for people.
	what string
	// namespace is empty for what is in none.
	namespace string
	// done is the annotation of the Config that says that it is removed.
	done string
	// objects are in the order in which they go.
	objects []legacyObject
	// made tells by its labels whether an earlier release made an object.
	made func(labels map[string]string) bool
}

// legacyObject names one object of an earlier release.
type legacyObject struct {
	gvk  schema.GroupVersionKind
	name string
}

// formerAPI is the maas-api in the operator's own namespace. First nothing leads to its
// Deployment any more; that one goes last.
func formerAPI(namespace string) former {
	return former{
		what: "the maas-api of an earlier release", namespace: namespace, done: v1alpha1.AnnotationLegacyMaaSAPIRemoved,
		objects: []legacyObject{
			{schema.GroupVersion(gwapiv1.GroupVersion).WithKind("HTTPRoute"), "maas-api-route"},
			{corev1.SchemeGroupVersion.WithKind("Service"), "maas-api"},
			{corev1.SchemeGroupVersion.WithKind("ConfigMap"), "maas-api-config"},
			{appsv1.SchemeGroupVersion.WithKind("Deployment"), "maas-api"},
		},
		made: func(labels map[string]string) bool { return labels[v1alpha1.LabelPartOf] == v1alpha1.PartOfMaaS },
	}
}

// formerRights let maas-api read more, in the whole cluster, than it is given now. The
// binding goes first: it is what grants them.
func formerRights() former {
	const name = "maas-api-supplemental"
	return former{
		what: "rights of maas-api of an earlier release", done: v1alpha1.AnnotationLegacyMaaSAPIRightsRemoved,
		objects: []legacyObject{
			{rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"), name},
			{rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), name},
		},
		made: func(labels map[string]string) bool {
			return labels[v1alpha1.LabelPartOf] == v1alpha1.PartOfMaaS || labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedByValue
		},
	}
}

// retireLegacyAPI removes the maas-api that earlier releases ran in the operator's own
// namespace, once the default tenant has one elsewhere that works.
func (r *Reconciler) retireLegacyAPI(ctx context.Context, s *scope) error {
	if r.Settings.InfraNamespace == "" || r.Settings.InfraNamespace == r.Settings.ControllerNamespace || !s.tenantActive() {
		return nil
	}
	return r.retire(ctx, s, formerAPI(r.Settings.ControllerNamespace))
}

// retireLegacyRights removes rights that maas-api had in earlier releases, once it has
// those that replace them. That is never again when somebody deleted the default
// tenant after it had worked.
func (r *Reconciler) retireLegacyRights(ctx context.Context, s *scope) error {
	unwanted := s.tenant == nil && s.config.Annotations[v1alpha1.AnnotationDefaultAITenantBootstrapped] == yes
	if !s.shared || !s.tenantActive() && !unwanted {
		return nil
	}
	return r.retire(ctx, s, formerRights())
}

// retire removes what is left. It is tried until it succeeds, and the Config remembers
// that: what somebody makes of the name later is not touched.
func (r *Reconciler) retire(ctx context.Context, s *scope, f former) error {
	if s.config.Annotations[f.done] == yes {
		return nil
	}
	for _, object := range f.objects {
		if err := r.removeLegacy(ctx, f, object); err != nil {
			return fmt.Errorf("remove %s: %w", f.what, err)
		}
	}
	return r.annotateConfig(ctx, s, f.done, yes)
}

// removeLegacy deletes the object if an earlier release made it, unless it is opted out
// of management.
func (r *Reconciler) removeLegacy(ctx context.Context, f former, o legacyObject) error {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(o.gvk)
	object, err := fetch.Optional(ctx, r.APIReader, types.NamespacedName{Namespace: f.namespace, Name: o.name}, object)
	if err != nil || object == nil || !f.made(object.Labels) {
		return err
	}
	log := ctrl.LoggerFrom(ctx).WithValues("objectKind", o.gvk.Kind, "object", client.ObjectKeyFromObject(object).String())
	if object.Annotations[v1alpha1.AnnotationManaged] == "false" {
		log.Info("Leaving an object of an earlier release behind that opted out of management")
		return nil
	}
	if err := r.delete(ctx, object); err != nil {
		return err
	}
	log.Info("Removed an object of an earlier release", "part", f.what)
	return nil
}
