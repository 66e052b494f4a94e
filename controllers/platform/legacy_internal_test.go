// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// W-14: the removal of the former maas-api is not over before it succeeded, wherever
// it failed. The scheme has no HTTPRoute, as a cluster may have none.
func TestTheRemovalOfTheFormerMaaSAPIIsTriedUntilItSucceeds(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]string{"at its Service": "Service", "at its Deployment": "Deployment"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := runtime.NewScheme()
			if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
				t.Fatal(err)
			}
			former := metav1.ObjectMeta{Namespace: "opendatahub", Name: "maas-api", Labels: map[string]string{v1alpha1.LabelPartOf: v1alpha1.PartOfMaaS}}
			config := &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "c"}}
			failures := 2
			c := fake.NewClientBuilder().WithScheme(scheme).
				WithObjects(config, &appsv1.Deployment{ObjectMeta: former}, &corev1.Service{ObjectMeta: former}).
				WithInterceptorFuncs(interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, object client.Object, _ ...client.DeleteOption) error {
					if object.GetObjectKind().GroupVersionKind().Kind == kind && failures > 0 {
						failures--
						return apierrors.NewInternalError(errors.New("busy"))
					}
					return c.Delete(ctx, object)
				}}).Build()
			r := &Reconciler{Client: c, APIReader: c, Settings: Settings{ControllerNamespace: "opendatahub", InfraNamespace: "infra"}}
			s := &scope{config: config, tenant: &v1alpha1.AITenant{Status: v1alpha1.AITenantStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}}}}

			for try := range 2 {
				if err := r.retireLegacyAPI(t.Context(), s); !apierrors.IsInternalError(err) {
					t.Fatalf("try %d: err = %v", try, err)
				}
				if s.config.Annotations[v1alpha1.AnnotationLegacyMaaSAPIRemoved] != "" {
					t.Fatal("a removal that failed counts as done")
				}
			}
			if err := r.retireLegacyAPI(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			for _, object := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}} {
				if err := c.Get(t.Context(), client.ObjectKey{Namespace: former.Namespace, Name: former.Name}, object); !apierrors.IsNotFound(err) {
					t.Errorf("%T is still there: %v", object, err)
				}
			}
			if s.config.Annotations[v1alpha1.AnnotationLegacyMaaSAPIRemoved] != yes {
				t.Error("the removal is not recorded")
			}
		})
	}
}
