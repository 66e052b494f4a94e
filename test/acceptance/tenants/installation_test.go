// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// The specs tell one story: an installation loses its Config, and comes up again like
// that of an earlier release.
var _ = Describe("the installation", Ordered, func() {
	const (
		anchored = tenantOf("anchored")
		held     = "example.com/held"
		chosen   = "chosen-long-ago"
	)
	config := func() *v1alpha1.Config {
		return &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.ConfigName}}
	}
	deployment := func() *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: stage.DeploymentName}}
	}
	registry := func() *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: stage.AITenantNamespace}}
	}
	legacy := func() *v1alpha1.Tenant {
		return &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: stage.TenantNamespace, Name: v1alpha1.DefaultTenantConfigName}}
	}
	labelled := func(ctx SpecContext) func() string {
		return func() string { return read(ctx, registry()).Labels[v1alpha1.LabelGeneratedNamespace] }
	}
	bootstrapped := func(ctx SpecContext) func() string {
		return func() string {
			c := config()
			if !exists(ctx, c) {
				return "no Config"
			}
			return c.Annotations[v1alpha1.AnnotationDefaultAITenantBootstrapped]
		}
	}
	// observed waits until the Config was looked at once more.
	observed := func(ctx SpecContext, change func(*v1alpha1.Config)) {
		GinkgoHelper()
		edit(ctx, config(), change)
		Eventually(func() bool {
			c := read(ctx, config())
			return c.Status.ObservedGeneration == c.Generation
		}).Should(BeTrue())
	}
	var formerConfig, formerTenant types.UID
	provider := &v1alpha1.TenantExternalOIDCConfig{IssuerURL: "https://idp.example.com/realms/maas", ClientID: "maas", TTL: 120}

	BeforeAll(func(ctx SpecContext) {
		setUp(ctx, anchored)
		work(ctx, theDefault)
		formerConfig, formerTenant = read(ctx, config()).UID, read(ctx, theDefault.object()).UID
	})

	// Whatever became of the story, the specs after it need an installation.
	AfterAll(func(ctx SpecContext) {
		Expect(on.Deploy(ctx)).To(Succeed())
		if c := config(); exists(ctx, c) && controllerutil.ContainsFinalizer(c, held) {
			edit(ctx, config(), func(c *v1alpha1.Config) { controllerutil.RemoveFinalizer(c, held) })
		}
	})

	It("stands, and says so", func(ctx SpecContext) {
		Eventually(bootstrapped(ctx)).Should(Equal("true"))
		c := read(ctx, config())
		Expect(condition(c.Status.Conditions, v1alpha1.ConditionReady)).To(Equal("True PlatformReady"))
		Expect(c.OwnerReferences).To(BeEmpty())
	})

	It("is not kept without the operator's Deployment (E-17)", func(ctx SpecContext) {
		remove(ctx, deployment())
		Eventually(there(ctx, deployment())).Should(BeFalse())
		edit(ctx, registry(), func(ns *corev1.Namespace) { delete(ns.Labels, v1alpha1.LabelGeneratedNamespace) })
		Consistently(labelled(ctx)).Should(BeEmpty())
	})

	It("stops tenants while the Config goes, also one that is to be removed (E-107, E-110)", func(ctx SpecContext) {
		edit(ctx, config(), func(c *v1alpha1.Config) { controllerutil.AddFinalizer(c, held) })
		remove(ctx, config())
		for _, t := range []tenantOf{theDefault, anchored} {
			Eventually(t.services(ctx)).Should(Equal("Pending ConfigTerminating"))
		}
		anchored.annotate(ctx, v1alpha1.AnnotationManagementState, "Removed")
		Consistently(anchored.services(ctx)).Should(Equal("Pending ConfigTerminating"))
		Expect(exists(ctx, deploymentOf(anchored))).To(BeTrue())
		anchored.annotate(ctx, v1alpha1.AnnotationManagementState, "")
		edit(ctx, config(), func(c *v1alpha1.Config) { controllerutil.RemoveFinalizer(c, held) })
		Eventually(anchored.services(ctx)).Should(Equal("Pending ConfigMissing"))
	})

	It("loses the default tenant with the Config, and nobody else's", func(ctx SpecContext) {
		Eventually(func() bool {
			t := theDefault.object()
			return !exists(ctx, t) || t.DeletionTimestamp != nil
		}).Should(BeTrue())
		Expect(exists(ctx, deploymentOf(anchored))).To(BeTrue())
		Expect(read(ctx, anchored.object()).DeletionTimestamp).To(BeNil())
	})

	It("is made anew, with what an earlier release said about the default tenant (E-8, E-9, E-13, E-17, E-51, A81)", func(ctx SpecContext) {
		old := legacy()
		old.Finalizers = []string{v1alpha1.FinalizerLegacyTenant}
		old.Spec.ExternalOIDC = provider
		old.Spec.GatewayRef = &v1alpha1.TenantGatewayRef{Namespace: "elsewhere", Name: chosen}
		old.Spec.APIKeys = &v1alpha1.TenantAPIKeysConfig{MaxExpirationDays: new(int32(30))}
		old.Spec.Telemetry = &v1alpha1.TenantTelemetryConfig{Enabled: new(false)}
		create(ctx, old)
		Expect(on.Deploy(ctx)).To(Succeed())
		Eventually(labelled(ctx)).Should(Equal("true"))
		Eventually(theDefault.state(ctx)).Should(Equal("Failed LegacyTenantMigrationFailed"))
		c, t := read(ctx, config()), read(ctx, theDefault.object())
		Expect(c.UID).NotTo(Equal(formerConfig))
		Expect(t.UID).NotTo(Equal(formerTenant))
		Expect(t.Spec.OIDC).To(Equal(provider))
		Expect(t.Spec.Gateway.Name).To(Equal(chosen))
		Expect(t.OwnerReferences).To(ConsistOf(metav1.OwnerReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Config", Name: c.Name, UID: c.UID}))
		Expect(bootstrapped(ctx)()).To(BeEmpty())
		Expect(exists(ctx, theDefault.config())).To(BeFalse())
		Expect(read(ctx, legacy()).Annotations).To(BeEmpty())
		Eventually(anchored.services(ctx)).Should(Equal(working))
	})

	It("takes the old Tenant over once it is corrected, before its Gateway is there (E-34, E-38, E-39, E-63)", func(ctx SpecContext) {
		edit(ctx, legacy(), func(t *v1alpha1.Tenant) { t.Spec.GatewayRef.Namespace = stage.GatewayNamespace })
		Eventually(theDefault.state(ctx)).Should(Equal("Failed GatewayCheckFailed"))
		Expect(theDefault.trouble(ctx)).To(ContainSubstring(stage.GatewayNamespace + "/" + chosen))
		Eventually(there(ctx, legacy())).Should(BeFalse())
		c := read(ctx, theDefault.config())
		Expect(c.Spec.APIKeys.MaxExpirationDays).To(HaveValue(BeEquivalentTo(30)))
		Expect(c.Spec.Telemetry.Enabled).To(HaveValue(BeFalse()))
		Expect(theDefault.namespace()).To(Equal(read(ctx, theDefault.object()).Status.TenantNamespace))
		Expect(bootstrapped(ctx)()).To(BeEmpty())
	})

	It("makes a default tenant anew that was deleted before it worked, but not beside it (E-10, E-11)", func(ctx SpecContext) {
		edit(ctx, theDefault.object(), func(t *v1alpha1.AITenant) { controllerutil.AddFinalizer(t, held) })
		stuck := read(ctx, theDefault.object()).UID
		remove(ctx, theDefault.object())
		Eventually(func() []string { return read(ctx, theDefault.object()).Finalizers }).Should(Equal([]string{held}))
		observed(ctx, func(c *v1alpha1.Config) { c.Spec.LimitadorScrapeInterval = "15s" })
		Expect(read(ctx, theDefault.object()).UID).To(Equal(stuck))
		Expect(bootstrapped(ctx)()).To(BeEmpty())
		edit(ctx, theDefault.object(), func(t *v1alpha1.AITenant) { controllerutil.RemoveFinalizer(t, held) })
		work(ctx, theDefault)
		Expect(read(ctx, theDefault.object()).Spec.Gateway.Name).To(Equal(stage.GatewayName))
		Eventually(bootstrapped(ctx)).Should(Equal("true"))
	})

	It("leaves a default tenant deleted that had worked, and takes one back (E-16, E-154)", func(ctx SpecContext) {
		remove(ctx, theDefault.object())
		Eventually(there(ctx, theDefault.object())).Should(BeFalse())
		observed(ctx, func(c *v1alpha1.Config) { c.Spec.LimitadorScrapeInterval = "" })
		Consistently(there(ctx, theDefault.object())).Should(BeFalse())
		mine := theDefault.object()
		mine.Spec.Gateway = &v1alpha1.AITenantGatewayRef{Name: stage.GatewayName}
		create(ctx, mine)
		work(ctx, theDefault)
		for _, owners := range []func() []metav1.OwnerReference{
			func() []metav1.OwnerReference { return read(ctx, theDefault.object()).OwnerReferences },
			func() []metav1.OwnerReference { return read(ctx, theDefault.config()).OwnerReferences },
		} {
			Eventually(owners).Should(ConsistOf(And(HaveField("Kind", "Config"), HaveField("Controller", BeNil()))))
		}
	})
})

// deploymentOf is a tenant's maas-api with nothing but its name.
func deploymentOf(t tenantOf) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: t.suffixed("maas-api")}}
}
