// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/dbsecret"
	"github.com/opendatahub-io/maas-operator/internal/managedns"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

var _ = Describe("an installation", func() {
	AfterEach(uninstall)

	It("rests without the operator's Deployment, stands with it, and then rests again", func(ctx SpecContext) { // E-149, E-1, E-8
		Consistently(config(ctx)).WithTimeout(300 * time.Millisecond).Should(BeNil())
		install(ctx)
		settle(ctx)

		Expect(now(config(ctx)).OwnerReferences).To(BeEmpty())
		for _, name := range []string{aitenantNamespace, infraNamespace} {
			Expect(now(read(ctx, "", name, &corev1.Namespace{})).Labels).To(HaveKeyWithValue("opendatahub.io/generated-namespace", "true"), name)
		}
		made := now(tenant(ctx))
		Expect(ownersOf(made)).To(Equal([]string{"Config default"}))
		Expect(made.Spec.Gateway.Name).To(Equal(gatewayName))
		Expect(made.Spec.OIDC).To(BeNil())

		Expect(ownersOf(now(policy(ctx, egressPolicy)))).To(Equal([]string{"Config default *"}))
		Expect(ownersOf(now(read(ctx, "", "maas-api", &rbacv1.ClusterRole{})))).To(Equal([]string{"Config default *"}))
		Expect(now(config(ctx)).Status.Inventory).To(ContainElements(
			v1alpha1.InventoryEntry{Group: "networking.k8s.io", Kind: "NetworkPolicy", Namespace: infraNamespace, Name: egressPolicy},
			v1alpha1.InventoryEntry{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "maas-api"},
		))

		mark := audit.Now()
		annotate(ctx, "somebody", "looks") // Wakes the controller up.
		Consistently(func() ([]audit.Event, error) {
			return suite.Env.Audit().After(mark, byOperator, audit.IsWrite(), audit.Not(audit.IsEvent()))
		}).WithTimeout(500 * time.Millisecond).Should(BeEmpty())
	})

	It("has its Deployment released from what earlier releases put on it", func(ctx SpecContext) { // E-153
		install(ctx, func(d *appsv1.Deployment) {
			d.Finalizers = []string{"maas.opendatahub.io/cleanup", "example.com/kept"}
			d.Annotations = map[string]string{completed: "true", "kept": "yes"}
			d.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: "maas.opendatahub.io/v1alpha1", Kind: "Config", Name: "default", UID: "old"},
				{APIVersion: "v1", Kind: "ConfigMap", Name: "kept", UID: "kept"},
			}
		})
		settle(ctx)
		d := now(own(ctx))
		Expect(ownersOf(d)).To(Equal([]string{"ConfigMap kept"}))
		Expect(d.Finalizers).To(Equal([]string{"example.com/kept"}))
		Expect(d.Annotations).To(And(HaveKeyWithValue("kept", "yes"), Not(HaveKey(completed))))
	})

	It("lets a Deployment go that an earlier release held", func(ctx SpecContext) {
		install(ctx)
		settle(ctx)
		hold(ctx, deployment("maas-controller", nil), "maas.opendatahub.io/cleanup")
		Expect(suite.Admin.Delete(ctx, deployment("maas-controller", nil))).To(Succeed())
		Eventually(own(ctx)).Should(BeNil())
	})

	It("repairs the labels of its namespaces", func(ctx SpecContext) { // W-50
		install(ctx)
		settle(ctx)
		for _, name := range []string{aitenantNamespace, infraNamespace} {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			edit(ctx, namespace, func(n *corev1.Namespace) { delete(n.Labels, "opendatahub.io/generated-namespace") })
			Eventually(func(g Gomega) map[string]string { return read(ctx, "", name, &corev1.Namespace{})(g).Labels }).
				Should(HaveKeyWithValue("opendatahub.io/generated-namespace", "true"))
		}
	})

	It("makes the Config an owner of what the default tenant consists of, beside others", func(ctx SpecContext) { // E-154
		c := tenantConfig(tenantNamespace)
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "other"}}
		Expect(suite.Admin.Create(ctx, c)).To(Succeed())
		install(ctx)
		settle(ctx)
		Eventually(func(g Gomega) []string {
			return ownersOf(read(ctx, tenantNamespace, "default-tenant", &v1alpha1.MaasTenantConfig{})(g))
		}).Should(Equal([]string{"ConfigMap other", "Config default"}))
		edit(ctx, now(tenant(ctx)), func(t *v1alpha1.AITenant) { t.OwnerReferences = nil })
		Eventually(func(g Gomega) []string { return ownersOf(tenant(ctx)(g)) }).Should(Equal([]string{"Config default"}))
	})

	It("is given the program's first steps by the operator's own rights", func(ctx SpecContext) { // E-3, E-24, E-26
		ensureNamespace(ctx, infraNamespace)
		Expect(managedns.Ensure(ctx, managedns.Options{Client: suite.operator, Name: "managed-anew", Clock: clock.RealClock{}})).To(Succeed())
		Expect(managedns.Ensure(ctx, managedns.Options{Client: suite.operator, Name: tenantNamespace, Clock: clock.RealClock{}})).To(Succeed())
		Expect(now(read(ctx, "", tenantNamespace, &corev1.Namespace{})).Labels).To(HaveKeyWithValue("opendatahub.io/generated-namespace", "true"))

		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: controllerNamespace, Name: "maas-db-config"}}
		secret.Data = map[string][]byte{"DB_CONNECTION_URL": []byte("postgres://maas:s3cret@db/maas")}
		Expect(suite.Admin.Create(ctx, secret)).To(Succeed())
		for range 2 { // The second time finds it.
			Expect(dbsecret.Copy(ctx, dbsecret.Options{Client: suite.operator, Reader: suite.operator, From: controllerNamespace, To: infraNamespace})).To(Succeed())
		}
		Expect(string(now(read(ctx, infraNamespace, "maas-db-config", &corev1.Secret{})).Data["DB_CONNECTION_URL"])).
			To(Equal("postgres://maas:s3cret@db.opendatahub.svc.cluster.local/maas"))
	})
})

var _ = Describe("the maas-api of an earlier release", func() {
	AfterEach(uninstall)
	legacy := map[string]string{"app.kubernetes.io/part-of": "models-as-a-service"}

	It("goes once the default tenant works, and only what was part of it", func(ctx SpecContext) { // W-14
		Expect(suite.Admin.Create(ctx, deployment("maas-api", legacy))).To(Succeed())
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: controllerNamespace, Name: "maas-api", Labels: legacy}}
		service.Spec.Ports = []corev1.ServicePort{{Port: 8443}}
		Expect(suite.Admin.Create(ctx, service)).To(Succeed())
		Expect(suite.Admin.Create(ctx, &gwapiv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: controllerNamespace, Name: "maas-api-route", Labels: legacy}})).To(Succeed())
		Expect(suite.Admin.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: controllerNamespace, Name: "maas-api-config"}})).To(Succeed())
		rights := metav1.ObjectMeta{Name: "maas-api-supplemental", Labels: legacy}
		Expect(suite.Admin.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: rights})).To(Succeed())
		Expect(suite.Admin.Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: rights, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: rights.Name}})).To(Succeed())
		install(ctx)
		settle(ctx)
		Expect(now(read(ctx, "", rights.Name, &rbacv1.ClusterRoleBinding{}))).NotTo(BeNil())
		Expect(now(read(ctx, controllerNamespace, "maas-api", &appsv1.Deployment{}))).NotTo(BeNil())

		tenantSays(ctx, v1alpha1.AITenantPhaseActive, metav1.ConditionTrue)
		Eventually(func(g Gomega) map[string]string { return config(ctx)(g).Annotations }).
			Should(And(HaveKeyWithValue("maas.opendatahub.io/legacy-maas-api-removed", "true"), HaveKeyWithValue("maas.opendatahub.io/legacy-maas-api-rights-removed", "true")))
		Expect(now(read(ctx, "", rights.Name, &rbacv1.ClusterRole{}))).To(BeNil())
		Expect(now(read(ctx, "", rights.Name, &rbacv1.ClusterRoleBinding{}))).To(BeNil())
		Expect(now(read(ctx, controllerNamespace, "maas-api", &appsv1.Deployment{}))).To(BeNil())
		Expect(now(read(ctx, controllerNamespace, "maas-api", &corev1.Service{}))).To(BeNil())
		Expect(now(read(ctx, controllerNamespace, "maas-api-route", &gwapiv1.HTTPRoute{}))).To(BeNil())
		Expect(now(read(ctx, controllerNamespace, "maas-api-config", &corev1.ConfigMap{}))).NotTo(BeNil(), "without the label it is somebody else's")
	})

	It("stays when it is not one", func(ctx SpecContext) {
		Expect(suite.Admin.Create(ctx, deployment("maas-api", nil))).To(Succeed())
		install(ctx)
		settle(ctx)
		tenantSays(ctx, v1alpha1.AITenantPhaseActive, metav1.ConditionTrue)
		Eventually(func(g Gomega) map[string]string { return config(ctx)(g).Annotations }).
			Should(HaveKeyWithValue("maas.opendatahub.io/legacy-maas-api-removed", "true"))
		Expect(now(read(ctx, controllerNamespace, "maas-api", &appsv1.Deployment{}))).NotTo(BeNil())
	})
})

// uidOf is the UID of the Config.
func uidOf(c *v1alpha1.Config) types.UID { return c.UID }
