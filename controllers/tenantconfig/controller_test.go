// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/rig"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

var _ = Describe("the services of a tenant", Ordered, func() {
	var red, blue tenantOf
	warned := func(t tenantOf) string {
		return meta.FindStatusCondition(t.config().Status.Conditions, string(v1alpha1.ConditionDegraded)).Message
	}
	databaseVersion := func(t tenantOf) func() string {
		return func() string {
			if d := maasAPI(t)(); d != nil {
				return d.Spec.Template.Annotations[v1alpha1.AnnotationDatabaseSecretVersion]
			}
			return ""
		}
	}
	BeforeAll(func(ctx SpecContext) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: v1alpha1.DatabaseSecretName}}
		Expect(client.IgnoreNotFound(suite.Admin.Delete(ctx, secret))).To(Succeed())
		suite.Operate(ctx, rig.Manager{SetUp: setUp, Written: written()})
		red, blue = newTenant(ctx, "red"), newTenant(ctx, "blue")
	})

	It("guards the Gateway before anything else is there", func() {
		for _, t := range []tenantOf{red, blue} {
			Eventually(t.state).Should(Equal("Failed PrerequisitesNotMet"))
			Expect(t.existing()).To(Equal(t.guards(gatewayNamespace)), "nothing but the guards")
			Expect(t.guards(gatewayNamespace)).To(HaveLen(2))
		}
	})

	// Earlier releases gave the Deployments of all tenants the same selector, which cannot
	// be changed.
	It("finds the maas-api of an earlier release", func(ctx SpecContext) {
		former := map[string]any{v1alpha1.LabelComponent: v1alpha1.ComponentAPI, v1alpha1.LabelName: v1alpha1.NameMaaSAPI, v1alpha1.LabelPartOf: v1alpha1.PartOfMaaS}
		d := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"namespace": infraNamespace, "name": "maas-api-blue"},
			"spec": map[string]any{
				"selector": map[string]any{"matchLabels": former},
				"template": map[string]any{
					"metadata": map[string]any{"labels": former},
					"spec":     map[string]any{"containers": []any{map[string]any{"name": "maas-api", "image": "quay.io/example/maas-api:former"}}},
				},
			},
		}}
		Expect(suite.Admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(d), client.FieldOwner(v1alpha1.FieldOwner))).To(Succeed())
	})

	// W-23: the Secret wakes every tenant, not only the default one.
	It("comes up in all tenants once the database is there", func(ctx SpecContext) {
		provideDatabase(ctx, "postgresql://maas@db.example.com/maas")
		for _, t := range []tenantOf{red, blue} {
			Eventually(t.state).Should(Equal(works))
			Expect(t.recorded()).To(Equal(t.existing()))
			Expect(t.config().Finalizers).To(ContainElement(v1alpha1.FinalizerTenantCleanup))
			Expect(warned(t)).To(And(ContainSubstring("cert-manager"), ContainSubstring("Istio")))
		}
		Expect(maasAPI(red)().Spec.Selector.MatchLabels).To(HaveKeyWithValue(v1alpha1.LabelTenantInstance, "maas-api-red"))
		Expect(maasAPI(blue)().Spec.Selector.MatchLabels).NotTo(HaveKey(v1alpha1.LabelTenantInstance))
	})

	It("writes nothing when nothing is to be done", func() {
		before := red.versions()
		red.annotate("example.com/touched", "yes")
		Eventually(func() string { return red.config().Annotations["example.com/touched"] }).Should(Equal("yes"))
		blue.annotate(v1alpha1.AnnotationMaasAPIReplicas, "2") // Reconciled after red was.
		Eventually(func() int32 { return *maasAPI(blue)().Spec.Replicas }).Should(Equal(int32(2)))
		Eventually(blue.state).Should(Equal(works))
		after := red.versions()
		delete(before, "config")
		delete(after, "config")
		Expect(after).To(Equal(before))
		asked, err := suite.Env.Audit().Events(audit.ByUser(testenv.OperatorUser), audit.Named("red-maas-auth"))
		Expect(err).NotTo(HaveOccurred())
		Expect(asked).To(BeEmpty(), "requests about a policy of an earlier release that does not exist")
	})

	// E-112, A85.
	It("unites its warnings", func() {
		red.annotate(v1alpha1.AnnotationMaasAPIReplicas, "many")
		Eventually(func() string { return warned(red) }).Should(And(ContainSubstring(v1alpha1.AnnotationMaasAPIReplicas), ContainSubstring("cert-manager")))
		red.annotate(v1alpha1.AnnotationMaasAPIReplicas, "")
		Eventually(func() string { return warned(red) }).ShouldNot(ContainSubstring(v1alpha1.AnnotationMaasAPIReplicas))
	})

	It("puts back what somebody deleted", func() {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: "maas-api-red"}}
		Expect(suite.Admin.Delete(red.ctx, service)).To(Succeed())
		Eventually(func() error { return suite.Admin.Get(red.ctx, client.ObjectKeyFromObject(service), service) }).Should(Succeed())
	})

	It("restarts maas-api when the database's address changes", func(ctx SpecContext) {
		before := databaseVersion(red)()
		Expect(before).NotTo(BeEmpty())
		provideDatabase(ctx, "postgresql://maas@other.example.com/maas")
		for _, t := range []tenantOf{red, blue} {
			Eventually(databaseVersion(t)).ShouldNot(Or(Equal(before), BeEmpty()))
			Eventually(t.state).Should(Equal(works))
		}
	})

	It("keeps the policy of maas-api while the database's address is missing", func(ctx SpecContext) {
		keepsItsPolicy(ctx, red)
	})

	It("opens the route to maas-api once that very route is guarded", func(ctx SpecContext) { opensOnlyGuarded(ctx, red) })
	It("does not close a route that is open", func(ctx SpecContext) { staysOpen(ctx, red) })
	It("closes a copy of a route that was open", func(ctx SpecContext) { closesACopy(ctx, red) })
	It("says that others limit maas-api in the place of its Gateway", func(ctx SpecContext) { tellsOfLimitsInItsWay(ctx, red) })

	It("leads nobody to maas-api by another controller's policy", opensNothingBehindAnother)

	// A wrong provider must not be taken for none, nor open the Gateway.
	It("waits for a provider to be corrected, behind its guards", func(ctx SpecContext) {
		owner := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: aitenantNamespace, Name: "red"}}
		provide := func(issuer string) {
			GinkgoHelper()
			Expect(suite.Admin.Get(ctx, client.ObjectKeyFromObject(owner), owner)).To(Succeed())
			before := owner.DeepCopy()
			owner.Spec.OIDC = &v1alpha1.TenantExternalOIDCConfig{IssuerURL: issuer, ClientID: "maas", TTL: 300}
			Expect(suite.Admin.Patch(ctx, owner, client.MergeFrom(before))).To(Succeed())
		}
		kept := red.existing()
		provide("https://idp.example.com/?realm=maas")
		Eventually(red.state).Should(Equal("Failed InvalidOIDC"))
		Expect(red.existing()).To(Equal(kept))
		guard := kuadrant.New(kuadrant.AuthPolicy)
		guard.SetNamespace(gatewayNamespace)
		guard.SetName("gateway-default-auth-red")
		Expect(suite.Admin.Delete(ctx, guard)).To(Succeed())
		Eventually(red.existing).Should(Equal(kept))
		provide("https://idp.example.com/realms/maas")
		Eventually(red.state).Should(Equal(works))
	})

	// W-37: a kind that some clusters lack neither stops the tenant nor is forgotten.
	It("writes objects of optional kinds once they are served", func(ctx SpecContext) {
		Expect(suite.Admin.Create(ctx, destinationRules())).To(Succeed())
		Eventually(red.recorded).Should(ContainElement("DestinationRule " + gatewayNamespace + "/maas-api-backend-tls-red"))
		Eventually(func() string { return warned(red) }).Should(And(ContainSubstring("cert-manager"), Not(ContainSubstring("Istio"))))
		Expect(suite.Admin.Delete(ctx, destinationRules())).To(Succeed())
		Eventually(red.recorded).ShouldNot(ContainElement(ContainSubstring("DestinationRule")))
		Eventually(red.state).Should(Equal(works))
	})

	// E-143, E-144.
	It("leaves alone what opted out, and what another controller owns", func() {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: "maas-api-red"}}
		annotateObject(account, "false")
		Eventually(func() string { return warned(red) }).Should(ContainSubstring("ServiceAccount " + infraNamespace + "/maas-api-red is annotated"))
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: "maas-api-red"}}
		Expect(suite.Admin.Get(red.ctx, client.ObjectKeyFromObject(service), service)).To(Succeed())
		before := service.DeepCopy()
		service.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ServiceAccount", Name: account.Name, UID: account.UID, Controller: new(true)}}
		service.Spec.Ports[0].Port = 9999
		Expect(suite.Admin.Patch(red.ctx, service, client.MergeFrom(before))).To(Succeed())
		Eventually(func() string { return warned(red) }).Should(ContainSubstring("Service " + infraNamespace + "/maas-api-red is owned by another controller"))
		Expect(suite.Admin.Get(red.ctx, client.ObjectKeyFromObject(service), service)).To(Succeed())
		Expect(service.Spec.Ports[0].Port).To(Equal(int32(9999)))
		Expect(suite.Admin.Delete(red.ctx, service)).To(Succeed())
		annotateObject(account, "true")
		Eventually(func() string { return warned(red) }).ShouldNot(Or(ContainSubstring("is annotated"), ContainSubstring("is owned")))
	})

	// It is watched like our own.
	It("removes the policy of an earlier release once it may", func() {
		former := formerPolicy("red-maas-auth", "red")
		former.SetAnnotations(map[string]string{v1alpha1.AnnotationManaged: "false"})
		Expect(suite.Admin.Create(red.ctx, former)).To(Succeed())
		Eventually(func() string { return warned(red) }).Should(ContainSubstring("red-maas-auth of an earlier release is annotated"))
		annotateObject(former, "true")
		Eventually(func() bool { return gone(red.ctx, former) }).Should(BeTrue())
		Eventually(func() string { return warned(red) }).ShouldNot(ContainSubstring("earlier release"))
	})

	// E-108.
	It("does not touch an unmanaged tenant", func() {
		red.annotate(v1alpha1.AnnotationManagementState, "Unmanaged")
		Eventually(red.state).Should(Equal(" ManagementStateIdle"))
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: "maas-api-red"}}
		Expect(suite.Admin.Delete(red.ctx, service)).To(Succeed())
		blue.annotate(v1alpha1.AnnotationMaasAPIReplicas, "1")
		Eventually(func() int32 { return *maasAPI(blue)().Spec.Replicas }).Should(Equal(int32(1)))
		Expect(suite.Admin.Get(red.ctx, client.ObjectKeyFromObject(service), service)).NotTo(Succeed())
		red.annotate(v1alpha1.AnnotationManagementState, "")
		Eventually(red.state).Should(Equal(works))
	})

	// A40.
	It("releases the guards when the Gateway goes, but not one that opted out", func() {
		deny := kuadrant.New(kuadrant.TokenRateLimitPolicy)
		deny.SetNamespace(gatewayNamespace)
		deny.SetName("gateway-default-deny-red")
		annotateObject(deny, "false")
		Eventually(func() string { return warned(red) }).Should(ContainSubstring("gateway-default-deny-red"))
		Expect(suite.Admin.Delete(red.ctx, &gwapiv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: gatewayNamespace, Name: "red"}})).To(Succeed())
		Eventually(red.state).Should(Equal("Pending GatewayNotReady"))
		Eventually(func() []string { return red.guards(gatewayNamespace) }).Should(Equal([]string{"TokenRateLimitPolicy " + gatewayNamespace + "/gateway-default-deny-red"}))
		Expect(maasAPI(red)()).NotTo(BeNil(), "what runs stays")
		annotateObject(deny, "true")
		red.addGateway(gatewayNamespace)
		Eventually(red.state).Should(Equal(works))
		Expect(red.recorded()).To(Equal(red.existing()))
	})

	// W-48.
	It("removes what is annotated so, and brings it back", func() {
		red.annotate(v1alpha1.AnnotationManagementState, "Removed")
		Eventually(red.state).Should(Equal("Pending Removed"))
		Expect(red.existing()).To(BeEmpty())
		Expect(red.recorded()).To(BeEmpty())
		red.annotate(v1alpha1.AnnotationManagementState, "")
		Eventually(red.state).Should(Equal(works))
		Expect(red.recorded()).To(Equal(red.existing()))
	})

	// E-119: it would be taken for the default tenant's.
	It("ignores a config of nobody", func(ctx SpecContext) {
		Expect(suite.Admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "nobodys"}})).To(Succeed())
		nobodys := tenantOf{ctx: ctx, name: "nobodys", namespace: "nobodys"}
		Expect(suite.Admin.Create(ctx, nobodys.object())).To(Succeed())
		blue.annotate("example.com/touched", "again")
		Eventually(blue.state).Should(Equal(works))
		Expect(nobodys.state()).To(BeEmpty())
		Expect(nobodys.config().Finalizers).To(BeEmpty())
	})

	// E-104, E-105, W-30, A22.
	It("takes a tenant down whose labels are gone, and leaves the others alone", func(ctx SpecContext) {
		subscription := &v1alpha1.MaaSSubscription{
			ObjectMeta: metav1.ObjectMeta{Namespace: red.namespace, Name: "held", Finalizers: []string{"example.com/held"}},
			Spec: v1alpha1.MaaSSubscriptionSpec{
				ModelRefs: []v1alpha1.ModelSubscription{{Namespace: "llm", Name: "granite", Unlimited: true}},
			},
		}
		subscription.Spec.Owner.Groups = []v1alpha1.GroupReference{{Name: "engineers"}}
		Expect(suite.Admin.Create(ctx, subscription)).To(Succeed())
		kept := blue.existing()
		c := red.config()
		before := c.DeepCopy()
		c.Labels, c.Annotations = nil, nil
		Expect(suite.Admin.Patch(ctx, c, client.MergeFrom(before))).To(Succeed())
		Expect(suite.Admin.Delete(ctx, red.object())).To(Succeed())
		Eventually(red.state).Should(Equal("Pending DeletionInProgress"))
		Expect(maasAPI(red)()).NotTo(BeNil(), "services outlive subscriptions")
		Expect(suite.Admin.Get(ctx, client.ObjectKeyFromObject(subscription), subscription)).To(Succeed())
		Expect(subscription.DeletionTimestamp).NotTo(BeNil())
		subscription.Finalizers = nil
		Expect(suite.Admin.Update(ctx, subscription)).To(Succeed())
		Eventually(red.state).Should(Equal("gone"))
		Expect(red.existing()).To(BeEmpty())
		Expect(blue.existing()).To(Equal(kept))
	})

	// W-13: what the AITenant made carries other labels and stays.
	It("leaves to the AITenant what it made", func(ctx SpecContext) {
		stamp := tenancy.StampOf(types.NamespacedName{Namespace: aitenantNamespace, Name: "blue"}, blue.namespace)
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: blue.namespace, Name: "of-the-tenant", Labels: stamp.Labels}}
		Expect(suite.Admin.Create(ctx, account)).To(Succeed())
		keepsWhatGuardsAnOpenRoute(ctx, blue)
		Expect(blue.existing()).To(BeEmpty())
		Expect(suite.Admin.Get(ctx, client.ObjectKeyFromObject(account), account)).To(Succeed())
	})
})
