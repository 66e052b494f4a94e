// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

var _ = Describe("The tenant of a model", func() {
	var w world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	// served publishes a model for the tenant behind a route.
	served := func(tenantRef string, route *builder.RouteBuilder) types.NamespacedName {
		GinkgoHelper()
		w.create(route.Obj(), builder.ModelServer(w.namespace, "granite"), builder.ModelRef(w.namespace, "granite").Tenant(tenantRef).Obj())
		return builder.Key(w.namespace, "granite")
	}

	It("is the one spec.tenantRef names: its gateway counts, and the status confirms it (9.1.34, A56)", func() {
		red := w.tenant("red")
		granite := served(red.Name, w.modelRoute("granite").Below(theGateway, red.Gateway).Hostnames(stage.Hostname, red.host))
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
		status := w.modelRef(granite).Status
		Expect([]string{status.ResolvedTenantRef, status.HTTPRouteGatewayName}).To(Equal([]string{red.Name, red.Gateway.Name}))
		Expect(status.Endpoint).To(Equal("https://" + red.host + "/" + w.namespace + "/granite"))
	})

	It("is the one spec.tenantRef names, even in the namespace of another tenant (9.1.34)", func() {
		red, blue := w.tenant("red"), w.tenant("blue")
		inRed := world{ctx: w.ctx, namespace: red.Namespace()}
		inRed.create(inRed.modelRoute("granite").Below(blue.Gateway).Hostnames(blue.host).Obj(), builder.ModelServer(inRed.namespace, "granite"),
			builder.ModelRef(inRed.namespace, "granite").Tenant(blue.Name).Obj())
		granite := builder.Key(inRed.namespace, "granite")
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
		Expect(w.modelRef(granite).Status.HTTPRouteGatewayName).To(Equal(blue.Gateway.Name))
	})

	It("is that of its namespace, without spec.tenantRef (9.6.111)", func() {
		red := w.tenant("red")
		inRed := world{ctx: w.ctx, namespace: red.Namespace()}
		inRed.create(inRed.modelRoute("granite").Below(red.Gateway).Hostnames(red.host).Obj(), builder.ModelServer(inRed.namespace, "granite"))
		granite := inRed.publish("granite")
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
		status := w.modelRef(granite).Status
		Expect([]string{status.ResolvedTenantRef, status.HTTPRouteGatewayName}).To(Equal([]string{"", red.Gateway.Name}))
	})

	It("is the default one in a plain namespace (9.6.111)", func() {
		granite := w.model("granite")
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
		Expect(w.modelRef(granite).Status.HTTPRouteGatewayName).To(Equal(stage.GatewayName))
	})

	It("cannot be one that does not exist: the model fails, and says which (9.1.35)", func() {
		red := w.announce("red")
		granite := served(red.Name, red.route("granite"))
		w.removeAll(red.registry)
		Eventually(w.modelSays(granite)).Should(Equal("Failed/TenantNotFound"))
		Expect(w.modelWords(granite, v1alpha1.ConditionReady)()).To(And(ContainSubstring("spec.tenantRef"), ContainSubstring(red.Name)))
		Expect(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)()).To(Equal("Unknown/TenantNotFound"))
		Expect(w.modelRef(granite).Status.ResolvedTenantRef).To(BeEmpty())
	})

	It("is waited for while its gateway is not known (9.1.35)", func() {
		red := w.announce("red")
		granite := served(red.Name, red.route("granite"))
		Eventually(w.modelSays(granite)).Should(Equal("Failed/TenantNotReady"))
		red.settle()
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
	})

	It("is the default one again when spec.tenantRef goes (9.1.36)", func() {
		red := w.tenant("red")
		granite := served(red.Name, w.modelRoute("granite"))
		Eventually(w.modelSays(granite)).Should(Equal("Failed/RouteNotAccepted"))
		ref := w.modelRef(granite)
		w.edit(ref, func() { ref.Spec.TenantRef = "" })
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
		Expect(w.modelRef(granite).Status.ResolvedTenantRef).To(BeEmpty())
	})

	It("counts for an ExternalModel as well (W-10)", func() {
		red := w.tenant("red")
		w.create(builder.ExternalModel(w.namespace, "gpt"), w.externalRoute("maas-gpt").Below(red.Gateway).Hostnames(red.host).Obj(),
			builder.ModelRef(w.namespace, "gpt").Backend(v1alpha1.BackendExternalModel, "gpt").Tenant(red.Name).Obj())
		gpt := builder.Key(w.namespace, "gpt")
		Eventually(w.modelSays(gpt)).Should(Equal("Ready/Reconciled"))
		Expect(w.modelRef(gpt).Status).To(And(HaveField("Endpoint", "https://"+red.host), HaveField("ResolvedTenantRef", red.Name)))
	})

	It("has the model follow it to another gateway (W-16)", func() {
		red := w.tenant("red")
		granite := served(red.Name, w.modelRoute("granite").Below(theGateway, red.Gateway).Hostnames(stage.Hostname, red.host))
		Eventually(w.modelEndpoint(granite)).Should(HavePrefix("https://" + red.host + "/"))
		red.Gateway = theGateway
		red.settle()
		Eventually(w.modelEndpoint(granite)).Should(HavePrefix("https://" + stage.Hostname + "/"))
		Expect(w.modelRef(granite).Status.HTTPRouteGatewayName).To(Equal(stage.GatewayName))
	})

	It("has the model follow its gateway to another host (W-16)", func() {
		red := w.tenant("red")
		granite := served(red.Name, red.route("granite").Hostnames())
		Eventually(w.modelEndpoint(granite)).Should(HavePrefix("https://" + red.host + "/"))
		gateway := builder.Gateway(red.Gateway, "")
		w.edit(gateway, func() { gateway.Spec.Listeners[0].Hostname = new(gwapiv1.Hostname("moved-" + red.host)) })
		Eventually(w.modelEndpoint(granite)).Should(HavePrefix("https://moved-" + red.host + "/"))
	})

	It("does not let the model out at another tenant's gateway (guard of 4.3)", func() {
		red := w.tenant("red")
		granite := served("", red.route("granite"))
		Eventually(w.modelSays(granite)).Should(Equal("Failed/RouteNotAccepted"))
		Expect(w.modelWords(granite, v1alpha1.ConditionReady)()).To(And(
			ContainSubstring(red.Gateway.String()), ContainSubstring(theGateway.String()), ContainSubstring("spec.tenantRef")))
		Expect(w.modelEndpoint(granite)()).To(BeEmpty())
	})
})

var _ = Describe("A tenant's namespace", func() {
	var w world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	// guarded publishes a model of a tenant that two objects of its namespace govern.
	guarded := func(red *tenant) (types.NamespacedName, *v1alpha1.MaaSAuthPolicy, *v1alpha1.MaaSSubscription) {
		GinkgoHelper()
		model := builder.ModelRef(w.namespace, "granite").Tenant(red.Name).Obj()
		w.create(red.route("granite").Obj(), builder.ModelServer(w.namespace, "granite"), model)
		policy, paid := red.pair(red.Namespace(), model)
		granite := client.ObjectKeyFromObject(model)
		w.guarded(granite)
		return granite, policy, paid
	}
	unlabel := func(red *tenant) {
		GinkgoHelper()
		w.edit(red.namespace, func() { red.namespace.Labels = nil })
	}

	It("holds what governs the tenant's models, wherever those are (9.6.108)", func() {
		red := w.tenant("red")
		granite, policy, paid := guarded(red)
		Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhaseActive))
		Eventually(w.phase(paid)).Should(Equal(v1alpha1.PhaseActive))
		Eventually(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)).Should(Equal("True/GovernancePaired"))
	})

	It("holds nothing that could govern another tenant's model (decision 8)", func() {
		red := w.tenant("red")
		granite := w.model("granite")
		policy, paid := red.pair(red.Namespace(), w.modelRef(granite))
		Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhaseFailed))
		Eventually(w.phase(paid)).Should(Equal(v1alpha1.PhaseFailed))
		Expect(paid.Status.ModelRefStatuses).To(HaveExactElements(HaveField("ResourceRefStatus.Reason", v1alpha1.ReasonForeignTenant)))
		Eventually(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)).Should(Equal("False/NoPairingFound"))
		Expect(w.limitPolicy(granite)).To(BeNil())
	})

	It("no longer counts without its label, and counts again with it (9.6.108, 9.6.109, 9.6.110)", func() {
		red := w.tenant("red")
		granite, _, paid := guarded(red)
		unlabel(red)
		Eventually(func() bool { return w.authPolicyOf(granite) == nil && w.limitPolicy(granite) == nil }).Should(BeTrue())
		Eventually(w.phase(paid)).Should(Equal(v1alpha1.PhaseFailed))
		Eventually(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)).Should(Equal("False/GovernanceGap"))

		labelled, _ := red.Owned()
		w.edit(red.namespace, func() { red.namespace.Labels = labelled.Labels })
		w.guarded(granite)
		Eventually(w.phase(paid)).Should(Equal(v1alpha1.PhaseActive))
	})

	It("lets everything be deleted after its label is gone (9.6.109)", func() {
		red := w.tenant("red")
		granite, policy, paid := guarded(red)
		unlabel(red)
		w.removeAll(policy, paid, w.modelRef(granite))
		Expect(w.authPolicyOf(granite)).To(BeNil())
		Expect(w.limitPolicy(granite)).To(BeNil())
	})

	It("fails closed while nothing sets it up: its models do not borrow the default gateway (9.6.111)", func() {
		red := w.announce("red")
		w.create(red.namespace)
		inRed := world{ctx: w.ctx, namespace: red.Namespace()}
		granite := inRed.model("granite")
		Eventually(w.modelSays(granite)).Should(Equal("Failed/TenantNotReady"))
		Expect(w.modelWords(granite, v1alpha1.ConditionReady)()).To(ContainSubstring(red.Namespace()))
		Expect(w.modelEndpoint(granite)()).To(BeEmpty())
	})

	It("cannot claim the default tenant (9.6.112)", func() {
		red := w.announce("red")
		red.config.Labels[v1alpha1.LabelTenantName] = v1alpha1.DefaultAITenantName
		red.config.Annotations[v1alpha1.AnnotationAITenantName] = v1alpha1.DefaultAITenantName
		w.create(red.namespace, red.config)
		inRed := world{ctx: w.ctx, namespace: red.Namespace()}
		granite := inRed.model("granite")
		Eventually(w.modelSays(granite)).Should(Equal("Failed/TenantNotReady"))
	})

	It("is set up by its MaasTenantConfig, beside which a Tenant of an earlier release says nothing (W-38)", func() {
		red := w.tenant("red")
		old := &v1alpha1.Tenant{ObjectMeta: objectMeta(red.Namespace(), v1alpha1.DefaultTenantConfigName)}
		old.Spec.GatewayRef = &v1alpha1.TenantGatewayRef{Namespace: otherGateway.Namespace, Name: otherGateway.Name}
		w.create(old)
		granite, _, paid := guarded(red)
		Eventually(w.phase(paid)).Should(Equal(v1alpha1.PhaseActive))
		Expect(w.modelRef(granite).Status.HTTPRouteGatewayName).To(Equal(red.Gateway.Name))
	})
})
