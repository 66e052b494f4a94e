// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant_test

import (
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

var _ = Describe("Setting a tenant up", func() {
	// E-31, E-32, E-33, E-60
	It("makes namespace, config, Roles and claim, in an order that others can rely on", func(ctx SpecContext) {
		w := newWorld(ctx, "red")
		mark := audit.Now()
		gateway := w.gateway("red")
		w.create(func(t *v1alpha1.AITenant) {
			t.Spec.RBAC = &v1alpha1.AITenantRBACConfig{Admins: []v1alpha1.AITenantSubject{{Kind: "User", Name: "alice"}}}
		})

		Eventually(w.says).Should(Equal("Pending/False/TenantConfigNotReady"))
		w.configSays(metav1.ConditionTrue, w.config(Default).Generation-1)
		Consistently(w.says).WithTimeout(time.Second).Should(Equal("Pending/False/TenantConfigNotReady"))
		w.configReady()
		Eventually(w.says).Should(Equal(active))

		t := w.tenant(Default)
		Expect(t.Finalizers).To(ConsistOf(v1alpha1.FinalizerAITenantCleanup))
		Expect(t.Status.TenantNamespace).To(Equal("ai-tenant-red"))
		Expect(t.Status.GatewayRef).To(Equal(&v1alpha1.TenantGatewayRef{Namespace: gatewayNamespace, Name: "red"}))

		stamp := tenancy.StampOf(w.key(), w.namespace)
		stamp.Annotations[v1alpha1.AnnotationAITenantUID] = string(t.UID)
		ns, config := w.namespaceObject(Default, w.namespace), w.config(Default)
		for label, value := range stamp.Labels {
			Expect(ns.Labels).To(HaveKeyWithValue(label, value))
			Expect(config.Labels).To(HaveKeyWithValue(label, value))
		}
		for annotation, value := range stamp.Annotations {
			Expect(ns.Annotations).To(HaveKeyWithValue(annotation, value))
			Expect(config.Annotations).To(HaveKeyWithValue(annotation, value))
		}
		Expect(ns.Labels).To(HaveKeyWithValue(v1alpha1.LabelGeneratedNamespace, "true"))
		Expect(ns.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationCreatedByAITenant, "true"))
		Expect(metav1.GetControllerOf(w.claim("red")(Default)).UID).To(Equal(t.UID))

		for _, key := range []types.NamespacedName{
			{Namespace: w.namespace, Name: "aitenant-red-tenant-admin"}, {Namespace: aitenantNamespace, Name: "aitenant-red-object-admin"},
		} {
			role := &rbacv1.Role{}
			Expect(suite.Admin.Get(ctx, key, role)).To(Succeed())
			Expect(role.Rules).NotTo(BeEmpty())
			for label, value := range stamp.Labels {
				Expect(role.Labels).To(HaveKeyWithValue(label, value))
			}
			Expect(role.Annotations).To(And(HaveKeyWithValue(v1alpha1.AnnotationAITenantName, "red"), HaveKeyWithValue(v1alpha1.AnnotationAITenantNamespace, aitenantNamespace)))
			for _, rule := range role.Rules {
				Expect(append(append(rule.Verbs, rule.Resources...), rule.APIGroups...)).NotTo(ContainElement("*"))
			}
		}
		var bindings rbacv1.RoleBindingList
		Expect(suite.Admin.List(ctx, &bindings, client.InNamespace(w.namespace))).To(Succeed())
		Expect(bindings.Items).To(BeEmpty())

		after := gateway.DeepCopy()
		Expect(suite.Admin.Get(ctx, client.ObjectKeyFromObject(gateway), after)).To(Succeed())
		Expect(after.ResourceVersion).To(Equal(gateway.ResourceVersion))

		writes, err := suite.Env.Audit().After(mark, w.about)
		Expect(err).NotTo(HaveOccurred())
		Expect(sequence(writes)).To(Equal([]string{"aitenants", "aitenants/status", "namespaces", "maastenantconfigs", "roles"}),
			"the finalizer comes first, and the status names the Gateway before there is a config")
	})

	// E-58
	It("writes nothing about an Active tenant when nothing changed", func(ctx SpecContext) {
		w := newWorld(ctx, "calm")
		w.up()
		mark := audit.Now()
		w.edit(func(t *v1alpha1.AITenant) { t.Annotations = map[string]string{"example.com/note": "seen"} })
		Consistently(func(g Gomega) []audit.Event {
			writes, err := suite.Env.Audit().After(mark, w.about)
			g.Expect(err).NotTo(HaveOccurred())
			return writes
		}).WithTimeout(time.Second).Should(BeEmpty())
		Expect(w.says(Default)).To(Equal(active))
	})

	// E-35, E-37, W-24
	It("makes nothing before the Gateway that the spec names exists, and goes on when it does", func(ctx SpecContext) {
		w := newWorld(ctx, "early")
		w.create(at("early-gateway"))
		Eventually(w.says).Should(Equal("Failed/False/GatewayCheckFailed"))
		Expect(w.message(Default)).To(And(ContainSubstring("openshift-ingress/early-gateway"), ContainSubstring("spec.gateway.name")))
		Expect(apierrors.IsNotFound(suite.Admin.Get(ctx, types.NamespacedName{Name: w.namespace}, &corev1.Namespace{}))).To(BeTrue())

		w.gateway("early-gateway")
		w.configReady()
		Eventually(w.says).Should(Equal(active))
		Expect(w.tenant(Default).Status.GatewayRef.Name).To(Equal("early-gateway"))
	})

	// E-34, E-57, A81
	It("gives the default tenant its namespace and config without its Gateway", func(ctx SpecContext) {
		w := newWorld(ctx, v1alpha1.DefaultAITenantName)
		w.namespace = defaultNamespace
		w.create(at(defaultGateway))
		Eventually(w.says).Should(Equal("Failed/False/GatewayCheckFailed"))
		Expect(w.config(Default).Labels).To(HaveKeyWithValue(v1alpha1.LabelTenantName, v1alpha1.DefaultAITenantName))
		w.gateway(defaultGateway)
		w.configReady()
		Eventually(w.says).Should(Equal(active))
	})

	// E-53, E-54
	DescribeTable("refuses a tenant that may not be", func(ctx SpecContext, namespace, name, reason, text string) {
		t := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		Expect(suite.Admin.Create(ctx, t)).To(Succeed())
		w := newWorld(ctx, name)
		Eventually(func(g Gomega) v1alpha1.AITenantStatus {
			g.Expect(suite.Admin.Get(ctx, client.ObjectKeyFromObject(t), t)).To(Succeed())
			return t.Status
		}).Should(HaveField("Conditions", ContainElement(And(
			HaveField("Type", "Ready"), HaveField("Status", metav1.ConditionFalse), HaveField("Reason", reason), HaveField("Message", ContainSubstring(text)),
		))))
		Expect(t.Status.Phase).To(Equal(v1alpha1.AITenantPhaseFailed))
		Expect(t.Finalizers).To(BeEmpty())
		Expect(w.claim(name)(Default)).To(BeNil())
		Expect(apierrors.IsNotFound(suite.Admin.Get(ctx, types.NamespacedName{Name: w.namespace}, &corev1.Namespace{}))).To(BeTrue())
	},
		Entry("where maas-api runs", infraNamespace, "astray", "InvalidPlacement", aitenantNamespace),
		Entry("elsewhere", "default", "astray-too", "InvalidPlacement", aitenantNamespace),
		Entry("with a name that shared objects have", aitenantNamespace, "cleanup", "ReservedName", "cleanup"),
	)

	// E-52, W-50
	It("takes over a namespace that an administrator has prepared, and repairs it", func(ctx SpecContext) {
		w := newWorld(ctx, "prepared")
		Expect(suite.Admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace, Labels: map[string]string{"team": "prepared"}}})).To(Succeed())
		w.up()
		ns := w.namespaceObject(Default, w.namespace)
		Expect(ns.Labels).To(And(HaveKeyWithValue("team", "prepared"), HaveKeyWithValue(v1alpha1.LabelTenant, "prepared"), HaveKeyWithValue(v1alpha1.LabelGeneratedNamespace, "true")))
		Expect(ns.Annotations).NotTo(HaveKey(v1alpha1.AnnotationCreatedByAITenant))

		before := ns.DeepCopy()
		delete(ns.Labels, v1alpha1.LabelTenant)
		Expect(suite.Admin.Patch(ctx, ns, client.MergeFrom(before))).To(Succeed())
		Eventually(func(g Gomega) map[string]string { return w.namespaceObject(g, w.namespace).Labels }).Should(HaveKeyWithValue(v1alpha1.LabelTenant, "prepared"))
	})

	// E-61
	It("leaves a namespace alone that is another tenant's, until that is corrected", func(ctx SpecContext) {
		w := newWorld(ctx, "owned")
		annotations := map[string]string{v1alpha1.AnnotationAITenantName: "somebody", v1alpha1.AnnotationAITenantNamespace: aitenantNamespace}
		Expect(suite.Admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace, Annotations: annotations}})).To(Succeed())
		w.gateway("owned")
		w.create()
		Eventually(w.says).Should(Equal("Failed/False/TenantNamespaceFailed"))
		Expect(w.message(Default)).To(ContainSubstring(aitenantNamespace + "/somebody"))
		ns := w.namespaceObject(Default, w.namespace)
		Expect(ns.Annotations).To(Equal(annotations))

		before := ns.DeepCopy()
		ns.Annotations = nil
		Expect(suite.Admin.Patch(ctx, ns, client.MergeFrom(before))).To(Succeed())
		w.configReady()
		Eventually(w.says).Should(Equal(active))
	})

	// E-59, A81
	It("is not Ready while a former config is being deleted, and makes a new one then", func(ctx SpecContext) {
		w := newWorld(ctx, "ghost")
		w.up()
		config := w.config(Default)
		before := config.DeepCopy()
		config.Finalizers = append(config.Finalizers, "example.com/hold")
		Expect(suite.Admin.Patch(ctx, config, client.MergeFrom(before))).To(Succeed())
		Expect(suite.Admin.Delete(ctx, config)).To(Succeed())
		Eventually(w.says).Should(Equal("Failed/False/TenantConfigReconcileFailed"))

		before = config.DeepCopy()
		config.Finalizers = nil
		Expect(suite.Admin.Patch(ctx, config, client.MergeFrom(before))).To(Succeed())
		Eventually(w.says).Should(Equal("Pending/False/TenantConfigNotReady"))
		Expect(w.config(Default).UID).NotTo(Equal(config.UID))
		w.configReady()
		Eventually(w.says).Should(Equal(active))
	})

	It("puts a changed Role back", func(ctx SpecContext) {
		w := newWorld(ctx, "roles")
		w.up()
		key := types.NamespacedName{Namespace: w.namespace, Name: "aitenant-roles-tenant-admin"}
		role := &rbacv1.Role{}
		Expect(suite.Admin.Get(ctx, key, role)).To(Succeed())
		before, rules := role.DeepCopy(), role.Rules
		role.Rules = append(role.Rules, rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"}})
		Expect(suite.Admin.Patch(ctx, role, client.MergeFrom(before))).To(Succeed())
		Eventually(func(g Gomega) []rbacv1.PolicyRule {
			g.Expect(suite.Admin.Get(ctx, key, role)).To(Succeed())
			return role.Rules
		}).Should(Equal(rules))
	})

	It("does not take over a Role that is somebody else's", func(ctx SpecContext) {
		w := newWorld(ctx, "other-role")
		Expect(suite.Admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})).To(Succeed())
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "aitenant-other-role-tenant-admin"}}
		Expect(suite.Admin.Create(ctx, role)).To(Succeed())
		w.gateway(w.name)
		w.create()
		Eventually(w.says).Should(Equal("Failed/False/RBACReconcileFailed"))
		Expect(w.message(Default)).To(ContainSubstring(w.namespace + "/aitenant-other-role-tenant-admin"))
		Expect(suite.Admin.Get(ctx, client.ObjectKeyFromObject(role), role)).To(Succeed())
		Expect(role.Rules).To(BeEmpty())
	})
})

// sequence lists the kinds of the writes, each where it came first.
func sequence(writes []audit.Event) []string {
	var order []string
	for i := range writes {
		kind := strings.TrimSuffix(writes[i].Resource+"/"+writes[i].Subresource, "/")
		if !slices.Contains(order, kind) {
			order = append(order, kind)
		}
	}
	return order
}

// about keeps the writes about one tenant, events aside.
func (w world) about(e *audit.Event) bool {
	mine := audit.Named(w.name)(e) || audit.Named(w.namespace)(e) || audit.InNamespace(w.namespace)(e)
	return mine && byOperator(e) && audit.IsWrite()(e) && !audit.IsEvent()(e)
}
