// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

var byOperator = audit.ByUser(testenv.OperatorUser)

// inNamespace keeps writes in a namespace, events aside.
func inNamespace(namespace string) audit.Filter {
	return func(e *audit.Event) bool {
		return audit.InNamespace(namespace)(e) && audit.IsWrite()(e) && !audit.IsEvent()(e)
	}
}

var _ = Describe("Governance of a model", func() {
	var w world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	attached := func() func(Gomega) string { return w.condition("granite", "GovernanceAttached") }
	missing := func() func(Gomega) string { return w.message("granite", "GovernanceAttached") }
	unique := func(name string) string { return name + "-" + w.namespace }

	It("needs both halves, names the missing one, and remembers that there was a pair", func() {
		w.servedModel("granite")
		Eventually(attached()).Should(Equal("False/NoPairingFound"))
		Expect(missing()(NewGomega(Fail))).To(And(ContainSubstring("MaaSAuthPolicy"), ContainSubstring("MaaSSubscription")))

		subscription := w.subscribe(tenantNamespace, unique("gold"), "granite")
		Eventually(missing()).ShouldNot(ContainSubstring("MaaSSubscription"))
		Expect(attached()(NewGomega(Fail))).To(Equal("False/NoPairingFound"))

		policy := w.allow(tenantNamespace, unique("all"), "granite")
		Eventually(attached()).Should(Equal("True/GovernancePaired"))

		Expect(suite.Admin.Delete(w.ctx, subscription)).To(Succeed())
		Eventually(attached()).Should(Equal("False/GovernanceGap"))
		Expect(missing()(NewGomega(Fail))).To(And(ContainSubstring("MaaSSubscription"), Not(ContainSubstring("MaaSAuthPolicy"))))

		Expect(suite.Admin.Delete(w.ctx, policy)).To(Succeed())
		Eventually(missing()).Should(ContainSubstring("MaaSAuthPolicy"))
		Expect(attached()(NewGomega(Fail))).To(Equal("False/GovernanceGap"))
		Expect(w.says("granite")(NewGomega(Fail))).To(Equal("Ready/Reconciled"))
		Eventually(w.events("granite")).Should(ContainElements("Normal GovernancePaired", "Warning GovernanceGap"))
	})

	It("names no subscription and no auth policy in the model's status", func() {
		w.servedModel("granite")
		subscription := w.subscribe(tenantNamespace, unique("secret-gold"), "granite")
		w.allow(tenantNamespace, unique("secret-all"), "granite")
		Eventually(attached()).Should(Equal("True/GovernancePaired"))
		Expect(suite.Admin.Delete(w.ctx, subscription)).To(Succeed())
		Eventually(attached()).Should(Equal("False/GovernanceGap"))

		status := w.model(NewGomega(Fail), "granite").Status
		status.Tenant = "" // The default tenant and its namespace share a name.
		text, err := json.Marshal(status)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(text)).NotTo(Or(ContainSubstring("secret-"), ContainSubstring(tenantNamespace), ContainSubstring(string(subscription.UID))))
	})

	It("does not count what lives outside the tenant", func() {
		w.servedModel("granite")
		w.subscribe(w.namespace, "gold", "granite")
		w.allow(w.namespace, "all", "granite")

		// Those of the tenant come and go later, so the others have been seen by then.
		subscription := w.subscribe(tenantNamespace, unique("gold"), "granite")
		policy := w.allow(tenantNamespace, unique("all"), "granite")
		Eventually(attached()).Should(Equal("True/GovernancePaired"))
		Expect(suite.Admin.Delete(w.ctx, subscription)).To(Succeed())
		Eventually(missing()).Should(ContainSubstring("MaaSSubscription"))
		Expect(suite.Admin.Delete(w.ctx, policy)).To(Succeed())
		Eventually(missing()).Should(ContainSubstring("MaaSAuthPolicy"))
		Expect(attached()(NewGomega(Fail))).To(Equal("False/GovernanceGap"))
	})

	It("does not count what cannot take effect, until it can", func() {
		w.servedModel("granite")
		w.allow(tenantNamespace, unique("all"), "granite")
		subscription := w.subscribe(tenantNamespace, unique("gold"), "granite")
		Eventually(attached()).Should(Equal("True/GovernancePaired"))

		setPhase(w, subscription, v1alpha1.PhaseFailed)
		Eventually(attached()).Should(Equal("False/GovernanceGap"))

		setPhase(w, subscription, v1alpha1.PhaseActive)
		Eventually(attached()).Should(Equal("True/GovernancePaired"))
	})

	It("follows a subscription that moves from one model to another", func() {
		w.servedModel("granite")
		w.serve("llama", serviceReady())
		w.publish("llama")
		for _, model := range []string{"granite", "llama"} {
			w.allow(tenantNamespace, unique("all-"+model), model)
		}
		subscription := w.subscribe(tenantNamespace, unique("gold"), "granite")
		Eventually(attached()).Should(Equal("True/GovernancePaired"))

		before := subscription.DeepCopy()
		subscription.Spec.ModelRefs[0].Name = "llama"
		Expect(suite.Admin.Patch(w.ctx, subscription, client.MergeFrom(before))).To(Succeed())
		Eventually(attached()).Should(Equal("False/GovernanceGap"))
		Eventually(w.condition("llama", "GovernanceAttached")).Should(Equal("True/GovernancePaired"))
	})
})

func setPhase(w world, s *v1alpha1.MaaSSubscription, phase v1alpha1.Phase) {
	GinkgoHelper()
	before := s.DeepCopy()
	s.Status.Phase = phase
	Expect(suite.Admin.Status().Patch(w.ctx, s, client.MergeFrom(before))).To(Succeed())
}

var _ = Describe("The tenant of a model", func() {
	var w world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	tenant := func(name string) *v1alpha1.AITenant {
		return &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: aitenantNamespace, Name: name}}
	}
	ready := func(t *v1alpha1.AITenant) {
		GinkgoHelper()
		before := t.DeepCopy()
		t.Status.GatewayRef = &v1alpha1.TenantGatewayRef{Namespace: gatewayNamespace, Name: otherGatewayName}
		Expect(suite.Admin.Status().Patch(w.ctx, t, client.MergeFrom(before))).To(Succeed())
	}

	It("is that of spec.tenantRef, waits until it is set up, and goes back to the default", func() {
		name := "red-" + w.namespace
		w.serve("granite", serviceReady())
		w.acceptedRoute("granite")
		w.publish("granite", func(m *v1alpha1.MaaSModelRef) { m.Spec.TenantRef = name })
		Eventually(w.says("granite")).Should(HavePrefix("Failed/Tenant"))
		Expect(w.message("granite", "Ready")(NewGomega(Fail))).To(ContainSubstring(name))
		Expect(w.condition("granite", "GovernanceAttached")(NewGomega(Fail))).To(HavePrefix("Unknown/"))

		red := tenant(name)
		Expect(suite.Admin.Create(w.ctx, red)).To(Succeed())
		ready(red)
		// The route is the default gateway's, and the tenant has another.
		Eventually(w.says("granite")).Should(Equal("Failed/RouteNotAccepted"))
		Expect(w.model(NewGomega(Fail), "granite").Status).To(And(HaveField("ResolvedTenantRef", name), HaveField("Tenant", name)))

		w.edit("granite", func(m *v1alpha1.MaaSModelRef) { m.Spec.TenantRef = "" })
		Eventually(w.says("granite")).Should(Equal("Ready/Reconciled"))
		Expect(w.model(NewGomega(Fail), "granite").Status).To(And(HaveField("ResolvedTenantRef", ""), HaveField("Tenant", tenantNamespace)))
	})

	It("decides which gateway's host is published", func() {
		name := "blue-" + w.namespace
		blue := tenant(name)
		Expect(suite.Admin.Create(w.ctx, blue)).To(Succeed())
		ready(blue)
		w.serve("granite", serviceReady(
			serviceAddress("gateway-external", "https://"+host+"/x"), serviceAddress("gateway-external", "https://"+otherHost+"/x")))
		w.route("granite", at(gatewayName, otherGatewayName), hostnames(host, otherHost))
		w.gatewaySays("granite-kserve-route", otherGatewayName, accepted())
		w.publish("granite", func(m *v1alpha1.MaaSModelRef) { m.Spec.TenantRef = name })
		Eventually(w.endpoint("granite")).Should(Equal("https://" + otherHost + "/x"))
	})
})

var _ = Describe("Deleting a model", func() {
	var w world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	exists := func(kind schema.GroupVersionKind, key types.NamespacedName) bool {
		err := suite.Admin.Get(w.ctx, key, kuadrant.New(kind))
		Expect(client.IgnoreNotFound(err)).To(Succeed())
		return err == nil
	}
	remove := func(name string) {
		GinkgoHelper()
		Expect(suite.Admin.Delete(w.ctx, &v1alpha1.MaaSModelRef{ObjectMeta: w.in(name)})).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(suite.Admin.Get(w.ctx, w.key(name), &v1alpha1.MaaSModelRef{}))
		}).Should(BeTrue())
	}

	It("removes its generated policies, also those of an earlier release, and nothing else", func() {
		w.servedModel("granite")
		w.generated(kuadrant.New(kuadrant.AuthPolicy), "maas-auth-granite", "granite")
		w.generated(kuadrant.New(kuadrant.TokenRateLimitPolicy), "maas-trlp-granite", "granite")
		w.generated(kuadrant.New(kuadrant.AuthPolicy), "old-name", "granite", func(u *unstructured.Unstructured) {
			labels := u.GetLabels()
			delete(labels, v1alpha1.LabelModelNamespace)
			u.SetLabels(labels)
		})
		w.generated(kuadrant.New(kuadrant.AuthPolicy), "maas-auth-llama", "llama")
		w.generated(kuadrant.New(kuadrant.AuthPolicy), "foreign", "granite", func(u *unstructured.Unstructured) {
			u.SetLabels(map[string]string{v1alpha1.LabelModel: "granite"})
		})
		elsewhere := newWorld(w.ctx)
		elsewhere.generated(kuadrant.New(kuadrant.AuthPolicy), "maas-auth-granite", "granite")

		remove("granite")

		Expect(exists(kuadrant.AuthPolicy, w.key("maas-auth-granite"))).To(BeFalse(), "AuthPolicy")
		Expect(exists(kuadrant.TokenRateLimitPolicy, w.key("maas-trlp-granite"))).To(BeFalse(), "TokenRateLimitPolicy")
		Expect(exists(kuadrant.AuthPolicy, w.key("old-name"))).To(BeFalse(), "policy of an earlier release")
		Expect(exists(kuadrant.AuthPolicy, w.key("maas-auth-llama"))).To(BeTrue(), "another model's policy")
		Expect(exists(kuadrant.AuthPolicy, w.key("foreign"))).To(BeTrue(), "a policy that is not ours")
		Expect(exists(kuadrant.AuthPolicy, elsewhere.key("maas-auth-granite"))).To(BeTrue(), "a policy of another namespace")
	})

	It("removes a policy of its own that lost its labels, and no other under that name", func() {
		w.servedModel("granite")
		unlabelled := func(u *unstructured.Unstructured) { u.SetLabels(nil) }
		w.generated(kuadrant.New(kuadrant.TokenRateLimitPolicy), "maas-trlp-granite", "granite", unlabelled)
		ours := kuadrant.New(kuadrant.AuthPolicy)
		w.generated(ours, "maas-auth-granite", "granite", unlabelled)
		ours.SetManagedFields(nil)
		Expect(suite.Admin.Apply(w.ctx, client.ApplyConfigurationFromUnstructured(ours), client.FieldOwner(v1alpha1.FieldOwner))).To(Succeed())

		remove("granite")

		Expect(exists(kuadrant.AuthPolicy, w.key("maas-auth-granite"))).To(BeFalse(), "the policy we applied")
		Expect(exists(kuadrant.TokenRateLimitPolicy, w.key("maas-trlp-granite"))).To(BeTrue(), "the policy of somebody else")
	})

	It("leaves a policy behind that opted out, and says so", func() {
		w.servedModel("granite")
		w.generated(kuadrant.New(kuadrant.AuthPolicy), "maas-auth-granite", "granite", func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{v1alpha1.AnnotationManaged: "false"})
		})
		w.generated(kuadrant.New(kuadrant.TokenRateLimitPolicy), "maas-trlp-granite", "granite", func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{v1alpha1.AnnotationManaged: "true"})
		})

		remove("granite")

		Expect(exists(kuadrant.AuthPolicy, w.key("maas-auth-granite"))).To(BeTrue())
		Expect(exists(kuadrant.TokenRateLimitPolicy, w.key("maas-trlp-granite"))).To(BeFalse())
		Eventually(w.events("granite")).Should(ContainElement("Warning OptedOut"))
	})

	It("works for a model whose tenant is gone", func() {
		w.publish("granite", func(m *v1alpha1.MaaSModelRef) { m.Spec.TenantRef = "gone" })
		Eventually(w.says("granite")).Should(HavePrefix("Failed/Tenant"))
		remove("granite")
	})
})
