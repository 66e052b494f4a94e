// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"encoding/json"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

var _ = Describe("a tenant that is requested", Ordered, func() {
	const red = tenantOf("red-team")
	namespaceOf := func(t tenantOf) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace()}}
	}

	It("waits for its Gateway, and nothing is made for it (E-35)", func(ctx SpecContext) {
		t := red.object()
		t.Spec.OIDC = &v1alpha1.TenantExternalOIDCConfig{IssuerURL: "https://idp.example.com/realms/red", ClientID: "red"}
		t.Spec.RBAC = &v1alpha1.AITenantRBACConfig{Admins: []v1alpha1.AITenantSubject{{Kind: "User", Name: "mallory"}}}
		create(ctx, t)
		Eventually(red.state(ctx)).Should(Equal("Failed GatewayCheckFailed"))
		Expect(red.trouble(ctx)).To(And(ContainSubstring(stage.GatewayNamespace+"/red-team"), ContainSubstring("administrator must create it")))
		Expect(exists(ctx, namespaceOf(red))).To(BeFalse())
	})

	It("is set up as soon as the Gateway is there (E-31)", func(ctx SpecContext) {
		create(ctx, red.gateway())
		work(ctx, red)
		ns, config, t := read(ctx, namespaceOf(red)), read(ctx, red.config()), read(ctx, red.object())
		Expect(t.Status.TenantNamespace).To(Equal(red.namespace()))
		Expect(t.Status.GatewayRef).To(HaveValue(Equal(v1alpha1.TenantGatewayRef{Namespace: stage.GatewayNamespace, Name: "red-team"})))
		for _, o := range []client.Object{ns, config} {
			Expect(o.GetLabels()).To(And(
				HaveKeyWithValue(v1alpha1.LabelManagedByAITenant, "true"), HaveKeyWithValue(v1alpha1.LabelTenant, "red-team"),
				HaveKeyWithValue(v1alpha1.LabelTenantName, "red-team"), HaveKeyWithValue(v1alpha1.LabelTenantNamespace, red.namespace()),
				HaveKeyWithValue(v1alpha1.LabelGatewayAccess, "true")))
			Expect(o.GetAnnotations()).To(And(
				HaveKeyWithValue(v1alpha1.AnnotationAITenantName, "red-team"), HaveKeyWithValue(v1alpha1.AnnotationAITenantNamespace, stage.AITenantNamespace)))
		}
		Expect(ns.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationCreatedByAITenant, "true"))
		Expect(ns.Labels).To(HaveKeyWithValue(v1alpha1.LabelGeneratedNamespace, "true"))
		Expect(config.Finalizers).To(ContainElement(v1alpha1.FinalizerTenantCleanup), "E-103")
		Expect(config.Status.InfraNamespace).To(Equal(infra), "E-111")
	})

	It("was set up in an order that leaves nothing behind (E-31, E-33)", func() {
		steps := map[string][]audit.Filter{
			"finalizer":   {audit.ByVerb(audit.VerbPatch), audit.ByResource(v1alpha1.GroupVersion.Group, "aitenants"), audit.Named("red-team"), audit.Not(audit.ByResource(v1alpha1.GroupVersion.Group, "aitenants/status"))},
			"gateway ref": {audit.ByVerb(audit.VerbPatch), audit.ByResource(v1alpha1.GroupVersion.Group, "aitenants/status"), audit.Named("red-team")},
			"namespace":   {audit.ByVerb(audit.VerbCreate), audit.ByResource("", "namespaces"), audit.Named(red.namespace())},
			"config":      {audit.ByVerb(audit.VerbCreate), audit.ByResource(v1alpha1.GroupVersion.Group, "maastenantconfigs"), audit.InNamespace(red.namespace())},
			"policies":    {audit.ByResource("kuadrant.io", "authpolicies"), audit.Named("gateway-default-auth-red-team")},
			"service":     {audit.ByResource("", "services"), audit.Named("maas-api-red-team")},
		}
		finished := map[string]int64{}
		for name, filters := range steps {
			events, err := on.Env.Audit().Writes(testenv.OperatorUser, append(filters, audit.Succeeded(), audit.Stored())...)
			Expect(err).NotTo(HaveOccurred())
			Expect(events).NotTo(BeEmpty(), name)
			finished[name] = events[0].Finished.UnixMicro()
		}
		order := slices.SortedFunc(func(yield func(string) bool) {
			for name := range finished {
				if !yield(name) {
					return
				}
			}
		}, func(a, b string) int { return int(finished[a] - finished[b]) })
		Expect(order).To(Equal([]string{"finalizer", "gateway ref", "namespace", "config", "policies", "service"}))
	})

	It("gives its administrators Roles, and nobody a RoleBinding (E-32)", func(ctx SpecContext) {
		var roles []*rbacv1.Role
		for _, key := range []client.ObjectKey{
			{Namespace: red.namespace(), Name: "aitenant-red-team-tenant-admin"}, {Namespace: stage.AITenantNamespace, Name: "aitenant-red-team-object-admin"},
		} {
			roles = append(roles, read(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}))
		}
		for _, role := range roles {
			for _, rule := range role.Rules {
				Expect(slices.Concat(rule.Verbs, rule.Resources, rule.APIGroups)).NotTo(Or(ContainElement("*"), ContainElement("bind"), ContainElement("escalate"), ContainElement("impersonate")))
			}
		}
		Expect(roles[1].Rules).To(ConsistOf(And(HaveField("Verbs", ConsistOf("get")), HaveField("ResourceNames", ConsistOf("red-team")))))
		var bindings rbacv1.RoleBindingList
		Expect(on.Admin.List(ctx, &bindings)).To(Succeed())
		for _, b := range bindings.Items {
			Expect(b.RoleRef.Name).NotTo(HavePrefix("aitenant-"), "%s/%s", b.Namespace, b.Name)
			Expect(b.Subjects).NotTo(ContainElement(HaveField("Name", "mallory")))
		}
	})

	It("keeps its provider on the AITenant alone (E-63)", func(ctx SpecContext) {
		config := &unstructured.Unstructured{}
		config.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.KindMaasTenantConfig))
		config.SetNamespace(red.namespace())
		config.SetName(v1alpha1.DefaultTenantConfigName)
		content, err := json.Marshal(read(ctx, config).Object["spec"])
		Expect(err).NotTo(HaveOccurred())
		Expect(string(content)).NotTo(ContainSubstring("idp.example.com"))
		Expect(read(ctx, red.object()).Spec.OIDC.IssuerURL).To(ContainSubstring("idp.example.com"))
	})

	It("is not written to again (E-58)", func(ctx SpecContext) {
		rest(quiet)
		edit(ctx, red.object(), func(t *v1alpha1.AITenant) { setAnnotation(t, "example.com/seen", "yes") })
		Consistently(writesAfter(now())).Should(BeEmpty())
		Expect(red.state(ctx)()).To(Equal(active))
	})

	It("waits while its old settings are being deleted, and comes back by itself (E-59, A81)", func(ctx SpecContext) {
		const held = "example.com/held"
		edit(ctx, red.config(), func(c *v1alpha1.MaasTenantConfig) { controllerutil.AddFinalizer(c, held) })
		ghost := read(ctx, red.config()).UID
		remove(ctx, red.config())
		Eventually(red.state(ctx)).Should(Equal("Failed TenantConfigReconcileFailed"))
		Eventually(func() []string { return read(ctx, red.config()).Finalizers }).Should(Equal([]string{held}))
		Expect(exists(ctx, deploymentOf(red))).To(BeFalse())
		edit(ctx, red.config(), func(c *v1alpha1.MaasTenantConfig) { controllerutil.RemoveFinalizer(c, held) })
		work(ctx, red)
		Expect(read(ctx, red.config()).UID).NotTo(Equal(ghost))
	})
})

var _ = Describe("AITenants of all kinds", func() {
	It("get a prepared namespace as it is, unless it is another's (E-52, E-61, C40)", func(ctx SpecContext) {
		const prepared, foreign = tenantOf("prepared"), tenantOf("foreign")
		create(ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: prepared.namespace(), Labels: map[string]string{"team": "mine"}, Annotations: map[string]string{"note": "mine"}}},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: foreign.namespace(), Annotations: map[string]string{
				v1alpha1.AnnotationAITenantName: "somebody", v1alpha1.AnnotationAITenantNamespace: stage.AITenantNamespace,
			}}})
		theirs := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: foreign.namespace()}}
		before := read(ctx, theirs).DeepCopy()
		create(ctx, prepared.gateway(), prepared.object(), foreign.gateway(), foreign.object())
		work(ctx, prepared)
		ns := read(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: prepared.namespace()}})
		Expect(ns.Labels).To(And(HaveKeyWithValue("team", "mine"), HaveKeyWithValue(v1alpha1.LabelTenant, "prepared")))
		Expect(ns.Annotations).To(And(HaveKeyWithValue("note", "mine"), Not(HaveKey(v1alpha1.AnnotationCreatedByAITenant))))
		Eventually(foreign.state(ctx)).Should(Equal("Failed TenantNamespaceFailed"))
		Expect(foreign.trouble(ctx)).To(ContainSubstring("somebody"))
		Expect(read(ctx, theirs)).To(Equal(before))
		Expect(exists(ctx, foreign.config())).To(BeFalse())
	})

	It("are refused where they do not belong, without children (E-53)", func(ctx SpecContext) {
		create(ctx, gateway("lost"))
		mark := now()
		for _, place := range []string{infra, stage.TenantNamespace, testenv.OperatorNamespace, stage.ModelNamespace} {
			t := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: "lost"}}
			create(ctx, t)
			Eventually(func() string {
				exists(ctx, t)
				return sum(string(t.Status.Phase), t.Status.Conditions, t.Generation)
			}).Should(Equal("Failed InvalidPlacement"), place)
			Expect(t.Status.TenantNamespace).To(BeEmpty())
			remove(ctx, t)
			Eventually(there(ctx, t)).Should(BeFalse())
		}
		for _, w := range writesAfter(mark)() {
			Expect(w.Resource).To(Equal("aitenants"), w.String())
		}
		Expect(exists(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ai-tenant-lost"}})).To(BeFalse())
	})

	It("may not take names that the operator needs", func(ctx SpecContext) {
		const reserved = tenantOf("cleanup")
		create(ctx, reserved.gateway(), reserved.object())
		Eventually(reserved.state(ctx)).Should(Equal("Failed ReservedName"))
		remove(ctx, reserved.object())
		Eventually(reserved.state(ctx)).Should(Equal("gone"))
	})

	It("may have the longest name there is (E-64)", func(ctx SpecContext) {
		longest := tenantOf(strings.Repeat("abcdefghij", 4) + "k")
		twin := tenantOf(strings.Repeat("abcdefghij", 4) + "l")
		setUp(ctx, longest, twin)
		names := map[string]bool{}
		for _, t := range []tenantOf{longest, twin} {
			for _, o := range objectsOf(ctx, t) {
				name := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
				Expect(names).NotTo(HaveKey(name), "two tenants share it")
				names[name] = true
				if slices.Contains([]string{"Service", "Deployment", "CronJob"}, o.GetKind()) {
					Expect(validation.IsDNS1123Label(o.GetName())).To(BeEmpty(), name)
				}
			}
		}
		Expect(names).To(HaveLen(2 * len(objectsOf(ctx, longest))))
		remove(ctx, twin.object()) // Its Job has a name within limits, too.
		Eventually(twin.state(ctx)).Should(Equal("gone"))
		Expect(objectsOf(ctx, twin)).To(BeEmpty())
	})
})
