// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

const aiTenantCleanup = "maas.opendatahub.io/aitenant-cleanup"

var _ = Describe("a teardown", func() {
	AfterEach(uninstall)

	// stand is an installation with two tenants, both held by their finalizers.
	stand := func(ctx SpecContext) *v1alpha1.AITenant {
		GinkgoHelper()
		install(ctx)
		settle(ctx)
		tenantSays(ctx, v1alpha1.AITenantPhaseActive, metav1.ConditionTrue)
		Eventually(func(g Gomega) map[string]string { return config(ctx)(g).Annotations }).Should(HaveKey(bootstrapped))
		hold(ctx, now(tenant(ctx)), aiTenantCleanup)
		red := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: aitenantNamespace, Name: "red", Finalizers: []string{aiTenantCleanup}}}
		Expect(suite.Admin.Create(ctx, red)).To(Succeed())
		return red
	}
	gone := func(ctx SpecContext) {
		GinkgoHelper()
		shared := client.MatchingLabels{"maas.opendatahub.io/config": "default"}
		for _, list := range []client.ObjectList{&networkingv1.NetworkPolicyList{}, &rbacv1.ClusterRoleList{}, &corev1.ServiceAccountList{}} {
			Expect(suite.Admin.List(ctx, list, shared)).To(Succeed())
			Expect(list).To(HaveField("Items", BeEmpty()))
		}
		for _, name := range []string{aitenantNamespace, infraNamespace, tenantNamespace} {
			Expect(now(read(ctx, "", name, &corev1.Namespace{}))).To(HaveField("DeletionTimestamp", BeNil()), name)
		}
	}

	It("by the annotation removes tenants, then shared objects and the Config, and says when it is done", func(ctx SpecContext) { // E-151, E-152
		red := stand(ctx)
		annotate(ctx, requested, "true")
		for _, t := range []*v1alpha1.AITenant{red, now(tenant(ctx))} {
			Eventually(read(ctx, aitenantNamespace, t.Name, &v1alpha1.AITenant{})).Should(HaveField("DeletionTimestamp", Not(BeNil())))
		}
		Expect(now(config(ctx)).Annotations).NotTo(HaveKey(bootstrapped))
		Eventually(says(ctx, "TeardownCompleted")).Should(Equal("False/TeardownInProgress"))
		Expect(now(says(ctx, "Ready"))).To(Equal("False/TeardownInProgress"))

		letGo(ctx, now(tenant(ctx)), aiTenantCleanup)
		Consistently(policy(ctx, egressPolicy)).WithTimeout(300 * time.Millisecond).ShouldNot(BeNil()) // As long as a tenant is left.
		Expect(now(own(ctx)).Annotations).NotTo(HaveKey(completed))
		letGo(ctx, red, aiTenantCleanup)
		Eventually(own(ctx)).Should(HaveField("Annotations", HaveKeyWithValue(completed, "true")))
		Expect(now(config(ctx))).To(BeNil())
		gone(ctx)

		mark := audit.Now()
		annotate(ctx, "somebody", "looks")
		Consistently(func() ([]audit.Event, error) {
			return suite.Env.Audit().After(mark, byOperator, audit.IsWrite(), audit.Not(audit.IsEvent()))
		}).WithTimeout(400 * time.Millisecond).Should(BeEmpty())

		annotate(ctx, requested, "")
		settle(ctx)
		Expect(now(own(ctx)).Annotations).NotTo(HaveKey(completed))
	})

	It("works without a Config", func(ctx SpecContext) { // E-150, E-15
		ensureNamespace(ctx, aitenantNamespace)
		orphan := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: aitenantNamespace, Name: "red"}}
		Expect(suite.Admin.Create(ctx, orphan)).To(Succeed())
		install(ctx, func(d *appsv1.Deployment) { d.Annotations = map[string]string{requested: "true"} })
		Eventually(own(ctx)).Should(HaveField("Annotations", HaveKeyWithValue(completed, "true")))
		Expect(now(config(ctx))).To(BeNil())
		Expect(now(read(ctx, aitenantNamespace, "red", &v1alpha1.AITenant{}))).To(BeNil())
		Expect(now(tenant(ctx))).To(BeNil())
	})

	It("by the Config's spec tells the result there, and is called off there", func(ctx SpecContext) { // W-47
		red := stand(ctx)
		uid := now(config(ctx)).UID
		editConfig(ctx, func(s *v1alpha1.ConfigSpec) { s.ManagementState = v1alpha1.ManagementStateRemoved })
		Eventually(says(ctx, "TeardownCompleted")).Should(Equal("False/TeardownInProgress"))
		letGo(ctx, now(tenant(ctx)), aiTenantCleanup)
		letGo(ctx, red, aiTenantCleanup)
		Eventually(says(ctx, "TeardownCompleted")).Should(Equal("True/TeardownCompleted"))
		Expect(now(says(ctx, "Ready"))).To(Equal("False/TeardownCompleted"))
		Expect(now(config(ctx))).To(And(HaveField("UID", uid), HaveField("Status.Inventory", BeEmpty())))
		Expect(now(own(ctx)).Annotations).NotTo(HaveKey(completed))
		gone(ctx)

		editConfig(ctx, func(s *v1alpha1.ConfigSpec) { s.ManagementState = v1alpha1.ManagementStateManaged })
		settle(ctx)
		Expect(now(says(ctx, "TeardownCompleted"))).To(Equal("none"))
		Expect(now(policy(ctx, egressPolicy))).NotTo(BeNil())
	})

	It("waits for MaasTenantConfigs that have something to clean up, and leaves others", func(ctx SpecContext) {
		for _, name := range []string{"with-services", "without"} {
			ensureNamespace(ctx, name)
			Expect(suite.Admin.Create(ctx, tenantConfig(name))).To(Succeed())
		}
		install(ctx)
		settle(ctx)
		hold(ctx, tenantConfig("with-services"), "maas.opendatahub.io/tenant-cleanup")
		annotate(ctx, requested, "true")
		Eventually(read(ctx, "with-services", "default-tenant", &v1alpha1.MaasTenantConfig{})).Should(HaveField("DeletionTimestamp", Not(BeNil())))
		Expect(now(policy(ctx, egressPolicy))).NotTo(BeNil())
		letGo(ctx, tenantConfig("with-services"), "maas.opendatahub.io/tenant-cleanup")
		Eventually(own(ctx)).Should(HaveField("Annotations", HaveKeyWithValue(completed, "true")))
		Expect(now(read(ctx, "without", "default-tenant", &v1alpha1.MaasTenantConfig{}))).To(HaveField("DeletionTimestamp", BeNil()))
	})

	It("keeps the shared objects until the keys of tenants that are gone are revoked", func(ctx SpecContext) {
		install(ctx)
		settle(ctx)
		stones := make([]*unstructured.Unstructured, 0, 2)
		for _, namespace := range []string{aitenantNamespace, infraNamespace} {
			stone := aitenant.Tombstone{AITenant: types.NamespacedName{Namespace: aitenantNamespace, Name: "red"}, UID: types.UID("of-" + namespace), Tenant: "red"}.Object(namespace)
			Expect(suite.Admin.Create(ctx, stone)).To(Succeed())
			stones = append(stones, stone)
		}
		for name, change := range map[string]func(*unstructured.Unstructured){
			"no-tombstone": func(o *unstructured.Unstructured) { o.SetName("no-tombstone") },
			"unlabelled": func(o *unstructured.Unstructured) {
				o.SetLabels(map[string]string{"maas.opendatahub.io/tenant-tombstone": "true"})
			},
			"given-up": func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.com/held"}) },
		} {
			other := aitenant.Tombstone{AITenant: types.NamespacedName{Namespace: aitenantNamespace, Name: "red"}, UID: types.UID(name), Tenant: "red"}.Object(infraNamespace)
			change(other)
			Expect(suite.Admin.Create(ctx, other)).To(Succeed())
			if len(other.GetFinalizers()) > 0 {
				Expect(suite.Admin.Delete(ctx, other)).To(Succeed())
			}
		}

		editConfig(ctx, func(s *v1alpha1.ConfigSpec) { s.ManagementState = v1alpha1.ManagementStateRemoved })
		for _, stone := range stones {
			Eventually(teardownMessage(ctx)).Should(And(
				ContainSubstring("maas.opendatahub.io/tenant-tombstone=true"), ContainSubstring(aitenantNamespace+" or "+infraNamespace)))
			Expect(now(tenant(ctx))).To(BeNil())
			Consistently(policy(ctx, egressPolicy)).WithTimeout(300 * time.Millisecond).ShouldNot(BeNil())
			Expect(now(read(ctx, infraNamespace, "maas-api-cleanup", &corev1.ServiceAccount{}))).NotTo(BeNil())
			Expect(now(says(ctx, "TeardownCompleted"))).To(Equal("False/TeardownInProgress"))
			Expect(suite.Admin.Delete(ctx, stone)).To(Succeed())
		}
		Eventually(says(ctx, "TeardownCompleted")).Should(Equal("True/TeardownCompleted"))
		gone(ctx)
	})

	It("leaves behind what opted out of management, and names it", func(ctx SpecContext) {
		install(ctx)
		settle(ctx)
		edit(ctx, now(policy(ctx, egressPolicy)), func(p *networkingv1.NetworkPolicy) {
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, "opendatahub.io/managed", "false")
		})
		editConfig(ctx, func(s *v1alpha1.ConfigSpec) { s.ManagementState = v1alpha1.ManagementStateRemoved })
		Eventually(says(ctx, "TeardownCompleted")).Should(Equal("True/TeardownCompleted"))
		Expect(now(config(ctx)).Status.Conditions).To(ContainElement(HaveField("Message", ContainSubstring(egressPolicy))))
		Expect(now(policy(ctx, egressPolicy))).NotTo(BeNil())
	})
})
