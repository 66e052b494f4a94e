// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// external publishes the ExternalModel of a name.
func (w world) external(name string) types.NamespacedName {
	GinkgoHelper()
	w.create(builder.ModelRef(w.namespace, name).Backend(v1alpha1.BackendExternalModel, name).Obj())
	return builder.Key(w.namespace, name)
}

// externalRoute is the route that an ExternalModel's controller makes.
func (w world) externalRoute(name string) *builder.RouteBuilder {
	return builder.Route(w.namespace, name, stage.GatewayNamespace, stage.GatewayName).Hostnames(stage.Hostname).Unlabelled()
}

var _ = Describe("A model that an ExternalModel serves", func() {
	var w world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	It("is Ready at the gateway's host, without a path, behind the route maas-<name> (9.3.46, 9.3.51)", func() {
		w.create(builder.ExternalModel(w.namespace, "gpt"), w.externalRoute("maas-gpt").Obj())
		gpt := w.external("gpt")
		Eventually(w.modelSays(gpt)).Should(Equal("Ready/Reconciled"))
		status := w.modelRef(gpt).Status
		Expect([]string{status.HTTPRouteName, status.HTTPRouteGatewayNamespace, status.HTTPRouteGatewayName}).
			To(Equal([]string{"maas-gpt", stage.GatewayNamespace, stage.GatewayName}))
		Expect(status.Endpoint).To(Equal("https://" + stage.Hostname))
	})

	It("is at the listener's host when the route names none (9.3.51)", func() {
		w.create(builder.ExternalModel(w.namespace, "gpt"), w.externalRoute("maas-gpt").Hostnames().Obj())
		gpt := w.external("gpt")
		Eventually(w.modelSays(gpt)).Should(Equal("Ready/Reconciled"))
		Expect(w.modelEndpoint(gpt)()).To(Equal("https://" + stage.Hostname))
	})

	It("forgets a route that goes, and waits for it (decides 9.3.47)", func() {
		route := w.externalRoute("maas-gpt").Obj()
		w.create(builder.ExternalModel(w.namespace, "gpt"), route)
		gpt := w.external("gpt")
		Eventually(w.modelSays(gpt)).Should(Equal("Ready/Reconciled"))
		w.removeAll(route)
		Eventually(w.modelSays(gpt)).Should(Equal("Pending/RouteNotFound"))
		status := w.modelRef(gpt).Status
		Expect([]string{status.Endpoint, status.BaseURL, status.HTTPRouteName, status.HTTPRouteGatewayName}).To(HaveEach(BeEmpty()))
	})

	It("is Failed without one, and names both API groups where it could be (9.3.48)", func() {
		gpt := w.external("gpt")
		Eventually(w.modelSays(gpt)).Should(Equal("Failed/BackendNotFound"))
		Expect(w.modelWords(gpt, v1alpha1.ConditionReady)()).To(And(
			ContainSubstring("inference.opendatahub.io"), ContainSubstring("maas.opendatahub.io"), ContainSubstring("gpt")))
	})

	It("is Failed at a route of another gateway (9.3.49)", func() {
		w.create(builder.ExternalModel(w.namespace, "gpt"), w.externalRoute("maas-gpt").Below(otherGateway).Obj())
		gpt := w.external("gpt")
		Eventually(w.modelSays(gpt)).Should(Equal("Failed/RouteNotAccepted"))
		Expect(w.modelWords(gpt, v1alpha1.ConditionReady)()).To(And(ContainSubstring(theGateway.String()), ContainSubstring(otherGateway.String())))
	})

	It("is not Ready before the gateway accepts the route, nor after it takes that back (9.3.50, W-25)", func() {
		route := w.externalRoute("maas-gpt").Stalled().Obj()
		w.create(builder.ExternalModel(w.namespace, "gpt"), route)
		gpt := w.external("gpt")
		Eventually(w.modelSays(gpt)).Should(Equal("Pending/RouteNotAccepted"))
		w.gatewaySays(route, theGateway, routeAccepted())
		Eventually(w.modelSays(gpt)).Should(Equal("Ready/Reconciled"))
		w.gatewaySays(route, theGateway, routeRefused("Accepted", "NotAllowedByListeners", "namespace not allowed"))
		Eventually(w.modelSays(gpt)).Should(Equal("Pending/RouteNotAccepted"))
		Expect(w.modelEndpoint(gpt)()).To(BeEmpty())
	})

	It("is behind the route of the inference group's, where there are both (9.3.52)", func() {
		theirs := builder.InferenceExternalModel(w.namespace, "gpt")
		w.create(builder.ExternalModel(w.namespace, "gpt"), theirs, w.externalRoute("maas-gpt").Obj(), w.externalRoute("theirs").Obj())
		w.routedBy(theirs, "theirs")
		gpt := w.external("gpt")
		Eventually(func() string { return w.modelRef(gpt).Status.HTTPRouteName }).Should(Equal("theirs"))
		Eventually(w.modelSays(gpt)).Should(Equal("Ready/Reconciled"))
	})

	It("has no route, and no policies on a route of the old name, before the inference group's has one (9.3.53)", func() {
		theirs := builder.InferenceExternalModel(w.namespace, "gpt")
		w.create(theirs, w.externalRoute("maas-gpt").Obj(), w.externalRoute("theirs").Obj())
		gpt := w.external("gpt")
		w.pair(gpt)
		Eventually(w.modelSays(gpt)).Should(Equal("Pending/RouteNotFound"))
		Eventually(w.modelVerdict(gpt, v1alpha1.ConditionPoliciesApplied)).Should(Equal("False/RouteNotFound"))
		Expect(w.limitPolicy(gpt)).To(BeNil())

		w.routedBy(theirs, "theirs")
		Eventually(w.modelSays(gpt)).Should(Equal("Ready/Reconciled"))
		Eventually(w.limitNames(gpt)).Should(ConsistOf("tokens-100-per-1m"))
	})
})

var _ = Describe("The name of a model in request bodies", func() {
	var w world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	// named publishes an ExternalModel under a name of its own.
	named := func(ref, externalModel string) types.NamespacedName {
		GinkgoHelper()
		w.create(builder.ModelRef(w.namespace, ref).Backend(v1alpha1.BackendExternalModel, externalModel).Obj())
		return builder.Key(w.namespace, ref)
	}
	unique := func(key types.NamespacedName) func() string {
		return w.modelVerdict(key, v1alpha1.ConditionModelIdentityUnique)
	}

	It("is unknown while the backend publishes none; the model works and the message says how to get one (9.1.29)", func() {
		granite := w.model("granite")
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
		Expect(unique(granite)()).To(Equal("Unknown/AliasNotResolved"))
		ref := w.modelRef(granite)
		Expect(w.condition(ref, v1alpha1.ConditionModelIdentityUnique).ObservedGeneration).To(Equal(ref.Generation))
		Expect(w.modelWords(granite, v1alpha1.ConditionModelIdentityUnique)()).To(ContainSubstring("status.endpoint"))
	})

	It("is unique until another model of the namespace has it; both name each other, and are relieved when one goes (9.1.30, 9.1.32, A29, W-14)", func() {
		w.create(builder.ExternalModel(w.namespace, "gpt"))
		first := named("first", "gpt")
		Eventually(unique(first)).Should(Equal("True/UniqueIdentity"))

		second := named("second", "gpt")
		Eventually(unique(first)).Should(Equal("False/ModelNameConflict"))
		Eventually(unique(second)).Should(Equal("False/ModelNameConflict"))
		Expect(w.modelWords(first, v1alpha1.ConditionModelIdentityUnique)()).To(And(ContainSubstring(`"gpt"`), ContainSubstring("second")))
		Expect(w.modelWords(second, v1alpha1.ConditionModelIdentityUnique)()).To(ContainSubstring("first"))
		Eventually(w.reported(first)).Should(ContainElement("Warning ModelNameConflict"))
		Eventually(w.reported(second)).Should(ContainElement("Warning ModelNameConflict"))

		w.removeAll(w.modelRef(second))
		Eventually(unique(first)).Should(Equal("True/UniqueIdentity"))
		Eventually(w.reported(first)).Should(ContainElement("Normal ModelNameConflictResolved"))
	})

	It("takes a model from those with its old name to those with its new one (9.1.31)", func() {
		moving, a, b := named("moving", "a"), named("stays-a", "a"), named("stays-b", "b")
		Eventually(unique(a)).Should(Equal("False/ModelNameConflict"))
		Eventually(unique(b)).Should(Equal("True/UniqueIdentity"))
		ref := w.modelRef(moving)
		w.edit(ref, func() { ref.Spec.ModelRef.Name = "b" })
		Eventually(unique(a)).Should(Equal("True/UniqueIdentity"))
		Eventually(unique(b)).Should(Equal("False/ModelNameConflict"))
	})

	It("is not shared by equal names of two namespaces (9.1.30, W-09)", func(ctx SpecContext) {
		there := newWorld(ctx)
		here, elsewhere := named("gpt", "gpt"), there.external("gpt")
		Eventually(there.modelVerdict(elsewhere, v1alpha1.ConditionModelIdentityUnique)).Should(Equal("True/UniqueIdentity"))
		Eventually(unique(here)).Should(Equal("True/UniqueIdentity"))
	})

	It("is not that of an earlier backend (W-25)", func() {
		granite := named("granite", "gpt")
		Eventually(func() string { return w.modelRef(granite).Status.ResolvedModelAlias }).Should(Equal("gpt"))
		w.create(w.modelRoute("granite").Obj(), builder.ModelServer(w.namespace, "granite"))
		ref := w.modelRef(granite)
		w.edit(ref, func() {
			ref.Spec.ModelRef = v1alpha1.BackendReference{Kind: v1alpha1.BackendLLMInferenceService, Name: "granite"}
		})
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
		Expect(w.modelRef(granite).Status.ResolvedModelAlias).To(BeEmpty())
		Expect(unique(granite)()).To(Equal("Unknown/AliasNotResolved"))
	})
})
