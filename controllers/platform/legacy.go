// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"fmt"
	"slices"

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
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=rolebindings,verbs=get;delete
// +kubebuilder:rbac:groups=monitoring.coreos.com,resources=podmonitors,verbs=get;delete
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes,verbs=get;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterrolebindings,verbs=get;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterroles,resourceNames=maas-api-supplemental,verbs=get;delete

// former is what earlier releases made and nobody needs any more.
type former struct {
	// what it is, for people.
	what string
	// done is the annotation of the Config that says that it is removed.
	done string
	// objects are in the order in which they go.
	objects []legacyObject
	// made tells whether an earlier release made an object.
	made func(*metav1.PartialObjectMetadata) bool
}

// legacyObject names one object of an earlier release. What is in no namespace has none.
type legacyObject struct {
	gvk             schema.GroupVersionKind
	namespace, name string
}

// labelled holds for what has the labels of the operator or of the product.
func labelled(object *metav1.PartialObjectMetadata) bool {
	return object.Labels[v1alpha1.LabelPartOf] == v1alpha1.PartOfMaaS || object.Labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedByValue
}

// formerAPI is the maas-api in the operator's own namespace. First nothing leads to its
// Deployment any more; that one goes last.
func formerAPI(namespace string) former {
	return former{
		what: "the maas-api of an earlier release", done: v1alpha1.AnnotationLegacyMaaSAPIRemoved,
		objects: []legacyObject{
			{schema.GroupVersion(gwapiv1.GroupVersion).WithKind("HTTPRoute"), namespace, "maas-api-route"},
			{corev1.SchemeGroupVersion.WithKind("Service"), namespace, "maas-api"},
			{corev1.SchemeGroupVersion.WithKind("ConfigMap"), namespace, "maas-api-config"},
			{appsv1.SchemeGroupVersion.WithKind("Deployment"), namespace, "maas-api"},
		},
		made: func(object *metav1.PartialObjectMetadata) bool {
			return object.Labels[v1alpha1.LabelPartOf] == v1alpha1.PartOfMaaS
		},
	}
}

// formerRights let maas-api read more, in the whole cluster, than it is given now. The
// binding goes first: it is what grants them.
func formerRights() former {
	const name = "maas-api-supplemental"
	return former{
		what: "rights of maas-api of an earlier release", done: v1alpha1.AnnotationLegacyMaaSAPIRightsRemoved,
		objects: []legacyObject{
			{rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"), "", name},
			{rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), "", name},
		},
		made: labelled,
	}
}

// formerMonitoring is what nothing of today replaces: a right that the proxy of usage logs
// needs no more, the program it was, and a monitor of a port that is called otherwise.
func formerMonitoring(monitoring, infra string) former {
	return former{
		what: "usage logs and metrics of an earlier release", done: v1alpha1.AnnotationLegacyMonitoringRemoved,
		objects: []legacyObject{
			{rbacv1.SchemeGroupVersion.WithKind("RoleBinding"), monitoring, "usage-tenancy-proxy-scc-nonroot-v2"},
			{corev1.SchemeGroupVersion.WithKind("ConfigMap"), monitoring, "usage-tenancy-proxy-source"},
			{schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "PodMonitor"}, infra, "maas-api-metrics"},
		},
		made: func(object *metav1.PartialObjectMetadata) bool {
			return labelled(object) || slices.ContainsFunc(object.OwnerReferences, refersToConfig)
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

// retireLegacyMonitoring removes what is left of usage logs and metrics of an earlier
// release, once there are those of today, or none are wanted. Without a namespace of
// monitoring it is unknown where that would be.
func (r *Reconciler) retireLegacyMonitoring(ctx context.Context, s *scope) error {
	if !s.shared || r.Settings.MonitoringNamespace == "" {
		return nil
	}
	return r.retire(ctx, s, formerMonitoring(r.Settings.MonitoringNamespace, r.Settings.InfraNamespace))
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
	object, err := fetch.Optional(ctx, r.APIReader, types.NamespacedName{Namespace: o.namespace, Name: o.name}, object)
	if err != nil || object == nil || !f.made(object) {
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
