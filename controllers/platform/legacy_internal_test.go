// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

// legacyScheme has no HTTPRoute, as a cluster may have none.
func legacyScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

func inOwnNamespace(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "opendatahub", Name: name, Labels: map[string]string{v1alpha1.LabelPartOf: v1alpha1.PartOfMaaS}}
}

func legacyReconciler(c client.Client) *Reconciler {
	return &Reconciler{Client: c, APIReader: c, Settings: Settings{ControllerNamespace: "opendatahub", InfraNamespace: "infra"}}
}

func theConfigOf(annotations ...string) *v1alpha1.Config {
	config := &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "c", Annotations: map[string]string{}}}
	for _, a := range annotations {
		config.Annotations[a] = yes
	}
	return config
}

func readyTenant() *v1alpha1.AITenant {
	return &v1alpha1.AITenant{Status: v1alpha1.AITenantStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}}}
}

func isThere(t *testing.T, c client.Client, object client.Object) bool {
	t.Helper()
	err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

// W-14: a removal is not over before it succeeded, wherever it failed.
func TestTheRemovalOfTheFormerMaaSAPIIsTriedUntilItSucceeds(t *testing.T) {
	t.Parallel()
	api, rights := (*Reconciler).retireLegacyAPI, (*Reconciler).retireLegacyRights
	for name, test := range map[string]struct {
		kind   string
		retire func(*Reconciler, context.Context, *scope) error
		done   string
	}{
		"at its Service":            {"Service", api, v1alpha1.AnnotationLegacyMaaSAPIRemoved},
		"at its Deployment":         {"Deployment", api, v1alpha1.AnnotationLegacyMaaSAPIRemoved},
		"at the ClusterRole":        {"ClusterRole", rights, v1alpha1.AnnotationLegacyMaaSAPIRightsRemoved},
		"at the ClusterRoleBinding": {"ClusterRoleBinding", rights, v1alpha1.AnnotationLegacyMaaSAPIRightsRemoved},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, failures := theConfigOf(), 2
			left := []client.Object{&appsv1.Deployment{ObjectMeta: inOwnNamespace("maas-api")}, &corev1.Service{ObjectMeta: inOwnNamespace("maas-api")}}
			if test.done == v1alpha1.AnnotationLegacyMaaSAPIRightsRemoved {
				former := inOwnNamespace("maas-api-supplemental")
				former.Namespace = ""
				left = []client.Object{&rbacv1.ClusterRole{ObjectMeta: former}, &rbacv1.ClusterRoleBinding{ObjectMeta: former}}
			}
			c := fakecluster.Holding(legacyScheme(t), append(left, config)...).
				WithInterceptorFuncs(interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
					if object.GetObjectKind().GroupVersionKind().Kind == test.kind && failures > 0 {
						failures--
						return apierrors.NewInternalError(errors.New("busy"))
					}
					return c.Delete(ctx, object, opts...)
				}}).Build()
			r, s := legacyReconciler(c), &scope{config: config, tenant: readyTenant(), shared: true}

			for try := range 2 {
				if err := test.retire(r, t.Context(), s); !apierrors.IsInternalError(err) {
					t.Fatalf("try %d: err = %v", try, err)
				}
				if s.config.Annotations[test.done] != "" {
					t.Fatal("a removal that failed counts as done")
				}
			}
			if err := test.retire(r, t.Context(), s); err != nil {
				t.Fatal(err)
			}
			for _, object := range left {
				if isThere(t, c, object) {
					t.Errorf("%T is still there", object)
				}
			}
			if s.config.Annotations[test.done] != yes {
				t.Error("the removal is not recorded")
			}
		})
	}
}

// Somebody may have removed a part of it by hand, the Deployment first of all.
func TestWhateverIsLeftOfTheFormerMaaSAPIGoes(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]client.Object{
		"a Service":    &corev1.Service{ObjectMeta: inOwnNamespace("maas-api")},
		"a ConfigMap":  &corev1.ConfigMap{ObjectMeta: inOwnNamespace("maas-api-config")},
		"a Deployment": &appsv1.Deployment{ObjectMeta: inOwnNamespace("maas-api")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := theConfigOf()
			c := fakecluster.Holding(legacyScheme(t), config, left).Build()
			s := &scope{config: config, tenant: readyTenant()}
			if err := legacyReconciler(c).retireLegacyAPI(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if isThere(t, c, left) || s.config.Annotations[v1alpha1.AnnotationLegacyMaaSAPIRemoved] != yes {
				t.Errorf("it is still there, or its removal is not recorded: %v", s.config.Annotations)
			}
		})
	}
}

// C29: the rights of maas-api are those the operator grants it, once it does.
func TestTheRightsOfTheFormerMaaSAPIGo(t *testing.T) {
	t.Parallel()
	ready, unready := readyTenant(), &v1alpha1.AITenant{}
	partOf, managedBy := map[string]string{v1alpha1.LabelPartOf: v1alpha1.PartOfMaaS}, map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}
	for name, test := range map[string]struct {
		labels, annotations map[string]string
		config              *v1alpha1.Config
		tenant              *v1alpha1.AITenant
		unshared            bool
		stay, unrecorded    bool
	}{
		"when part of it":                             {labels: partOf, config: theConfigOf(), tenant: ready},
		"when the operator made them":                 {labels: managedBy, config: theConfigOf(), tenant: ready},
		"when the default tenant is not wanted":       {labels: partOf, config: theConfigOf(v1alpha1.AnnotationDefaultAITenantBootstrapped)},
		"not when others made them":                   {config: theConfigOf(), tenant: ready, stay: true},
		"not when opted out":                          {labels: partOf, annotations: map[string]string{v1alpha1.AnnotationManaged: "false"}, config: theConfigOf(), tenant: ready, stay: true},
		"not before the shared objects are there":     {labels: partOf, config: theConfigOf(), tenant: ready, unshared: true, stay: true, unrecorded: true},
		"not before the default tenant works":         {labels: partOf, config: theConfigOf(v1alpha1.AnnotationDefaultAITenantBootstrapped), tenant: unready, stay: true, unrecorded: true},
		"not before there is a default tenant":        {labels: partOf, config: theConfigOf(), stay: true, unrecorded: true},
		"not when made anew after they had been gone": {labels: partOf, config: theConfigOf(v1alpha1.AnnotationLegacyMaaSAPIRightsRemoved), tenant: ready, stay: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			former := metav1.ObjectMeta{Name: "maas-api-supplemental", Labels: test.labels, Annotations: test.annotations}
			objects := []client.Object{&rbacv1.ClusterRole{ObjectMeta: former}, &rbacv1.ClusterRoleBinding{ObjectMeta: former}}
			c := fakecluster.Holding(legacyScheme(t), append(objects, test.config)...).Build()
			s := &scope{config: test.config, tenant: test.tenant, shared: !test.unshared}
			if err := legacyReconciler(c).retireLegacyRights(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			for _, object := range objects {
				if got := isThere(t, c, object); got != test.stay {
					t.Errorf("%T is there: %t, want %t", object, got, test.stay)
				}
			}
			if got := s.config.Annotations[v1alpha1.AnnotationLegacyMaaSAPIRightsRemoved] != yes; got != test.unrecorded {
				t.Errorf("annotations = %v", s.config.Annotations)
			}
		})
	}
}

// What is left of usage logs and metrics of an earlier release goes, whoever of the two it
// says it belongs to, and only that.
func TestTheFormerMonitoringGoes(t *testing.T) {
	t.Parallel()
	owned := []metav1.OwnerReference{{APIVersion: "maas.opendatahub.io/v1alpha1", Kind: "Config", Name: "default", UID: "c"}}
	for name, test := range map[string]struct {
		labels           map[string]string
		owners           []metav1.OwnerReference
		annotations      map[string]string
		config           *v1alpha1.Config
		unshared         bool
		stay, unrecorded bool
	}{
		"when the Config owns it":                     {owners: owned, config: theConfigOf()},
		"when part of it":                             {labels: map[string]string{v1alpha1.LabelPartOf: v1alpha1.PartOfMaaS}, config: theConfigOf()},
		"when the operator made it":                   {labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}, config: theConfigOf()},
		"not when others made it":                     {config: theConfigOf(), stay: true},
		"not when opted out":                          {owners: owned, annotations: map[string]string{v1alpha1.AnnotationManaged: "false"}, config: theConfigOf(), stay: true},
		"not before what replaces it is there":        {owners: owned, config: theConfigOf(), unshared: true, stay: true, unrecorded: true},
		"not when made anew after they had been gone": {owners: owned, config: theConfigOf(v1alpha1.AnnotationLegacyMonitoringRemoved), stay: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := func(namespace, name string) metav1.ObjectMeta {
				return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: test.labels, OwnerReferences: test.owners, Annotations: test.annotations}
			}
			monitor := &metav1.PartialObjectMetadata{ObjectMeta: of("infra", "maas-api-metrics")}
			monitor.SetGroupVersionKind(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "PodMonitor"})
			objects := []client.Object{
				&rbacv1.RoleBinding{ObjectMeta: of("mon", "usage-tenancy-proxy-scc-nonroot-v2")}, &corev1.ConfigMap{ObjectMeta: of("mon", "usage-tenancy-proxy-source")}, monitor,
			}
			scheme := legacyScheme(t)
			scheme.AddKnownTypeWithName(monitor.GroupVersionKind(), &metav1.PartialObjectMetadata{})
			c := fakecluster.Holding(scheme, append(objects, test.config)...).Build()
			r, s := legacyReconciler(c), &scope{config: test.config, shared: !test.unshared}
			r.Settings.MonitoringNamespace = "mon"
			if err := r.retireLegacyMonitoring(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			for _, object := range objects {
				if got := isThere(t, c, object); got != test.stay {
					t.Errorf("%s is there: %t, want %t", object.GetName(), got, test.stay)
				}
			}
			if got := s.config.Annotations[v1alpha1.AnnotationLegacyMonitoringRemoved] != yes; got != test.unrecorded {
				t.Errorf("annotations = %v", s.config.Annotations)
			}
		})
	}
}
