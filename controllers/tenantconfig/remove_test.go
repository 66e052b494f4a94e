// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// A config of another name was never the tenant's: its deletion takes nothing along.
func TestADeletionOfAConfigOfAnotherNameTakesNothingAlong(t *testing.T) {
	t.Parallel()
	c := config(defaultNamespace, func(c *v1alpha1.MaasTenantConfig) {
		c.Name, c.DeletionTimestamp = "second", &metav1.Time{Time: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
		c.Finalizers = []string{v1alpha1.FinalizerTenantCleanup}
	})
	subscription := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: defaultNamespace, Name: "kept"}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: "maas-api", Labels: map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, v1alpha1.LabelPartOf: v1alpha1.PartOfMaaS, v1alpha1.LabelTenantNamespace: defaultNamespace,
	}}}
	r := small{objects: []client.Object{c, subscription, service}}.reconciler(t)
	for range 2 {
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(c)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, kept := range []client.Object{subscription, service} {
		if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(kept), kept); err != nil {
			t.Errorf("what belongs to the tenant is gone: %v", err)
		}
	}
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(c), c); !apierrors.IsNotFound(err) {
		t.Errorf("the config is held: %v", err)
	}
}
