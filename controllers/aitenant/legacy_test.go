// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// legacy creates the namespace of the tenant with a Tenant of an earlier release in it,
// which a finalizer holds that nobody takes off any more.
func (w world) legacy(spec v1alpha1.TenantSpec) *v1alpha1.Tenant {
	GinkgoHelper()
	Expect(suite.Admin.Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})).To(Succeed())
	legacy := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.namespace, Name: v1alpha1.DefaultTenantConfigName, Finalizers: []string{v1alpha1.FinalizerLegacyTenant},
	}, Spec: spec}
	Expect(suite.Admin.Create(w.ctx, legacy)).To(Succeed())
	return legacy
}

func (w world) legacyIsGone(g Gomega) {
	err := suite.Admin.Get(w.ctx, w.configKey(), &v1alpha1.Tenant{})
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "error: %v", err)
}

var _ = Describe("A Tenant of an earlier release", func() {
	// Rows E-38, E-39 and E-50.
	It("is migrated with all it says, and goes", func(ctx SpecContext) {
		w := newWorld(ctx, "migrated")
		w.gateway(w.name)
		w.legacy(v1alpha1.TenantSpec{
			GatewayRef:        &v1alpha1.TenantGatewayRef{Namespace: gatewayNamespace, Name: defaultGateway},
			ExternalOIDC:      &v1alpha1.TenantExternalOIDCConfig{IssuerURL: "https://idp.example.com", ClientID: "maas", TTL: 60},
			APIKeys:           &v1alpha1.TenantAPIKeysConfig{MaxExpirationDays: new(int32(30))},
			Telemetry:         &v1alpha1.TenantTelemetryConfig{Enabled: new(false)},
			PayloadProcessing: &v1alpha1.PayloadProcessingConfig{Replicas: new(int32(2))},
		})
		w.create()
		Eventually(w.legacyIsGone).Should(Succeed())
		t, c := w.tenant(Default), w.config(Default)
		Expect(t.Spec.Gateway).To(BeNil())
		Expect(t.Spec.OIDC.IssuerURL).To(Equal("https://idp.example.com"))
		Expect(*c.Spec.APIKeys.MaxExpirationDays).To(Equal(int32(30)))
		Expect(*c.Spec.Telemetry.Enabled).To(BeFalse())
		Expect(*c.Spec.PayloadProcessing.Replicas).To(Equal(int32(2)))
		Eventually(w.condition(v1alpha1.ConditionLegacyTenantRetired)).Should(HaveField("Reason", "LegacyTenantMigrated"))
		w.configReady()
		Eventually(w.says).Should(Equal(active))
	})

	// Row E-48: somebody has to decide, and may do so by deleting it.
	It("stays when it says something else than what is in force, and can be deleted", func(ctx SpecContext) {
		w := newWorld(ctx, "kept")
		w.gateway(w.name)
		legacy := w.legacy(v1alpha1.TenantSpec{APIKeys: &v1alpha1.TenantAPIKeysConfig{MaxExpirationDays: new(int32(30))}})
		config := &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: v1alpha1.DefaultTenantConfigName}}
		config.Spec.APIKeys = &v1alpha1.TenantAPIKeysConfig{MaxExpirationDays: new(int32(10))}
		Expect(suite.Admin.Create(w.ctx, config)).To(Succeed())
		w.create()
		Eventually(w.condition(v1alpha1.ConditionLegacyTenantRetired)).Should(And(
			HaveField("Reason", "LegacyTenantKept"), HaveField("Message", ContainSubstring("spec.apiKeys"))))
		w.configReady()
		Eventually(w.says).Should(Equal(active))
		Expect(suite.Admin.Delete(w.ctx, legacy)).To(Succeed())
		Eventually(w.legacyIsGone).Should(Succeed())
		Eventually(w.condition(v1alpha1.ConditionLegacyTenantRetired)).Should(HaveField("Status", metav1.ConditionTrue))
	})

	// Row E-51, and W-24: correcting it is enough.
	It("is not migrated from a Gateway of another namespace until it is corrected", func(ctx SpecContext) {
		w := newWorld(ctx, "elsewhere")
		w.gateway("elsewhere-gateway")
		legacy := w.legacy(v1alpha1.TenantSpec{GatewayRef: &v1alpha1.TenantGatewayRef{Namespace: "other", Name: "elsewhere-gateway"}})
		w.create()
		Eventually(w.says).Should(Equal("Failed/False/LegacyTenantMigrationFailed"))
		Expect(suite.Admin.Get(w.ctx, client.ObjectKeyFromObject(legacy), legacy)).To(Succeed())
		Expect(legacy.Annotations).To(BeEmpty())
		Expect(apierrors.IsNotFound(suite.Admin.Get(w.ctx, w.configKey(), &v1alpha1.MaasTenantConfig{}))).To(BeTrue())

		before := legacy.DeepCopy()
		legacy.Spec.GatewayRef.Namespace = gatewayNamespace
		Expect(suite.Admin.Patch(w.ctx, legacy, client.MergeFrom(before))).To(Succeed())
		Eventually(w.legacyIsGone).Should(Succeed())
		Expect(w.tenant(Default).Spec.Gateway).To(HaveField("Name", "elsewhere-gateway"))
	})
})

var _ = Describe("The deletion of a tenant", func() {
	// Rows E-83, E-84, E-85 and E-90, with the controller of Jobs.
	It("revokes the keys, takes everything down and leaves the namespace", func(ctx SpecContext) {
		w := newWorld(ctx, "leaving")
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: v1alpha1.DatabaseSecretName}}
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: tenancy.CleanupServiceAccount}}
		for _, o := range []client.Object{secret, account} {
			Expect(client.IgnoreAlreadyExists(suite.Admin.Create(w.ctx, o))).To(Succeed())
		}
		t := w.up()
		theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "theirs"}}
		Expect(suite.Admin.Create(w.ctx, theirs)).To(Succeed())
		Expect(suite.Admin.Delete(w.ctx, t)).To(Succeed())

		Eventually(func(g Gomega) { // The test plays the Pod.
			var pods corev1.PodList
			g.Expect(suite.Admin.List(w.ctx, &pods, client.InNamespace(infraNamespace), client.MatchingLabels{"job-name": tenancy.KeyRevocation(w.name)})).To(Succeed())
			g.Expect(pods.Items).To(HaveLen(1))
			g.Expect(pods.Items[0].Spec.Containers[0].Args).To(ContainElements("revoke", w.name, string(t.UID)))
			g.Expect(pods.Items[0].Status.Phase).To(Equal(corev1.PodRunning)) // Else the simulated node is about to say so.
			pods.Items[0].Status.Phase = corev1.PodSucceeded
			g.Expect(suite.Admin.Status().Update(w.ctx, &pods.Items[0])).To(Succeed())
		}).Should(Succeed())
		// The controller of Jobs takes its time on a busy machine.
		Eventually(w.condition(v1alpha1.ConditionAPIKeysRevoked)).WithTimeout(time.Minute).Should(HaveField("Status", metav1.ConditionTrue))
		Eventually(func(g Gomega) { // And the controller of the config.
			c := w.config(g)
			g.Expect(c.DeletionTimestamp).NotTo(BeNil())
			g.Expect(c.Finalizers).To(ContainElement(v1alpha1.FinalizerTenantCleanup))
			before := c.DeepCopy()
			c.Finalizers = nil
			g.Expect(suite.Admin.Patch(w.ctx, c, client.MergeFrom(before))).To(Succeed())
		}).Should(Succeed())

		Eventually(func() bool { return apierrors.IsNotFound(suite.Admin.Get(w.ctx, w.key(), t)) }).Should(BeTrue())
		Expect(w.claim(w.name)(Default)).To(BeNil())
		ns := w.namespaceObject(Default, w.namespace)
		Expect(ns.DeletionTimestamp).To(BeNil())
		Expect(ns.Labels).To(Equal(map[string]string{"kubernetes.io/metadata.name": w.namespace}))
		Expect(ns.Annotations).To(BeEmpty())
		Expect(suite.Admin.Get(w.ctx, client.ObjectKeyFromObject(theirs), theirs)).To(Succeed())
		var stones corev1.ConfigMapList
		Expect(suite.Admin.List(w.ctx, &stones, client.MatchingLabels{v1alpha1.LabelTenantTombstone: "true"})).To(Succeed())
		Expect(stones.Items).To(BeEmpty())
	})
})
